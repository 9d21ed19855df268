"""Nodes that are silent in single samples, in which they have no edges.

On a disconnected graph an isolated node has no variance at all: its signal is exactly the mean over
nodes. A graph that changes slowly is learned from intervals of time that are longer than such a
silence, but the sample itself shows it. Where values are rounded to a few levels, many are equal to
the mean by chance, and no node is called silent.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.engine.signals import each_block

__all__ = ["silent_nodes"]


SILENCE = 1e-6  # of the size of all values
LOOKED_AT, ALIKE = 10_000, 0.05  # values of a block, and the share of repeats of rounded ones


def silent_nodes(signals: Any, scale: float, active: NDArray) -> NDArray[np.bool_] | None:
    """Return which nodes are silent in which samples (T, N); None where none is.

    ``signals`` are prepared, those of the ``active`` nodes (N,) only, and may be read block by
    block; ``scale`` is the size of their values. A missing value is not silent.
    """
    found = each_block(signals, partial(_silent, limit=SILENCE * scale))
    any_rounded = any(rounded for _, _, rounded in found)
    if any_rounded or not any(len(node) for _, (_, node), _ in found):
        return None
    silent = np.zeros((len(signals), len(active)), dtype=bool)
    names = np.flatnonzero(active)
    start = 0
    for samples, (sample, node), _ in found:
        silent[start + sample, names[node]] = True
        start += samples
    return silent


def _silent(signals: NDArray, limit: float) -> tuple[int, tuple[NDArray, ...], bool]:
    """Return the size of a block, indices of its silent samples and nodes, and if it is rounded."""
    quiet = np.abs(signals) <= limit
    some = signals[~quiet & ~np.isnan(signals)]
    some = some[:: -(-len(some) // LOOKED_AT) or 1]
    rounded = len(some) - len(np.unique(some)) > ALIKE * len(some)
    return len(signals), np.nonzero(quiet), rounded
