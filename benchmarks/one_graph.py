"""How often ``graphdict fit FILE`` finds the right number of graphs, and what p-values it gives.

    python benchmarks/one_graph.py [files of each kind, default 25] [seed, default 0]

Files with one graph (ring, random, lattice; 5 to 40 nodes; independent samples, autoregressive ones
with 0.5 and 0.9, Student t with 4 degrees of freedom), with two to four graphs that switch (10 to
30 nodes, states of 20 to 200 samples), and with superpositions of two of three graphs. Each has
2,000 samples. Prints how many were right, with the standard error of the share, and for files with
one graph a Kolmogorov-Smirnov test of whether p-values are uniform.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from scipy.stats import kstest

from graphdict.app.cli import main
from graphdict.datasets import sample_lgmrf
from graphdict.graphs import edge_index

SAMPLES = 2000


def ring(rng, nodes):
    first, second = edge_index(nodes)
    return ((second - first == 1) | (second - first == nodes - 1)).astype(float)


def lattice(rng, nodes):
    side = int(np.sqrt(nodes))
    first, second = edge_index(side * side)
    right = (second - first == 1) & (second % side != 0)
    return (right | (second - first == side)).astype(float)


def random_graph(rng, nodes, density=0.3):
    pairs = nodes * (nodes - 1) // 2
    graph = (rng.random(pairs) < max(density, 2.5 / nodes)) * rng.uniform(0.5, 2, pairs)
    return graph + 0.3 * ring(rng, nodes)  # connected


def draw(rng, weights):
    return np.asarray(sample_lgmrf(weights, random_state=int(rng.integers(1 << 31))))


def one_graph(rng, memory, tails):
    make = (ring, lattice, random_graph)[rng.integers(3)]
    steps = draw(rng, np.repeat(make(rng, int(rng.integers(5, 41)))[None], SAMPLES, 0))
    signals = steps.copy()
    for t in range(1, SAMPLES):
        signals[t] = memory * signals[t - 1] + np.sqrt(1 - memory**2) * steps[t]
    return (
        signals if tails is None else signals / np.sqrt(rng.chisquare(tails, (SAMPLES, 1)) / tails)
    )


def switching(rng, states):
    nodes, length = int(rng.integers(10, 31)), int(rng.integers(20, 201))
    atoms = np.array([random_graph(rng, nodes) for _ in range(states)])
    count = -(-SAMPLES // length)
    path = np.concatenate([np.arange(states), rng.integers(states, size=max(0, count - states))])
    return draw(rng, atoms[np.repeat(rng.permutation(path), length)[:SAMPLES]])


def superposed(rng, length=1):
    nodes = int(rng.integers(10, 31))
    atoms = np.array([random_graph(rng, nodes, 0.2) for _ in range(3)])
    pairs = np.array([[k in pair for k in range(3)] for pair in combinations(range(3), 2)], float)
    return draw(rng, pairs[np.repeat(rng.integers(3, size=SAMPLES // length), length)] @ atoms)


KINDS = {
    "one graph, independent": (lambda rng: one_graph(rng, 0, None), 1),
    "one graph, AR 0.5": (lambda rng: one_graph(rng, 0.5, None), 1),
    "one graph, AR 0.9": (lambda rng: one_graph(rng, 0.9, None), 1),
    "one graph, Student t 4": (lambda rng: one_graph(rng, 0, 4), 1),
    "two switching graphs": (lambda rng: switching(rng, 2), 2),
    "three switching graphs": (lambda rng: switching(rng, 3), 3),
    "four switching graphs": (lambda rng: switching(rng, 4), 4),
    "two of three, 50 samples each": (lambda rng: superposed(rng, 50), 3),
    "two of three, drawn one by one": (lambda rng: superposed(rng), 3),
}


def found(signals, folder):
    """Return the number of graphs that the command finds, and the p-value."""
    path = Path(folder) / "signals.csv"
    names = ",".join(f"s{k}" for k in range(signals.shape[1]))
    np.savetxt(path, signals, delimiter=",", header=names, comments="", fmt="%.6g")
    given = ["fit", str(path), "--force", "-o", str(Path(folder) / "out"), "--json", "--quiet"]
    result = CliRunner().invoke(main, given, catch_exceptions=False)
    content = json.loads(result.stdout)["result"]
    return len(content["atoms"]), (content["evidence"] or {}).get("p_value")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    p_values = []
    for place, (name, (make, truth)) in enumerate(KINDS.items()):
        rng = np.random.default_rng((seed, place))
        with tempfile.TemporaryDirectory() as folder:
            results = [found(make(rng), folder) for _ in range(count)]
        right = np.mean([number == truth for number, _ in results])
        error = np.sqrt(max(right * (1 - right), 0.25 / count) / count)
        print(
            f"{name}: right {right:.2f} +- {error:.2f}; found", [n for n, _ in results], flush=True
        )
        if truth == 1:
            p_values += [p for _, p in results if p is not None]
    test = kstest(p_values, "uniform")
    print(f"{len(p_values)} p-values with one graph: KS {test.statistic:.3f}, p {test.pvalue:.3f}")
