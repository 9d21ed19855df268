"""A lower objective is not a better graph: the figure of docs/models.md.

    python docs/figures/overfitting.py

One draw of the superposition experiment (s = 1). GraphDictLog and GraphDictExact are minimised from
one start; on the way, the objective and the edge recovery of the training graphs are noted, the
threshold being the best for the true graphs each time. GraphDictMarginal, for comparison, once.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from graphdict import GraphDictExact, GraphDictLog, GraphDictMarginal
from graphdict.datasets import make_superposition
from graphdict.metrics import best_threshold

NOTED = {1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200}
THRESHOLDS = np.geomspace(1e-4, 3, 60)


def trace(model, data) -> np.ndarray:
    """Rows (iteration, objective, MCC) of one fit."""
    rows = []

    def note(progress) -> None:
        if progress.iteration in NOTED:
            graphs = progress.coefficients @ progress.atoms
            rows.append(
                (
                    progress.iteration,
                    progress.objective,
                    best_threshold(data.train.weights, graphs, THRESHOLDS)[1],
                )
            )

    model.set_params(callback=note).fit(data.train.signals)
    return np.array(rows)


def main() -> None:
    """Draw and print."""
    warnings.simplefilter("ignore")
    data = make_superposition(superposition=1, n_train=1000, random_state=11)
    marginal = GraphDictMarginal(5, max_active=1, random_state=0).fit(data.train.signals)
    graphs = marginal.instantaneous_graphs().weights
    reached = best_threshold(data.train.weights, graphs, THRESHOLDS)[1]
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
    models = {
        "GraphDictLog": (GraphDictLog(5, max_iter=200, tol=0, random_state=0), "#0072B2"),
        "GraphDictExact": (GraphDictExact(5, max_iter=50, tol=0, random_state=0), "#D55E00"),
    }
    for name, (model, colour) in models.items():
        rows = trace(model, data)
        axes[0].semilogx(rows[:, 0], rows[:, 1], "o-", color=colour, markersize=3, label=name)
        axes[1].semilogx(rows[:, 0], rows[:, 2], "o-", color=colour, markersize=3, label=name)
        first, last = rows[:, 2].max(), rows[-1, 2]
        print(f"{name}: best MCC {first:.2f} on the way, {last:.2f} at the end")
    print(f"GraphDictMarginal: {reached:.2f}")
    axes[1].axhline(reached, color="#009E73", linestyle="--", label="GraphDictMarginal")
    axes[0].set_ylabel("objective")
    axes[1].set_ylabel("MCC of training graphs")
    axes[1].set_ylim(0, 1)
    axes[1].legend(fontsize=8, frameon=False)
    for ax in axes:
        ax.set_xlabel("iteration")
        ax.grid(alpha=0.3)
    target = Path(__file__).parents[1] / "images" / "overfitting.png"
    figure.savefig(target, dpi=150)
    print("wrote", target.name)


if __name__ == "__main__":
    main()
