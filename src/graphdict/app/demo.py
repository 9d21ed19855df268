"""Fit a simulated dictionary with two models and compare them with the truth."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.datasets import make_superposition
from graphdict.datasets.superposition import Superposition
from graphdict.metrics import coefficient_error, edge_scores, match_atoms
from graphdict.models import GraphDictLog, GraphDictMarginal
from graphdict.viz.report import write_report

WINDOW = 20


@dataclass(frozen=True)
class Recovery:
    """Scores of one model against the truth."""

    model: str
    seconds: float
    atom_similarity: list[float]
    atom_mcc: list[float]
    test: dict[str, float]
    coefficient_error: float
    score: float


@dataclass(frozen=True)
class Demo:
    """Scores of the models, and the files that were written."""

    recoveries: list[Recovery]
    files: list[str]


def run_demo(folder: Path, seed: int = 0, verbose: int = 1) -> Demo:
    """Simulate signals, fit two models, score them; write a figure, the better model, a report."""
    data = make_superposition(
        n_atoms=3, n_nodes=14, superposition=2, n_train=2000, n_test=400,
        samples_per_graph=WINDOW, random_state=seed,
    )  # fmt: skip
    shared: dict[str, Any] = {"window_size": WINDOW, "random_state": seed, "verbose": verbose}
    models = [
        GraphDictLog(3, alpha_w=0.02, n_init=5, **shared),
        GraphDictMarginal(3, max_active=2, **shared),
    ]
    recoveries = [_recover(model, data) for model in models]

    folder.mkdir(parents=True, exist_ok=True)
    picture, saved = folder / "recovery.png", folder / "model.graphdict"
    _draw(data, models[-1], picture)
    models[-1].save(saved)
    page = folder / "report.html"
    write_report(models[-1], page, source="simulated signals", title="Three graphs on 14 nodes")
    return Demo(recoveries, [str(picture), str(saved), str(page)])


def _recover(model: Any, data: Superposition) -> Recovery:
    """Fit a model to the training signals and score it on the test signals."""
    started = time.perf_counter()
    model.fit(data.train.signals)
    seconds = time.perf_counter() - started
    matching = match_atoms(data.atoms, model.atoms_)
    atom_mcc = edge_scores(data.atoms[matching.true], model.atoms_[matching.learned]).mcc
    graphs = model.instantaneous_graphs(data.test.signals)
    return Recovery(
        model=type(model).__name__,
        seconds=seconds,
        atom_similarity=np.round(matching.similarity, 4).tolist(),
        atom_mcc=np.round(atom_mcc, 4).tolist(),
        test=edge_scores(data.test.weights, graphs.weights).mean(),
        coefficient_error=coefficient_error(data.test.coefficients, graphs.coefficients, matching),
        score=model.score(data.test.signals),
    )


def _draw(data: Superposition, model: Any, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from graphdict.viz import plot_recovery

    shown = slice(0, 25 * WINDOW)
    plot_recovery(
        data.atoms, model.atoms_, data.train.coefficients[shown], model.coefficients_[shown]
    )
    plt.savefig(path, dpi=200)
    plt.close()
