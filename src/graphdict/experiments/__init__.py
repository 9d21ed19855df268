"""The paper's experiments: declared grids whose cells are saved one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdict.experiments import superposition, time_varying
from graphdict.experiments.grids import Cell, Grid, Samples
from graphdict.experiments.tables import Choice

__all__ = ["EXPERIMENTS", "Cell", "Experiment", "Grid", "Samples"]


@dataclass(frozen=True)
class Experiment:
    """An experiment: a grid of each scale, and what is drawn from its results."""

    title: str
    grid: Callable[[str], Grid]
    report: Callable[[Grid, Sequence[Choice], Path], list[Path]]


# A further experiment (brain states from EEG, say) is one more module and one more line here.
EXPERIMENTS: dict[str, Experiment] = {
    "superposition": Experiment(
        "Graphs that are sums of up to s of five atoms (the paper's Figures 2 and 3).",
        superposition.grid,
        superposition.report,
    ),
    "time-varying": Experiment(
        "Graphs that evolve or switch over time (the paper's Table I).",
        time_varying.grid,
        time_varying.report,
    ),
}
