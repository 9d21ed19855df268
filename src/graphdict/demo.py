"""The main job on simulated data: learn a known dictionary and compare it with the truth."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphdict.datasets import make_superposition
from graphdict.metrics import coefficient_error, edge_scores, match_atoms
from graphdict.models import GraphDictLog

__all__ = ["Demo", "run_demo"]

WINDOW = 20


@dataclass(frozen=True)
class Demo:
    """What the demonstration found, and where it wrote."""

    seconds: float
    atom_similarity: list[float]
    atom_mcc: list[float]
    test: dict[str, float]
    coefficient_error: float
    score: float
    files: list[str]


def run_demo(folder: Path, seed: int = 0, verbose: int = 1) -> Demo:
    """Simulate, learn, match, measure; write a figure and the model into ``folder``."""
    data = make_superposition(
        n_atoms=3, n_nodes=14, superposition=2, n_train=2000, n_test=400,
        samples_per_graph=WINDOW, random_state=seed,
    )  # fmt: skip
    model = GraphDictLog(
        3, alpha_w=0.02, window_size=WINDOW, n_init=5, random_state=seed, verbose=verbose
    )
    started = time.perf_counter()
    model.fit(data.train.signals)
    seconds = time.perf_counter() - started

    matching = match_atoms(data.atoms, model.atoms_)
    learned = model.atoms_[matching.learned]
    atom_mcc = edge_scores(data.atoms[matching.true], learned).mcc
    learned_graphs = model.instantaneous_graphs(data.test.signals)
    test = edge_scores(data.test.weights, learned_graphs.weights).mean()
    error = coefficient_error(data.test.coefficients, learned_graphs.coefficients, matching)

    folder.mkdir(parents=True, exist_ok=True)
    picture, saved = folder / "recovery.png", folder / "model.graphdict"
    _draw(data, model.coefficients_[:, matching.learned], learned, atom_mcc, picture)
    model.save(saved)
    return Demo(
        seconds=seconds,
        atom_similarity=np.round(matching.similarity, 4).tolist(),
        atom_mcc=np.round(atom_mcc, 4).tolist(),
        test=test,
        coefficient_error=float(error),
        score=model.score(data.test.signals),
        files=[str(picture), str(saved)],
    )


def _draw(data, coefficients, atoms, scores, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from graphdict.viz import plot_recovery

    shown = slice(0, 25 * WINDOW)
    figure = plot_recovery(
        data.atoms, atoms, data.train.coefficients[shown], coefficients[shown], scores=scores
    )
    figure.savefig(path, dpi=150)
