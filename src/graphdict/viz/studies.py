"""Figures of studies: tests with their effects, a map of recordings, halves of the recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from graphdict.viz.drawing import COLOURS, COLUMN

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.selection.reproducibility import Reproducibility
    from graphdict.studies.comparison import Comparison
    from graphdict.studies.recording_atoms import RecordingAtoms

MOST_SHOWN = 20
GREY = "0.6"


def plot_effects(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the size of each effect with its interval; clear ones are coloured.

    Parameters
    ----------
    comparison : Comparison
        Of :func:`graphdict.studies.compare_groups` and its like. Of more than 20 values, those with
        the smallest p-values are shown.
    ax : Axes, optional
        Axes to draw on.

    Returns
    -------
    Axes
    """
    order = np.argsort(comparison.p_corrected, kind="stable")[:MOST_SHOWN]
    order = np.sort(order)
    if ax is None:
        _, ax = plt.subplots(figsize=(COLUMN, 0.9 + 0.24 * len(order)), layout="constrained")
    several = len({measure for measure, _ in comparison.columns}) > 1
    for place, m in enumerate(order[::-1]):
        colour = COLOURS[0] if comparison.significant[m] else GREY
        ax.plot(comparison.size_interval[m], [place, place], color=colour, linewidth=1.5)
        ax.plot(comparison.size[m], place, "o", color=colour, markersize=4)
        p = comparison.p_corrected[m]
        ax.annotate(
            f"p = {p:.2g}", (1, place), xycoords=("axes fraction", "data"), fontsize=7,
            xytext=(4, 0), textcoords="offset points", va="center", color=colour,
            annotation_clip=False,
        )  # fmt: skip
    shown = (comparison.columns[m] for m in order[::-1])
    names = [f"{measure} {item}" if several else item for measure, item in shown]
    names = [f"atom {name}" if name.isdigit() else name for name in names]
    ax.set_yticks(range(len(order)), names)
    ax.axvline(0, color="0.3", linewidth=0.6)
    ax.set_ylim(-0.6, len(order) - 0.4)
    label = comparison.size_name[:1].upper() + comparison.size_name[1:]
    if len(comparison.levels) == 2:
        label += f"\n{comparison.levels[1]} minus {comparison.levels[0]}"
    ax.set_xlabel(label)
    if not several and comparison.columns[0][0] != "value":
        ax.set_title(comparison.columns[0][0], fontsize=9)
    return ax


def plot_recordings(
    found: RecordingAtoms,
    ax: Axes | None = None,
    *,
    groups: Sequence[Any] | None = None,
    names: bool = True,
) -> Axes:
    """Draw the map of recordings: those with similar atoms lie close together.

    Parameters
    ----------
    found : RecordingAtoms
        Of :func:`graphdict.studies.recording_atoms`.
    ax : Axes, optional
        Axes to draw on.
    groups : R labels, optional
        What recordings are coloured by.
    names : bool, default=True
        Whether recordings are named.

    Returns
    -------
    Axes
    """
    if ax is None:
        _, ax = plt.subplots(figsize=(COLUMN, COLUMN), layout="constrained")
    labels = np.array(["" for _ in found.recordings] if groups is None else [*map(str, groups)])
    if len(labels) != len(found.recordings):
        raise ValueError(
            f"groups has {len(labels)} entries, but there are {len(found.recordings)} recordings"
        )
    for number, label in enumerate(np.unique(labels)):
        own = labels == label
        colour = COLOURS[number % len(COLOURS)]
        ax.plot(*found.positions[own].T, "o", color=colour, markersize=4, label=label or None)
    if names:
        for name, place in zip(found.recordings, found.positions):
            ax.annotate(name, place, xytext=(3, 3), textcoords="offset points", fontsize=6)
    if groups is not None:
        ax.legend(frameon=False, fontsize=7)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("first axis (root of nats)", fontsize=8)
    ax.set_ylabel("second axis (root of nats)", fontsize=8)
    return ax


def plot_reproducibility(found: Reproducibility, ax: Axes | None = None) -> Axes:
    """Draw the mean cosine between atoms of one half of the recordings and of the other.

    Parameters
    ----------
    found : Reproducibility
        Of :func:`graphdict.selection.reproducibility`.
    ax : Axes, optional
        Axes to draw on.

    Returns
    -------
    Axes
    """
    if ax is None:
        _, ax = plt.subplots(figsize=(COLUMN, 0.85 * COLUMN), layout="constrained")
    count = len(found.matrix)
    image = ax.imshow(found.matrix, vmin=0, vmax=1, cmap="Blues")
    for i in range(count):
        for j in range(count):
            value = found.matrix[i, j]
            ax.text(
                j, i, f"{value:.2f}", ha="center", va="center", fontsize=7,
                color="white" if value > 0.6 else "black",
                fontweight="bold" if i == j else "normal",
            )  # fmt: skip
    ticks = [str(k + 1) for k in range(count)]
    ax.set_xticks(range(count), ticks)
    ax.set_yticks(range(count), ticks)
    ax.set_xlabel("atom of the second half", fontsize=8)
    ax.set_ylabel("atom of the first half", fontsize=8)
    ax.figure.colorbar(image, ax=ax, label="cosine", fraction=0.046)
    return ax
