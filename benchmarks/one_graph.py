"""How often ``graphdict fit FILE`` finds the right number of graphs, and what p-values it gives.

    python benchmarks/one_graph.py [files of each kind, default 25] [seed, default 0] [kinds]
    python benchmarks/one_graph.py p-values [files of each kind, default 50] [seed, default 0]

Files with one graph (5 to 40 nodes; independent samples, autoregressive ones with 0.5 and 0.9,
Student t with 4 degrees of freedom; memory of its own for each node, trends and seasons, sensors
with noise of their own, loudness that lasts) or one covariance with negative dependence, with two
to four graphs that switch (10 to 30 nodes, states of 20 to 200 samples), and with superpositions of
two of three graphs. Graphs are rings, lattices,
random ones, small worlds, trees, stars with a ring, and neighbours in the plane. Each file has
2,000 samples. Prints how many were right, with the standard error of the share, and for files with
one graph a Kolmogorov-Smirnov test of whether p-values are uniform. Only those are run whose names
hold ``kinds``. With ``p-values``, only these are computed, which takes no fit.
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
from graphdict.graphs import edge_index, n_nodes
from graphdict.selection.folds import cut_blocks
from graphdict.selection.one_graph import PROBABLE, SURROGATES, surrogate_statistics

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
    low, high = ((0.5, 2), (0.1, 3))[rng.integers(2)]
    graph = (rng.random(pairs) < max(density, 2.5 / nodes)) * rng.uniform(low, high, pairs)
    return graph + 0.3 * ring(rng, nodes)  # connected


def small_world(rng, nodes):
    """Return a ring whose nodes are joined to the second next, too, a fifth of edges rewired."""
    first, second = edge_index(nodes)
    apart = np.minimum(second - first, nodes - second + first)
    graph = ((apart == 1) | ((apart == 2) & (rng.random(len(first)) < 0.8))).astype(float)
    graph[rng.random(len(first)) < 0.4 / nodes] = 1
    return graph * rng.uniform(0.5, 2, len(first))


def tree(rng, nodes):
    """Return a tree in which nodes with many edges get more, and as many random edges."""
    first, second = edge_index(nodes)
    adjacency = np.zeros((nodes, nodes))
    for node in range(1, nodes):
        likely = 1 + adjacency[:node].sum(axis=1)
        adjacency[node, rng.choice(node, p=likely / likely.sum())] = 1
    adjacency += adjacency.T
    graph = adjacency[first, second] + (rng.random(len(first)) < 2 / nodes)
    return np.minimum(graph, 1) * rng.uniform(0.5, 2, len(first))


def star(rng, nodes):
    """Return one node joined to all others, which are a ring."""
    first, _ = edge_index(nodes)
    return (first == 0) * rng.uniform(0.5, 2, len(first)) + 0.5 * ring(rng, nodes)


def plane(rng, nodes):
    """Return points in a square, joined to neighbours the more the nearer they are."""
    first, second = edge_index(nodes)
    points = rng.random((nodes, 2))
    distance = np.linalg.norm(points[first] - points[second], axis=1)
    near = distance < np.sort(distance)[min(2 * nodes, len(distance) - 1)]
    return near * np.exp(-distance) * 2 + 0.2 * ring(rng, nodes)


def any_graph(rng, nodes):
    """Return a graph of some family, its nodes in any order."""
    families = ring, lattice, random_graph, small_world, tree, star, plane
    weights = families[rng.integers(len(families))](rng, nodes)
    size = n_nodes(len(weights))
    matrix = np.zeros((size, size))
    matrix[edge_index(size)] = weights
    order = rng.permutation(size)
    return (matrix + matrix.T)[np.ix_(order, order)][edge_index(size)]


def draw(rng, weights):
    return np.asarray(sample_lgmrf(weights, random_state=int(rng.integers(1 << 31))))


def remembered(steps, memory):
    """Return an autoregression with these steps (T, N) and one memory, or one for each node."""
    signals = steps.copy()
    for t in range(1, len(steps)):
        signals[t] = memory * signals[t - 1] + np.sqrt(1 - memory**2) * steps[t]
    return signals


def independent(rng):
    graph = any_graph(rng, int(rng.integers(5, 41)))
    return draw(rng, np.repeat(graph[None], SAMPLES, 0))


def one_graph(rng, memory, tails):
    signals = remembered(independent(rng), memory)
    return (
        signals if tails is None else signals / np.sqrt(rng.chisquare(tails, (SAMPLES, 1)) / tails)
    )


def own_memory(rng):
    steps = independent(rng)
    return remembered(steps, rng.uniform(0, 0.95, steps.shape[1]))


def trends(rng):
    """Return signals about a parabola and a sine of each node."""
    signals = independent(rng)
    time, nodes = np.linspace(-1, 1, SAMPLES)[:, None], signals.shape[1]
    season = np.sin(np.pi * SAMPLES / rng.choice([24, 96, 365]) * time + rng.uniform(0, 6, nodes))
    course = time * rng.normal(size=nodes) + time**2 * rng.normal(size=nodes) / 2
    return signals / signals.std(axis=0) + course + season * rng.uniform(0.3, 1.2, nodes)


def sensors(rng):
    signals = independent(rng)
    noise = rng.uniform(0.2, 1, signals.shape[1]) * rng.standard_normal(signals.shape)
    return signals / signals.std(axis=0) + noise


def volatile(rng):
    """Return signals whose common loudness follows a GARCH(1, 1) process."""
    shocks, variance = rng.standard_normal(SAMPLES), np.ones(SAMPLES)
    for t in range(1, SAMPLES):
        variance[t] = 0.05 + (0.1 * shocks[t - 1] ** 2 + 0.85) * variance[t - 1]
    return independent(rng) * np.sqrt(variance)[:, None]


def negative(rng):
    """Return signals with a memory of 0.5, half of whose partial correlations are negative."""
    nodes = int(rng.integers(5, 41))
    upper = np.triu((rng.random((nodes, nodes)) < 0.25) * rng.normal(0, 0.6, (nodes, nodes)), 1)
    weights = upper + upper.T
    precision = np.diag(np.abs(weights).sum(axis=0) + 0.3) - weights
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return remembered(rng.standard_normal((SAMPLES, nodes)) @ root.T, 0.5)


def several(rng, count, nodes):
    """Return graphs of any families, or random ones only."""
    if rng.random() < 0.5:
        return [random_graph(rng, nodes) for _ in range(count)]
    found = [any_graph(rng, nodes) for _ in range(count)]
    while len({len(graph) for graph in found}) > 1 or len(found[0]) != nodes * (nodes - 1) // 2:
        found = [any_graph(rng, nodes) for _ in range(count)]
    return found


def switching(rng, states):
    nodes, length = int(rng.integers(10, 31)), int(rng.integers(20, 201))
    atoms = np.array(several(rng, states, nodes))
    return draw(rng, atoms[visits(rng, states, length)])


def visits(rng, states, length):
    """Return the state (T,) of each sample, so many of which have the same; each occurs."""
    count = -(-SAMPLES // length)
    path = np.concatenate([np.arange(states), rng.integers(states, size=max(0, count - states))])
    return np.repeat(rng.permutation(path), length)[:SAMPLES]


def superposed(rng, length=None):
    length = int(rng.integers(20, 201)) if length is None else length
    nodes = int(rng.integers(10, 31))
    atoms = np.array([random_graph(rng, nodes, 0.2) for _ in range(3)])
    pairs = np.array([[k in pair for k in range(3)] for pair in combinations(range(3), 2)], float)
    return draw(rng, pairs[visits(rng, 3, length)] @ atoms)


KINDS = {
    "one graph, independent": (lambda rng: one_graph(rng, 0, None), 1),
    "one graph, AR 0.5": (lambda rng: one_graph(rng, 0.5, None), 1),
    "one graph, AR 0.9": (lambda rng: one_graph(rng, 0.9, None), 1),
    "one graph, Student t 4": (lambda rng: one_graph(rng, 0, 4), 1),
    "one graph, memory by node": (own_memory, 1),
    "one graph, trends and seasons": (trends, 1),
    "one graph, sensors with noise": (sensors, 1),
    "one graph, loudness that lasts": (volatile, 1),
    "one covariance, half negative": (negative, 1),
    "two switching graphs": (lambda rng: switching(rng, 2), 2),
    "three switching graphs": (lambda rng: switching(rng, 3), 3),
    "four switching graphs": (lambda rng: switching(rng, 4), 4),
    "two of three, for 20 to 200 samples": (superposed, 3),
    "two of three, drawn one by one": (lambda rng: superposed(rng, 1), 3),
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


def p_value(signals):
    """Return the share of surrogates whose covariance varies as much, of signals as read."""
    scaled = (signals - signals.mean(axis=0)) / signals.std(axis=0)
    statistics = surrogate_statistics(cut_blocks(scaled), SURROGATES)
    return float(np.mean(statistics >= statistics[0]))


def print_uniform(p_values):
    # one of 40 values: those of a uniform law, as far as 40 can be, are half a step lower
    test = kstest(np.array(p_values) - 0.5 / (SURROGATES + 1), "uniform")
    print(f"{len(p_values)} p-values with one graph: KS {test.statistic:.3f}, p {test.pvalue:.3f}")


def only_p_values(count, seed):
    p_values = []
    for place, (name, (make, truth)) in enumerate(KINDS.items()):
        rng = np.random.default_rng((seed, place))
        found_here = [p_value(make(rng)) for _ in range(count)] if truth == 1 else []
        if found_here:
            below = np.mean(np.array(found_here) <= PROBABLE)
            print(f"{name}: {below:.3f} of {count} p-values are at most {PROBABLE}", flush=True)
        p_values += found_here
    print_uniform(p_values)


def main_counts(count, seed, kinds):
    p_values = []
    for place, (name, (make, truth)) in enumerate(KINDS.items()):
        if kinds not in name:
            continue
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
    if p_values:
        print_uniform(p_values)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["p-values"]:
        count = int(given[1]) if len(given) > 1 else 50
        only_p_values(count, int(given[2]) if len(given) > 2 else 0)
    else:
        count = int(given[0]) if given else 25
        seed = int(given[1]) if len(given) > 1 else 0
        main_counts(count, seed, given[2] if len(given) > 2 else "")
