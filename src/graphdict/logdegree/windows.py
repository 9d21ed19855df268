"""Consecutive windows of samples: how long they are, and which nodes are heard in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["even_counts", "heard_nodes"]


def heard_nodes(samples: NDArray, counts: NDArray) -> NDArray[np.bool_]:
    """Which nodes are not exactly zero throughout a window, (T, N) -> (B, N).

    Isolated nodes of a Gaussian field are: they have no edges, and would get some by force.
    """
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    return np.logical_or.reduceat(samples != 0, starts, axis=0)


def even_counts(samples: int, windows: int) -> NDArray[np.intp]:
    """Lengths of ``windows`` consecutive windows that differ by at most one."""
    return np.diff(samples * np.arange(windows + 1) // windows)
