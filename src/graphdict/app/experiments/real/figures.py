"""Figures of the experiment: nats by method, states in time, graphs on the map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from graphdict.app.experiments.real.selection import (
    OURS,
    Scores,
    chosen_by_others,
    compare,
    likeliest_row,
)
from graphdict.app.experiments.real.sets import load
from graphdict.viz.drawing import COLOURS

MOST_TICKS = 5  # whose numbers fit below an axis
SHOWN = 4  # recordings whose states are drawn
MAPS = {"temperature": "US temperature changes", "brittany": "Brittany", "flights": "flight delays"}


def nats(scores: Sequence[Scores]) -> Figure | None:
    """Draw how far each method is behind ours in held-out nats, with errors over blocks."""
    chosen = [s for s in scores if s.measure == "nats"]
    sets = [d for d in dict.fromkeys(s.data for s in chosen)
            if any(s.model == OURS and s.data == d for s in chosen)]  # fmt: skip
    models = [m for m in dict.fromkeys(s.model for s in chosen) if m != OURS]
    if not sets or not models:
        return None
    columns = min(4, len(sets))
    count = -(-len(sets) // columns)
    figure = Figure(figsize=(7.4, (0.22 * len(models) + 0.7) * count), layout="constrained")
    axes = np.atleast_1d(figure.subplots(count, columns, sharey=True)).ravel()
    for ax, data in zip(axes, sets):
        group = {s.model: s for s in chosen if s.data == data}
        for row, model in enumerate(models):
            if model in group:
                ahead, error = compare(group[OURS], group[model])
                colour = COLOURS[1] if ahead < 0 else COLOURS[5]
                ax.errorbar(
                    -ahead, row, xerr=None if np.isnan(error) else error, fmt="o", markersize=4,
                    color=colour, elinewidth=1, capsize=2,
                )  # fmt: skip
        ax.axvline(0, color="0.3", linewidth=0.8)
        ax.set_xscale("symlog", linthresh=1, linscale=0.7)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:+.0f}" if value else "0")
        ax.margins(x=0.15)
        low, high = ax.get_xlim()
        ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
        if len(ticks) > MOST_TICKS:
            ax.set_xticks([tick for tick in ticks if abs(tick) in (0, 100, 10_000)])
        ax.set_title(data, fontsize=8)
        ax.tick_params(labelsize=7, length=2)
        ax.grid(axis="x", color="0.92", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_yticks(range(len(models)), models)
        ax.set_ylim(len(models) - 0.5, -0.5)
    for ax in axes[len(sets) :]:
        ax.set_visible(False)
    label = f"held-out nats a sample beyond {OURS}'s: left of zero is worse; logarithmic beyond 1"
    figure.supxlabel(label, fontsize=8)
    return figure


def states_in_time(rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Draw the states that methods found in some recordings, the known ones beneath."""
    chosen = [r for r in rows if r["status"] == "done" and r["cell"]["data"] == "eyes"]
    first: dict[tuple[int, str], Mapping[str, Any]] = {}
    models = list(dict.fromkeys(row["cell"]["model"] for row in chosen))
    for model in models:
        tried = [row for row in chosen if row["cell"]["model"] == model]
        first |= {(subject, model): row for subject, row, _ in chosen_by_others(tried, "states")}
    subjects = sorted({subject for subject, _ in first})[:SHOWN]
    if OURS not in models:
        return None
    figure = Figure(figsize=(7.4, 0.23 * (len(models) + 2) * len(subjects)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(subjects), 1, sharex=True))
    for ax, subject in zip(axes, subjects):
        found = [(m, first[subject, m]) for m in models if (subject, m) in first]
        truth = np.array(found[0][1]["truth"])
        image = [_aligned(np.array(row["found"]), truth) for _, row in found]
        seconds = 2 * len(truth)
        ax.imshow(
            [*image, truth], aspect="auto", cmap="Blues", vmin=-0.4, vmax=1.3,
            interpolation="nearest", extent=(0, seconds, len(image) + 0.5, -0.5),
        )  # fmt: skip
        names = [f"{m} ({row['states']:.2f})" for m, row in found]
        ax.set_yticks(range(len(names) + 1), [*names, "eyes closed"], fontsize=6)
        ax.axhline(len(image) - 0.5, color="white", linewidth=2)
        ax.set_title(f"subject {subject}", fontsize=7, loc="left", pad=2)
        ax.tick_params(labelsize=6, length=2)
    axes[-1].set_xlabel("seconds (adjusted Rand index in brackets; dark: eyes closed)", fontsize=7)
    return figure


def _aligned(found: Any, truth: Any) -> Any:
    """Return labels 0 and 1, exchanged where that agrees better with the truth."""
    found = (found == found.max()).astype(int)
    return found if np.mean(found == truth) >= 0.5 else 1 - found


def graphs_on_the_map(
    rows: Sequence[Mapping[str, Any]], folders: tuple[Path | None, ...]
) -> Figure | None:
    """Draw the strongest edges of our mean graph where the nodes are, beside the map's own."""
    tried: dict[str, list[Any]] = {}
    for row in rows:
        data = row["cell"]["data"]
        ours = row["status"] == "done" and row["cell"]["model"] == OURS and "edges" in row
        if ours and data in MAPS and row["cell"]["seed"] == 0:  # the first fold
            tried.setdefault(data, []).append(row)
    if not tried:
        return None
    found = {data: likeliest_row(several) for data, several in tried.items()}
    figure = Figure(figsize=(3.1 * len(found), 2.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(found)))
    for ax, (data, row) in zip(axes, found.items()):
        known = load({"kind": data}, folders)
        weights = np.array(row["edges"])
        pairs = np.column_stack(np.triu_indices(len(known.names), 1))
        kept = np.argsort(-weights)[: int(known.edges.sum())]
        widths = 0.3 + 2.2 * weights[kept] / weights.max()
        right = known.edges[kept]
        colours = np.where(right, COLOURS[5], COLOURS[1])
        lines = known.places[pairs[kept]]
        ax.add_collection(LineCollection(lines, linewidths=widths, colors=colours, alpha=0.75))
        ax.plot(*known.places.T, ".", color="0.2", markersize=4)
        ax.set_title(f"{MAPS[data]}: {100 * right.mean():.0f} % of {len(kept)} edges", fontsize=8)
        ax.set_aspect(1.3 if data != "brittany" else 1, anchor="N")
        ax.axis("off")
    figure.supxlabel(
        "as many of the strongest edges as the map has; blue: between neighbours on the map",
        fontsize=7,
    )
    return figure
