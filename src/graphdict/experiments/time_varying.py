"""The time-varying experiment: recover graphs that evolve (EMEG) or switch (SBG) over time.

What the paper's Table I shows. As there, settings and threshold are chosen, and scored, on the
graphs of the one series that is observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphdict.datasets import make_emeg, make_sbg
from graphdict.experiments.grids import Grid, Samples, settings
from graphdict.experiments.methods import build
from graphdict.experiments.paper import TABLE_I
from graphdict.experiments.tables import Choice, beside, summarise, write_csv, write_markdown

__all__ = ["MODELS", "draw", "grid", "report"]

SEEDS = {"quick": (0,), "full": (0, 1, 2, 3, 4)}
PROCESSES = {"emeg": make_emeg, "sbg": make_sbg}
DATA = {
    f"{process}-{graphs}x{signals}": {
        "process": process, "n_graphs": graphs, "signals_per_graph": signals,
    }
    for process in PROCESSES
    for graphs, signals in ((32, 20), (512, 1))
}  # fmt: skip
WINDOWS = [20, 40, 80, 160, 320]

# Every model has the same number of settings: 12 in the full experiment, 3 in the quick one.
MODELS: dict[str, dict[str, Sequence[Mapping[str, Any]]]] = {
    "GraphDictLog": {
        "full": settings(
            n_atoms=[6], solver=["bipds"], window_size=[1, 20, 80, 160], alpha_w=[0.01, 0.1, 1.0],
            max_iter=[50],
        ),
        "quick": settings(
            n_atoms=[6], solver=["bipds"], window_size=[1, 20, 160], alpha_w=[0.1], max_iter=[50],
        ),
    },
    "GraphDictSpectral": {
        "full": settings(
            n_atoms=[6], solver=["bipds"], window_size=[1, 20, 80, 160], alpha_w=[0.01, 0.1, 1.0],
            max_iter=[50],
        ),
        "quick": settings(
            n_atoms=[6], solver=["bipds"], window_size=[1, 20, 160], alpha_w=[0.1], max_iter=[50],
        ),
    },
}  # fmt: skip


def grid(scale: str) -> Grid:
    """The declared experiment, "quick" or "full"."""
    return Grid(
        experiment="time-varying",
        scale=scale,
        data=DATA,
        models={name: tried[scale] for name, tried in MODELS.items()},
        seeds=SEEDS[scale],
        draw=draw,
        build=build,
    )


def draw(arguments: Mapping[str, Any], seed: int) -> Samples:
    """One series of signals and their graphs."""
    arguments = dict(arguments)
    drawn = PROCESSES[arguments.pop("process")](**arguments, random_state=seed)
    return Samples(drawn.signals, drawn.weights)


def report(grid: Grid, choices: Sequence[Choice], folder: Path) -> list[Path]:
    """The paper's table, its numbers beside those measured here, as CSV, Markdown and figure."""
    # Here, so that workers, who draw nothing, start without Matplotlib.
    from graphdict.experiments.figures import bars_beside, save

    summary = summarise(choices)
    columns = {name: _title(arguments) for name, arguments in grid.data.items()}
    return [
        write_csv(folder / "table.csv", beside(summary, TABLE_I)),
        write_markdown(folder / "table.md", summary, columns, TABLE_I),
        *save(bars_beside(summary, columns, TABLE_I), folder / "mcc"),
    ]


def _title(arguments: Mapping[str, Any]) -> str:
    process, graphs, signals = arguments.values()
    return f"{process.upper()} {graphs} x {signals}"
