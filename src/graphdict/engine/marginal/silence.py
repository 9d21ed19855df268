"""Nodes that are silent in a sample: whatever their edges were, there they have none.

On a graph that falls apart an isolated node has no variance at all: its signal is exactly the level
that the graph cannot see, the mean over nodes. A graph that drifts is learned from stretches of
time, which are longer than such a silence; but the sample itself tells of it. Where values are
rounded to a few levels, being exactly there says nothing, and no node is called silent.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.engine.signals import each_block

__all__ = ["silent_nodes"]


SILENCE = 1e-6  # of the size of all values
LOOKED_AT, ALIKE = 10_000, 0.05  # share of some values of a block that occur again


def silent_nodes(signals: Any, scale: float, active: NDArray) -> NDArray[np.bool_] | None:
    """Which nodes (T, N) are silent in which samples; None where none is.

    ``signals`` are prepared, those of the ``active`` nodes (N,) only, and may be read block by
    block; ``scale`` is the size of their values. A missing value is not silent.
    """
    heard = each_block(signals, partial(_silent, limit=SILENCE * scale))
    rounded = any(alike for _, _, alike in heard)
    if rounded or not any(len(node) for _, (_, node), _ in heard):
        return None
    silent = np.zeros((len(signals), len(active)), dtype=bool)
    names = np.flatnonzero(active)
    start = 0
    for samples, (sample, node), _ in heard:
        silent[start + sample, names[node]] = True
        start += samples
    return silent


def _silent(signals: NDArray, limit: float) -> tuple[int, tuple[NDArray, ...], bool]:
    """Samples in a block, which nodes are silent where, and whether other values occur again."""
    quiet = np.abs(signals) <= limit
    some = signals[~quiet & ~np.isnan(signals)]
    some = some[:: -(-len(some) // LOOKED_AT) or 1]
    alike = len(some) - len(np.unique(some)) > ALIKE * len(some)
    return len(signals), np.nonzero(quiet), alike
