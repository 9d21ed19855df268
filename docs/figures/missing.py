"""Edge recovery against the share of values that are missing: docs/images/missing.png.

    python docs/figures/missing.py [--quick]

About six minutes on one core for two draws; ``--quick`` does one.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.baselines import LogModel
from graphdict.datasets import make_superposition
from graphdict.metrics import edge_scores

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
DRAWS = 1 if "--quick" in sys.argv else 2
IMAGE = Path(__file__).parents[1] / "images" / "missing.png"


def gaps_accepted(signals):
    return signals, np.ones(len(signals), dtype=bool)


def filled_with_means(signals):
    """What one would do instead: each gap takes its column's mean."""
    filled = np.where(np.isnan(signals), np.nanmean(signals, axis=0), signals)
    return filled, np.ones(len(signals), dtype=bool)


def complete_rows(signals):
    """Or leave incomplete samples out, where enough are left to learn from."""
    kept = ~np.isnan(signals).any(axis=1)
    return signals[kept], kept


def marginal():
    return GraphDictMarginal(3, max_active=2, n_init=3, random_state=0)


def soft():
    return GraphDictLog(3, alpha_w=0.1, max_iter=200, random_state=0)


METHODS = {
    "GraphDictMarginal, gaps summed over": (marginal, gaps_accepted, "C0", "-"),
    "GraphDictMarginal, gaps filled with means": (marginal, filled_with_means, "C0", ":"),
    "GraphDictMarginal, complete samples only": (marginal, complete_rows, "C0", "--"),
    "GraphDictLog, observed pairs": (soft, gaps_accepted, "C1", "-"),
    "GraphDictLog, gaps filled with means": (soft, filled_with_means, "C1", ":"),
    "LogModel (one graph), observed pairs": (LogModel, gaps_accepted, "C2", "-"),
}


def best_threshold(model, truth):
    """The edge threshold that suits the training graphs best."""
    found = (
        model.instantaneous_graphs().weights
        if hasattr(model, "coefficients_")
        else (np.repeat(model.atoms_, len(truth), axis=0))
    )
    levels = np.quantile(found[found > 0], np.linspace(0, 0.97, 25))
    scores = [edge_scores(truth, np.where(found > v, found, 0)).mcc.mean() for v in levels]
    return levels[int(np.argmax(scores))]


def recovery(name, data, train, test):
    make, treat, *_ = METHODS[name]
    signals, kept = treat(train)
    if len(signals) < 50:
        return np.nan
    model = make().fit(signals)
    threshold = best_threshold(model, data.train.weights[kept])
    # New samples cannot be left out: those who would fill their gaps.
    new = test if treat is gaps_accepted else filled_with_means(test)[0]
    found = model.instantaneous_graphs(new).weights
    return edge_scores(data.test.weights, np.where(found > threshold, found, 0)).mcc.mean()


def main():
    warnings.simplefilter("ignore")
    table = np.full((len(METHODS), len(SHARES), DRAWS), np.nan)
    for draw in range(DRAWS):
        data = make_superposition(
            3, 14, 0.35, superposition=2, n_train=1000, n_test=400, random_state=draw
        )
        for column, share in enumerate(SHARES):
            rng = np.random.default_rng(1000 + draw)
            train, test = (
                np.where(rng.random(part.signals.shape) < share, np.nan, part.signals)
                for part in (data.train, data.test)
            )
            for row, name in enumerate(METHODS):
                table[row, column, draw] = recovery(name, data, train, test)
    means = table.mean(axis=2)
    print("| | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |")
    print("| --- |" + " ---: |" * len(SHARES))
    for name, row in zip(METHODS, means):
        cells = ["" if np.isnan(value) else f"{value:.2f}" for value in row]
        print(f"| {name} | " + " | ".join(cells) + " |")

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, row in zip(METHODS, means):
        _, _, colour, style = METHODS[name]
        axes.plot(SHARES, row, style, color=colour, label=name, marker="o", markersize=3)
    axes.set(xlabel="share of values missing", ylabel="edge recovery (MCC)", ylim=(0, None))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(IMAGE, dpi=150)


if __name__ == "__main__":
    main()
