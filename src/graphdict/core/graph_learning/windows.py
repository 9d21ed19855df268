"""Windows of consecutive samples: their lengths, active nodes and edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers

ROUNDING = 1e-30  # relative to the largest squared difference, below which others are rounding


def active_nodes(samples: Floats, counts: Integers) -> Booleans:
    """Return the nodes (B, N) that are not silent (exactly zero) throughout each window.

    Silent nodes are isolated nodes of a Gaussian field; a log barrier would force edges on them. A
    node without any observed value in a window counts as not silent. ``samples`` are (T, N),
    ``counts`` (B,) the lengths of the windows.
    """
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    observed = ~np.isnan(samples)
    nonzero = np.logical_or.reduceat(observed & (samples != 0), starts, axis=0)
    return nonzero | ~np.logical_or.reduceat(observed, starts, axis=0)


def without_rounding(costs: Floats) -> Floats:
    """Return costs (B, E) with those set to zero that are rounding errors of the largest."""
    return np.where(costs > ROUNDING * costs.max(), costs, 0)


def without_single_nodes(active: Booleans) -> Booleans:
    """Return the active nodes (B, N), none where only one is active, since it can have no edge."""
    return active & (active.sum(axis=1, keepdims=True) > 1)


def edges_between(active: Booleans) -> Booleans:
    """Return the edges (B, E) whose two nodes are active (B, N)."""
    rows, cols = graphs.edge_index(active.shape[1])
    return active[:, rows] & active[:, cols]


def dense_graphs(costs: Floats, active: Booleans) -> Floats:
    """Return graphs (B, E) with all edges between active nodes (B, N), connected for certain.

    Weights are in inverse proportion to costs (B, E), such that the energy of a graph is that of an
    optimal one without ridge. Costs count as a thousandth of the mean of their graph at least, or
    of the mean of all where that is nothing.
    """
    edges = edges_between(active)
    means = costs.mean(axis=1, keepdims=True)
    typical = np.where(means > ROUNDING * means.mean(), means, means.mean() or 1.0)
    freedom = np.maximum(active.sum(axis=1, keepdims=True) - 1, 1)
    share = freedom / np.maximum(edges.sum(axis=1, keepdims=True), 1)
    return share * edges / np.maximum(costs, 1e-3 * typical)


def connected_graphs(
    weights: Floats, objective: Callable[[Floats], float], costs: Floats, active: Booleans
) -> Floats:
    """Return graphs (B, E) whose objective is finite: those given, or with all edges mixed in.

    Iterations that stop early may leave graphs of which some node has no edge. ``costs`` are what
    keeps weights from growing, as in `dense_graphs`; of ten shares of dense graphs, from a
    billionth to all, the one with the least objective is taken.
    """
    if np.isfinite(objective(weights)):
        return weights
    dense = dense_graphs(costs, active)
    points = [(1 - share) * weights + share * dense for share in np.logspace(-9, 0, 10)]
    return min(points, key=objective)


def even_counts(samples: int, windows: int) -> Integers:
    """Return the lengths of ``windows`` consecutive windows, which differ by at most one."""
    return np.diff(samples * np.arange(windows + 1) // windows)
