"""Experiments, the paper's and on measured signals: grids of cells, run and saved one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphdict.app.experiments import brain, brain_report, superposition, time_varying
from graphdict.app.experiments.grids import Cell, Dataset, Grid
from graphdict.app.experiments.real import grid as real_grid
from graphdict.app.experiments.real import report as real_report
from graphdict.app.experiments.tables import write_tables

__all__ = ["EXPERIMENTS", "Cell", "Dataset", "Experiment", "Grid"]


@dataclass(frozen=True)
class Experiment:
    """An experiment: its grids, and the tables and figures of its results.

    Attributes
    ----------
    title : str
    grid : callable
        ``grid(scale, **options) -> Grid``.
    report : callable
        ``report(grid, outcomes, folder) -> paths``: write figures of the outcomes of ``tables``.
    tables : callable
        ``tables(grid, rows, folder) -> (outcomes, paths)``: write tables of the cells' rows.
    options : sequence of str
        Further options of the command that ``grid`` takes: "data_dir", "subjects", "data_folder",
        "environments".
    prepare : callable, optional
        ``prepare(grid, say) -> grid``: drop what cannot be run, before anything is run.
    scales : dict of str
        Help texts of "quick" and "full", instead of the general ones.
    as_published : bool
        Whether there is a "paper" grid, with every term of the paper.
    """

    title: str
    grid: Callable[..., Grid]
    report: Callable[[Grid, Any, Path], list[Path]]
    tables: Callable[[Grid, Sequence[dict[str, Any]], Path], tuple[Any, list[Path]]] = write_tables
    options: Sequence[str] = ()
    prepare: Callable[[Grid, Callable[[str], None]], Grid] | None = None
    scales: Mapping[str, str] = field(default_factory=dict)
    as_published: bool = False


EXPERIMENTS: dict[str, Experiment] = {
    "superposition": Experiment(
        "Graphs that are sums of up to s of five atoms (the paper's Figures 2 and 3).",
        superposition.grid,
        superposition.report,
        as_published=True,
    ),
    "time-varying": Experiment(
        "Graphs that evolve or switch over time (the paper's Table I).",
        time_varying.grid,
        time_varying.report,
        as_published=True,
    ),
    "brain": Experiment(
        "Which fist is imagined, from EEG (the paper's Figures 4 and 5). Needs the extra eeg.",
        brain.grid,
        brain_report.report,
        tables=brain_report.tables,
        options=("data_dir", "subjects"),
        prepare=brain.drop_unreadable_subjects,
        scales={
            "quick": "Three subjects and few models: two minutes on two cores. The default.",
            "full": "Fifteen subjects, all models and sizes, three seeds: hours.",
            "paper": "The paper's claim with Algorithm 1, all peaks, several forests and seeds; "
            "whether eyes or hands are read. Under an hour on two cores.",
        },
        as_published=True,
    ),
    "real": Experiment(
        "Measured signals: graphdict compared with other methods in use. EEG needs the extra eeg.",
        real_grid.grid,
        real_report.report,
        tables=real_report.tables,
        options=("data_folder", "environments", "subjects"),
        prepare=real_grid.prepare,
        scales={
            "quick": "One fold, three subjects, few settings: three minutes on two cores. The "
            "default.",
            "full": "All folds, fifteen subjects, all settings: under 90 minutes on two cores.",
        },
    ),
}
