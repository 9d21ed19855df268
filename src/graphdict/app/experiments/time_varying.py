"""The time-varying experiment: recover graphs that evolve (EMEG) or switch (SBG) over time.

Repeats the paper's Table I. As there, settings and threshold are chosen and scored on the graphs
of the same series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphdict.app.experiments.as_published import TIME_VARYING
from graphdict.app.experiments.grids import Dataset, Grid, settings
from graphdict.app.experiments.methods import Settings, recovery_grid
from graphdict.app.experiments.published import TABLE_I
from graphdict.app.experiments.tables import (
    Choice,
    summarise,
    with_published,
    write_csv,
    write_markdown,
)
from graphdict.datasets import make_emeg, make_sbg

PROCESSES = {"emeg": make_emeg, "sbg": make_sbg}
DATA = {
    f"{process}-{graphs}x{signals}": {
        "process": process, "n_graphs": graphs, "signals_per_graph": signals,
    }
    for process in PROCESSES
    for graphs, signals in ((32, 20), (512, 1))
}  # fmt: skip

# Every model has the same number of settings: 16 in the full experiment, 3 in the quick one.
# Windows range from a few samples to the whole of the shorter series.
MODELS: dict[str, dict[str, Settings]] = {
    "GraphDictLog": {
        "full": [
            *settings(
                solver=["mm"], max_iter=[100], alpha_w=[0.01], n_atoms=[6, 12],
                window_size=[10, 20, 40],
            ),
            *settings(
                solver=["mm"], max_iter=[100], alpha_w=[0.1], n_atoms=[6], window_size=[10, 20],
            ),
            *settings(
                solver=["bipds"], max_iter=[80], alpha_w=[0.01, 0.1, 1.0], n_atoms=[1, 6],
                window_size=[160],
            ),
            *settings(
                solver=["bipds"], max_iter=[80], alpha_w=[0.01, 0.1], n_atoms=[6],
                window_size=[20], alpha_diff=[10.0],
            ),
        ],
        "quick": [
            *settings(
                solver=["mm"], max_iter=[100], alpha_w=[0.01], n_atoms=[6], window_size=[10, 20],
            ),
            *settings(
                solver=["bipds"], max_iter=[80], alpha_w=[0.1], n_atoms=[1], window_size=[160],
            ),
        ],
    },
    "GraphDictSpectral": {
        "full": [
            *settings(
                modes=["graph"], alpha_w=[0.01, 0.1], n_atoms=[1, 6], window_size=[10, 20, 80],
            ),
            *settings(
                modes=["graph"], alpha_w=[0.01, 0.1], n_atoms=[6], window_size=[20],
                alpha_diff=[10.0], max_iter=[50],
            ),
            *settings(alpha_w=[0.01, 0.1], n_atoms=[6], window_size=[20]),
        ],
        "quick": settings(modes=["graph"], alpha_w=[0.01], n_atoms=[6], window_size=[10, 20, 80]),
    },
    # Not in the paper: graphs that share their eigenvectors only nearly.
    "GraphDictSpectralRelaxed": {
        "full": settings(
            solver=["bipds"], max_iter=[200], alpha_w=[0.01, 0.1], alpha_modes=[1.0, 10.0],
            n_atoms=[1, 6], window_size=[20, 80],
        ),
        "quick": settings(
            solver=["bipds"], max_iter=[200], alpha_w=[0.01], n_atoms=[6], window_size=[10, 20, 80],
        ),
    },
    # Not in the paper: activations summed over instead of optimised, under the exact likelihood.
    "GraphDictMarginal": {
        "full": [
            *settings(prior=["hierarchy"], n_atoms=[7, 10, 15], sparsity=[1.0]),
            *settings(prior=["hierarchy"], n_atoms=[31, 136], sparsity=[0.0]),
            *settings(prior=["hierarchy"], n_atoms=[136], sparsity=[0.3]),
            *settings(
                prior=["markov"], n_atoms=[3, 6, 9], max_active=[1], sparsity=[0.3, 1.0, 2.0],
            ),
            *settings(prior=["markov"], n_atoms=[6], max_active=[2], sparsity=[1.0]),
        ],
        "quick": [
            *settings(prior=["hierarchy"], n_atoms=[15], sparsity=[1.0], n_init=[2]),
            *settings(prior=["markov"], n_atoms=[3, 6], max_active=[1], sparsity=[1.0], n_init=[2]),
        ],
    },
    "GraphDictHier": {
        "full": settings(depth=[1, 3, 4, 5], alpha_w=[0.01, 0.02, 0.05, 0.1]),
        "quick": settings(depth=[4], alpha_w=[0.02, 0.05, 0.1]),
    },
    "WindowLogModel": {
        "full": settings(
            window_size=[10, 20, 40, 80, 120, 160, 320, 512], avg_degree=[2, 5],
        ),
        "quick": settings(window_size=[20, 80, 320], avg_degree=[5]),
    },
    "TGFA": {
        "full": settings(
            window_size=[10, 40], alpha_diff=[0.1, 0.3, 1.0, 3.0], penalty=["l1", "l2"],
        ),
        "quick": settings(window_size=[20], alpha_diff=[0.1, 0.3, 1.0]),
    },
    # Not in the paper: one graph for all samples, which a series of graphs must outperform.
    "LogModel": {
        "full": settings(
            avg_degree=[1, 2, 3, 4, 5, 6, 8, 10], alpha_w=[0.0, 0.1],
        ),
        "quick": settings(avg_degree=[2, 4, 8]),
    },
}  # fmt: skip


def grid(scale: str) -> Grid:
    """Return the grid of the "quick", the "full" or the "paper" experiment."""
    return recovery_grid("time-varying", scale, DATA, MODELS, TIME_VARYING, draw)


def draw(arguments: Mapping[str, Any], seed: int) -> Dataset:
    """Simulate a series of signals and their graphs."""
    arguments = dict(arguments)
    drawn = PROCESSES[arguments.pop("process")](**arguments, random_state=seed)
    return Dataset(drawn.signals, drawn.weights)


def report(grid: Grid, choices: Sequence[Choice], folder: Path) -> list[Path]:
    """Write the paper's table with published and measured numbers, as CSV, Markdown and figure."""
    # Imported here, so that workers start without Matplotlib.
    from graphdict.app.experiments.figures import bars_with_published, save

    summary = summarise(choices)
    columns = {name: _title(arguments) for name, arguments in grid.data.items()}
    return [
        write_csv(folder / "table.csv", with_published(summary, TABLE_I)),
        write_markdown(folder / "table.md", summary, columns, TABLE_I),
        *save(bars_with_published(summary, columns, TABLE_I), folder / "mcc"),
    ]


def _title(arguments: Mapping[str, Any]) -> str:
    process, graphs, signals = arguments.values()
    return f"{process.upper()} {graphs} x {signals}"
