"""Consecutive windows of samples: how long they are, and which nodes are heard in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs

__all__ = ["edges_between", "even_counts", "heard_nodes", "with_company", "without_rounding"]

NOTHING = 1e-30  # a squared difference so far below the largest is lost in its rounding


def heard_nodes(samples: NDArray, counts: NDArray) -> NDArray[np.bool_]:
    """Which nodes are not exactly zero throughout a window, (T, N) -> (B, N).

    Isolated nodes of a Gaussian field are: they have no edges, and would get some by force. A node
    that was not observed throughout counts as heard.
    """
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    seen = ~np.isnan(samples)
    heard = np.logical_or.reduceat(seen & (samples != 0), starts, axis=0)
    return heard | ~np.logical_or.reduceat(seen, starts, axis=0)


def without_rounding(costs: NDArray) -> NDArray:
    """Costs (B, E) in which what cannot be told from zero beside the largest is zero."""
    return np.where(costs > NOTHING * costs.max(), costs, 0)


def with_company(active: NDArray) -> NDArray[np.bool_]:
    """The active nodes (B, N) without those that are alone: they have nobody to be joined to."""
    return active & (active.sum(axis=1, keepdims=True) > 1)


def edges_between(active: NDArray) -> NDArray[np.bool_]:
    """The edges (B, E) whose two nodes are active (B, N)."""
    rows, cols = graphs.edge_index(active.shape[1])
    return active[:, rows] & active[:, cols]


def even_counts(samples: int, windows: int) -> NDArray[np.intp]:
    """Lengths of ``windows`` consecutive windows that differ by at most one."""
    return np.diff(samples * np.arange(windows + 1) // windows)
