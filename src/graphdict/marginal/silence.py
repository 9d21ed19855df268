"""Nodes that are silent in a sample: whatever their edges were, there they have none.

On a graph that falls apart an isolated node has no variance at all. A graph that drifts is learned
from stretches of time, which are longer than such a silence; but the sample itself tells of it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.signals import each_block

__all__ = ["silent_nodes"]


def silent_nodes(signals: Any, noise: float, active: NDArray) -> NDArray[np.bool_] | None:
    """Which nodes (T, N) are silent in which samples; None where none is.

    ``signals`` are prepared, those of the ``active`` nodes (N,) only, and may be read block by
    block; ``noise`` is the variance of silence. A missing value is not silent.
    """
    heard = each_block(signals, partial(_silent, noise=noise))
    if not any(len(node) for _, _, node in heard):
        return None
    silent = np.zeros((len(signals), len(active)), dtype=bool)
    names = np.flatnonzero(active)
    start = 0
    for samples, sample, node in heard:
        silent[start + sample, names[node]] = True
        start += samples
    return silent


def _silent(signals: NDArray, noise: float) -> tuple[int, NDArray, NDArray]:
    """Samples in a block, and which nodes are silent where: few, so that little is kept."""
    sample, node = np.nonzero(np.square(signals, dtype=np.float64) <= noise)
    return len(signals), sample, node
