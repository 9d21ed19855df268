"""Figures of the brain experiment: scores by model and size, atoms on a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from graphdict.app.experiments.brain import PIPELINES
from graphdict.viz.drawing import COLOURS

FEATURE_TITLES = {
    "occurrences": "occurrences", "coverage": "coverage", "mean_duration": "duration",
    "mean_coefficient": "mean coefficient",
}  # fmt: skip


def scores_figure(lines: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the AUROC of held-out subjects by model and size for each pipeline (Figure 4)."""
    lines = [line for line in lines if line["start"] == 0 and line["channels"] == "all"]
    panels = [p for p in PIPELINES if any(line["pipeline"] == p for line in lines)]
    groups = {p: _groups([x for x in lines if x["pipeline"] == p]) for p in panels}
    heights = [len(groups[p]) + 1.2 for p in panels]
    figure = Figure(figsize=(7.0, 0.2 * sum(heights) + 0.6), layout="constrained")
    axes = np.atleast_1d(
        figure.subplots(len(panels), 1, sharex=True, gridspec_kw={"height_ratios": heights})
    )
    rng = np.random.default_rng(0)
    for ax, panel, colour in zip(axes, panels, COLOURS):
        names, values = list(groups[panel]), list(groups[panel].values())
        places = np.arange(len(names))
        ax.boxplot(
            values, positions=places, orientation="horizontal", widths=0.65, showfliers=False,
            patch_artist=True, boxprops={"facecolor": "0.93", "linewidth": 0.6},
            medianprops={"color": "0.35", "linewidth": 1.0}, whiskerprops={"linewidth": 0.6},
            capprops={"linewidth": 0.6},
        )  # fmt: skip
        for place, scores in zip(places, values):
            shift = rng.uniform(-0.2, 0.2, len(scores))
            ax.plot(scores, place + shift, ".", color=colour, markersize=3.5, alpha=0.7, zorder=3)
            ax.plot(
                np.mean(scores), place, "D", color=colour, markersize=5, markeredgecolor="white",
                markeredgewidth=0.7, zorder=4,
            )  # fmt: skip
        ax.axvline(0.5, color="0.5", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_yticks(places, names, fontsize=7)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_ylabel(PIPELINES[panel], fontsize=9)
        ax.tick_params(labelsize=7, length=2)
        ax.grid(axis="x", color="0.92", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel(
        "AUROC of held-out subjects (dots), their mean (diamond), quartiles; dotted: chance",
        fontsize=8,
    )
    return figure


def _groups(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = {}
    for line in lines:
        name, size = line["model"], line["size"]
        if line["pipeline"] == "reference":
            name += f", {size} phases" if size > 1 else ""
        elif size != "":
            name += f"-{size}"
        groups.setdefault(name, []).append(line["auroc"])
    return groups


def atoms_figure(portrait: Mapping[str, Any]) -> Figure:
    """Draw atoms on a head, coefficients of some peaks or events, importances (Figure 5)."""
    import mne

    from graphdict.datasets.eegbci import EEGBCI_CHANNELS
    from graphdict.eeg import plot_atoms_on_head
    from graphdict.eeg.montage import ten_five_montage

    info = mne.create_info(list(EEGBCI_CHANNELS), 160.0, "eeg")
    info.set_montage(ten_five_montage())
    atoms, coefficients = np.array(portrait["atoms"]), np.array(portrait["coefficients"])
    right, count = np.array(portrait["right"]), len(atoms)
    importance = portrait.get("importance")
    titles = drawn = portrait["titles"]
    if importance:  # order atoms from the rarest to the most frequent, as in the paper
        order = np.argsort(coefficients.mean(axis=0))
        atoms, coefficients = atoms[order], coefficients[:, order]
        importance = np.array(importance)[order]
    else:  # the graphs of the hands are similar: draw their differences
        left, other = atoms[1:]
        atoms = np.stack([atoms[0], np.maximum(left - other, 0), np.maximum(other - left, 0)])
        drawn = [titles[0], "Left hand, beyond the right", "Right hand, beyond the left"]
    heights = [2.4, 0.8, 1.0] if importance is not None else [2.4, 0.8]
    figure = Figure(figsize=(7.0, 1.3 * sum(heights) + 0.4), layout="constrained")
    parts = figure.add_gridspec(len(heights), count, height_ratios=heights)
    heads = [figure.add_subplot(parts[0, k]) for k in range(count)]
    plot_atoms_on_head(atoms, info, heads, names=("C3", "C4", "Fz", "Oz"))
    for ax, title in zip(heads, drawn):
        ax.set_title(title, fontsize=8)
    below = figure.add_subplot(parts[1, :])
    shown = below.imshow(
        coefficients.T, aspect="auto", cmap="Greys", vmin=0, vmax=1, interpolation="nearest"
    )
    below.set_yticks(range(count), titles, fontsize=7)
    below.axvline(right.sum() - 0.5, color=COLOURS[1], linewidth=1.5)
    below.set_xlabel(f"{len(right)} {portrait['unit']}: right hand, then left hand", fontsize=8)
    below.tick_params(labelsize=7, length=2)
    bar = figure.colorbar(shown, ax=below, pad=0.01)
    bar.set_label("coefficient", fontsize=7)
    bar.ax.tick_params(labelsize=6)
    if importance is not None:
        _importance(figure.add_subplot(parts[2, :]), importance, titles, portrait["names"])
    return figure


def _importance(
    ax: Any, importance: np.ndarray, titles: Sequence[str], names: Sequence[str]
) -> None:
    """Draw the mean decrease in impurity of each atom's features."""
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        places = np.arange(len(importance)) + (number - (len(names) - 1) / 2) * width
        title = FEATURE_TITLES.get(name, name)
        ax.bar(places, importance[:, number], width * 0.92, color=COLOURS[number], label=title)
    ax.axhline(1 / importance.size, color="0.4", linewidth=0.8, linestyle=":")
    ax.set_xticks(range(len(importance)), titles)
    ax.set_ylabel("importance", fontsize=8)
    ax.tick_params(labelsize=7, length=2)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=7, frameon=False, ncols=len(names), loc="upper center",
              bbox_to_anchor=(0.5, 1.3))  # fmt: skip
