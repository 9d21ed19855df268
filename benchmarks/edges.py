"""How often edges are there, by the confidence in them, and how many noise has.

    python benchmarks/edges.py [files of each kind, default 10] [seed, default 0] [kinds]

Files with known graphs of 8 to 24 nodes: one graph with 1,000 independent samples, autoregressive
ones with 0.9, Student t with 4 degrees of freedom, a tenth of the values missing; three graphs that
switch (2,000 samples), which may be disconnected; one or two of three graphs at a time, for 50
samples each; and noise without edges, independent and autoregressive. Prints the share of pairs of
each kind that are joined among those of some confidence, and how many weights lie in their
intervals. Only those are run whose names hold ``kinds``.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment

from graphdict import GraphDictMarginal
from graphdict.datasets import sample_lgmrf
from graphdict.graphs import degrees, n_edges

BINS = ((0.0, 0.1), (0.1, 0.5), (0.5, 0.85), (0.85, 0.95), (0.95, 1.01))


def random_graphs(rng, count, nodes, density=0.3):
    pairs = n_edges(nodes)
    return (rng.random((count, pairs)) < density) * rng.uniform(0.5, 2, (count, pairs))


def every_node_joined(atoms):
    """Return whether every node has an edge in every atom: it is silent otherwise."""
    return bool((degrees(atoms) > 0).all())


def remember(steps, memory):
    if not memory:
        return steps
    signals = steps.copy()
    for t in range(1, len(steps)):
        signals[t] = memory * signals[t - 1] + np.sqrt(1 - memory**2) * steps[t]
    return signals


def draw(rng, kind):
    """Return signals, the true weights (K, E), and settings of the model."""
    nodes = int(rng.integers(8, 25))
    seed = int(rng.integers(1 << 30))
    if kind.startswith("noise"):
        signals = remember(rng.standard_normal((1000, nodes)), 0.9 if "AR" in kind else 0.0)
        return signals, np.zeros((1, n_edges(nodes))), {}
    if kind.startswith(("three", "two")):
        atoms = random_graphs(rng, 3, nodes, 0.15 if "disconnected" in kind else 0.3)
        while kind.startswith("two") and not every_node_joined(atoms):
            atoms = random_graphs(rng, 3, nodes)
        most = 1 if kind.startswith("three") else 2
        active = np.eye(3) if most == 1 else np.vstack([np.eye(3), 1 - np.eye(3)])
        path = np.repeat(rng.integers(len(active), size=40), 50)
        signals = np.asarray(sample_lgmrf((active @ atoms)[path], random_state=seed))
        return signals, atoms, {"prior": "markov", "max_active": most}
    atoms = random_graphs(rng, 1, nodes)
    steps = np.asarray(sample_lgmrf(np.repeat(atoms, 1000, 0), random_state=seed))
    if kind == "Student t 4":
        steps = steps / np.sqrt(rng.chisquare(4, (1000, 1)) / 4)
    if kind == "a tenth missing":
        steps[rng.random(steps.shape) < 0.1] = np.nan
    return remember(steps, 0.9 if kind == "AR 0.9" else 0.0), atoms, {}


def measure(rng, kind):
    """Return confidence, truth and coverage of all pairs of a file."""
    signals, atoms, settings = draw(rng, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GraphDictMarginal(len(atoms), random_state=0, **settings).fit(signals)
    if len(atoms) > 1:
        alike = np.corrcoef(np.vstack([model.atoms_, atoms]))[: len(atoms), len(atoms) :]
        atoms = atoms[linear_sum_assignment(-np.nan_to_num(alike))[1]]
    both = (atoms > 0) & (model.atoms_ > 0)
    unit = np.median(model.atoms_[both] / atoms[both]) if both.any() else 1.0
    low, high = np.moveaxis(model.edge_intervals_, -1, 0)
    inside = (low <= atoms * unit) & (atoms * unit <= high)
    return model.edge_confidence_.ravel(), (atoms > 0).ravel(), inside.ravel()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = (
        "independent", "AR 0.9", "Student t 4", "three graphs", "noise", "noise, AR 0.9",
        "a tenth missing", "three disconnected graphs", "two of three graphs",
    )  # fmt: skip
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    for place, kind in enumerate(kinds):
        if wanted not in kind:
            continue
        rng = np.random.default_rng((seed, place))
        found = [measure(rng, kind) for _ in range(count)]
        confidence, truth, inside = (np.concatenate(column) for column in zip(*found))
        print(f"{kind}: {(confidence > 0.5).mean():.3f} of pairs above 0.5", end="")
        if truth.any():
            print(f", {inside.mean():.3f} of weights in their intervals; joined at confidence")
            for low, high in BINS:
                among = truth[(confidence >= low) & (confidence < high)]
                share = among.mean() if len(among) else np.nan
                error = np.sqrt(share * (1 - share) / max(len(among), 1))
                shown = f"{share:.3f} +- {error:.3f} of {len(among)}"
                print(f"    {low:.2f} to {min(high, 1):.2f}: {shown}")
        else:
            print()
