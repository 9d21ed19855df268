"""Figures of the simulated experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from graphdict.app.experiments.tables import METRICS
from graphdict.viz.drawing import COLOURS

MARKERS = "osD^vP*X"
TITLES = {"mcc": "MCC", "precision": "Precision", "recall": "Recall"}


def coefficient_samples(coefficients: Mapping[int, NDArray[Any]]) -> Figure:
    """Draw the active atoms of some samples for each superposition (the paper's Figure 2)."""
    figure = Figure(figsize=(3.5, 0.45 * len(coefficients) + 0.45), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(coefficients), 1, sharex=True))
    for ax, (superposition, active) in zip(axes, coefficients.items()):
        ax.imshow(active.T, aspect="auto", cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        ax.set_yticks([])
        ax.set_ylabel(f"s = {superposition}", rotation=0, ha="right", va="center", fontsize=8)
        ax.tick_params(labelsize=7, length=2)
    axes[-1].set_xlabel("Sample", fontsize=8)
    return figure


def scores_against(summary: Sequence[Mapping[str, Any]], key: str, label: str) -> Figure:
    """Draw MCC, precision and recall against a property of the data, with standard deviations."""
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    axes = figure.subplots(1, len(METRICS), sharex=True)
    models = list(dict.fromkeys(line["model"] for line in summary))
    values = sorted({line[key] for line in summary})
    for number, model in enumerate(models):
        lines = sorted((x for x in summary if x["model"] == model), key=lambda x: x[key])
        # Side by side, so that error bars do not hide each other.
        shift = 0.04 * (number - (len(models) - 1) / 2)
        for ax, metric in zip(axes, METRICS):
            ax.errorbar(
                [x[key] + shift for x in lines],
                [x[metric] for x in lines],
                yerr=_deviations(lines, metric),
                color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
                markersize=4, linewidth=1.2, elinewidth=0.8, capsize=1.5, label=model,
            )  # fmt: skip
    for ax, metric in zip(axes, METRICS):
        ax.set_title(TITLES[metric], fontsize=9)
        ax.set_xticks(values)
        ax.set_xlabel(label, fontsize=8)
        ax.set_ylim(0, 1 if metric != "mcc" else None)
        ax.tick_params(labelsize=8)
        ax.grid(axis="y", color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def bars_with_published(
    summary: Sequence[Mapping[str, Any]], columns: Mapping[str, str], published: Any
) -> Figure:
    """Draw the MCC of each model on each data set, with a mark at the published number."""
    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(columns), sharey=True))
    models = list(dict.fromkeys(line["model"] for line in summary))
    for ax, (name, title) in zip(axes, columns.items()):
        for line in (x for x in summary if x["data"] == name):
            row = models.index(line["model"])
            ax.barh(
                row, line["mcc"], xerr=_deviations([line], "mcc"), height=0.7, color=COLOURS[5],
                error_kw={"elinewidth": 0.9, "capsize": 2},
            )  # fmt: skip
            paper = published.get(line["model"], {}).get(name)
            if paper:
                ax.plot(
                    paper["mcc"][0] / 100, row, marker="D", color=COLOURS[1], markersize=5,
                    markeredgecolor="white", markeredgewidth=0.6, linestyle="none",
                )  # fmt: skip
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("MCC", fontsize=8)
        ax.set_xlim(0, 1)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(models)), models)
    axes[0].invert_yaxis()
    handles = [
        Patch(color=COLOURS[5], label="graphdict, mean and standard deviation over seeds"),
        Line2D([], [], color=COLOURS[1], marker="D", linestyle="none", label="the paper"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def save(figure: Figure, stem: Path) -> list[Path]:
    """Save a figure as PNG and PDF; return the paths."""
    written = []
    for suffix in (".png", ".pdf"):
        path = stem.with_suffix(suffix)
        # No date inside, so that equal figures are equal files.
        figure.savefig(path, dpi=200, metadata={"CreationDate": None} if suffix == ".pdf" else {})
        written.append(path)
    return written


def _deviations(lines: Sequence[Mapping[str, Any]], metric: str) -> list[float] | None:
    """Return the error bars, or None where there is a single seed."""
    if all(line["seeds"] < 2 for line in lines):
        return None
    return [line[f"{metric}_std"] for line in lines]
