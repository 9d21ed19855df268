"""Figures that compare learned graphs with true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from graphdict.core import graphs
from graphdict.metrics import edge_scores, match_atoms
from graphdict.viz.drawing import COLUMN, INK, GraphOptions, grid_axes
from graphdict.viz.figures import plot_atoms, plot_coefficients


def plot_comparison(
    true: ArrayLike,
    learned: ArrayLike,
    ax: Axes | None = None,
    *,
    title: str | None = None,
) -> Axes:
    """Draw a matrix with a true graph above the diagonal and a learned one below.

    Each graph has its own scale. The image is symmetric where the learned graph is right, and stays
    legible for many nodes.

    Parameters
    ----------
    true, learned : arrays (E,)
        Edge weights, in the order of ``np.triu_indices(N, 1)``.
    ax : Axes, optional
        Axes to draw on; the current ones by default.
    title : str, optional
        Title of the axes.

    Returns
    -------
    Axes
    """
    ax = plt.gca() if ax is None else ax
    matrices = [np.asarray(w) / (float(np.max(w)) or 1.0) for w in (true, learned)]
    image = np.triu(graphs.adjacency(matrices[0])) + np.tril(graphs.adjacency(matrices[1]))
    ax.imshow(image, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    last = len(image) - 0.5
    ax.plot([-0.5, last], [-0.5, last], color=INK, linewidth=0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_ylabel("learned", fontsize=7)
    ax.yaxis.set_label_coords(-0.03, 0.25)
    ax.text(0.98, 1.02, "true", transform=ax.transAxes, fontsize=7, ha="right", va="bottom")
    if title:
        ax.set_title(title, fontsize=8, loc="left")
    return ax


def plot_recovery(
    true_atoms: ArrayLike,
    atoms: ArrayLike,
    true_coefficients: ArrayLike,
    coefficients: ArrayLike,
    axes: Axes | Sequence[Axes] | NDArray[Any] | None = None,
    **options: Unpack[GraphOptions],
) -> Sequence[Axes]:
    """Draw true and learned atoms with their edge recovery, and both coefficient series.

    Learned atoms are drawn in the order of the true ones that they are matched with.

    Parameters
    ----------
    true_atoms, atoms : arrays (K, E) and (K', E)
        Edge weights.
    true_coefficients, coefficients : arrays (T, K) and (T, K')
        Coefficients of the same samples.
    axes : 2 min(K, K') + 2 Axes, optional
        Axes for the true atoms, the learned atoms, the true and the learned coefficients.
    **options
        Options of :func:`plot_graph`: ``positions``, ``names``, ``threshold``.

    Returns
    -------
    list of Axes
        In the order of ``axes``.
    """
    matching = match_atoms(true_atoms, atoms)
    pairs, threshold = len(matching.true), options.get("threshold", 0.0)
    axes = _recovery_axes(pairs) if axes is None else grid_axes(2 * pairs + 2, axes)
    shown, found = np.asarray(true_atoms)[matching.true], np.asarray(atoms)[matching.learned]
    plot_atoms(shown, axes[:pairs], title="True", **options)
    plot_atoms(found, axes[pairs : 2 * pairs], title="Learned", **options)
    for ax, score in zip(axes[pairs:], edge_scores(shown, found, threshold).mcc):
        ax.set_title(f"{ax.get_title()}\nMCC {score:.2f}", fontsize=8)
    above, below = axes[2 * pairs : 2 * pairs + 2]
    plot_coefficients(
        np.asarray(true_coefficients)[:, matching.true], above, title="True coefficients"
    )
    above.set_xlabel("")
    plot_coefficients(
        np.asarray(coefficients)[:, matching.learned], below, title="Learned coefficients"
    )
    return axes


def _recovery_axes(pairs: int) -> list[Axes]:
    """Return the axes of a new figure for `plot_recovery`."""
    figure = plt.figure(figsize=(max(1.15 * pairs, COLUMN), 5.2), layout="constrained")
    grid = figure.add_gridspec(4, pairs, height_ratios=[1.7, 1.7, 0.8, 0.8])
    panels = [figure.add_subplot(grid[row, k]) for row in (0, 1) for k in range(pairs)]
    above = figure.add_subplot(grid[2, :])
    return [*panels, above, figure.add_subplot(grid[3, :], sharex=above)]
