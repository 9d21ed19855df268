"""How much of the SBG scores rests on signals without any observation noise.

Nodes that a graph isolates have signals that are exactly zero, and each connected component sums to
exactly zero. A little white noise removes that, and changes nothing else that matters.

One fixed setting for each method, the draws of the experiments, the threshold chosen on the true
graphs as there: a check of sensitivity, not a comparison of tuned methods. Writes ``check.csv``.
"""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np

from graphdict.app.experiments.grids import THRESHOLDS
from graphdict.app.experiments.methods import SEEDS, build
from graphdict.app.experiments.time_varying import DATA, draw
from graphdict.metrics import scores_by_threshold

METHODS = {
    "GraphDictMarginal": {"n_atoms": 6, "prior": "markov", "max_active": 1},
    "GraphDictLog": {
        "n_atoms": 6, "solver": "mm", "max_iter": 100, "alpha_w": 0.01, "window_size": 10,
    },
    "TGFA": {"window_size": 10, "alpha_diff": 0.3},
    "WindowLogModel": {"window_size": 40, "avg_degree": 2},
}  # fmt: skip
NOISE = (0.0, 1e-6, 1e-3, 1e-2, 1e-1)  # standard deviation, relative to that of the signals


def main() -> None:
    """Score every method at every level of noise."""
    lines = []
    for data in ("sbg-32x20", "sbg-512x1", "emeg-512x1"):
        for seed in SEEDS["full"]:
            drawn = draw(DATA[data], seed)
            white = np.random.default_rng(9).standard_normal(drawn.signals.shape)
            white *= np.sqrt(np.mean(np.square(drawn.signals)))
            for noise in NOISE:
                for method, setting in METHODS.items():
                    model = build(method, setting, 0).fit(drawn.signals + noise * white)
                    predicted = model.instantaneous_graphs().weights
                    cuts = float(predicted.mean()) * np.asarray(THRESHOLDS)
                    mcc = scores_by_threshold(drawn.graphs, predicted, cuts).mcc.max()
                    lines.append([data, seed, noise, method, f"{mcc:.4f}"])
    with open(Path(__file__).with_name("check.csv"), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "seed", "noise", "method", "mcc"])
        writer.writerows(lines)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
