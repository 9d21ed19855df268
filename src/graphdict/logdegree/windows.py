"""What windows of samples say about edges: mean squared differences, and who is heard."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict import graphs
from graphdict.terms.coefficients import window_means

__all__ = ["even_counts", "heard_nodes", "window_distances"]

BLOCK_BYTES = 1 << 24


def window_distances(signals: NDArray, counts: NDArray) -> NDArray:
    """Mean over each of B windows of ``(x_i - x_j)^2``, (T, N) -> (B, E)."""
    edges = graphs.n_edges(signals.shape[1])
    distances = np.empty((len(counts), edges), dtype=signals.dtype)
    ends = np.cumsum(counts)
    size = max(1, BLOCK_BYTES // (int(counts.max()) * edges * signals.itemsize))
    for start in range(0, len(counts), size):
        windows = slice(start, start + size)
        rows = slice(ends[start] - counts[start], ends[windows][-1])
        squared = graphs.squared_differences(signals[rows])
        distances[windows] = window_means(squared, counts[windows])
    return distances


def heard_nodes(samples: NDArray, counts: NDArray) -> NDArray[np.bool_]:
    """Which nodes are not exactly zero throughout a window, (T, N) -> (B, N).

    Isolated nodes of a Gaussian field are: they have no edges, and would get some by force.
    """
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    return np.logical_or.reduceat(samples != 0, starts, axis=0)


def even_counts(samples: int, windows: int) -> NDArray[np.intp]:
    """Lengths of ``windows`` consecutive windows that differ by at most one."""
    return np.diff(samples * np.arange(windows + 1) // windows)
