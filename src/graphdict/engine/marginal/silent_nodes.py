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

from graphdict.core.annotations import Booleans
from graphdict.engine.signals import each_block

SILENCE = 1e-6  # of the size of all values
APART = 0.01  # share of samples with silent nodes that is no chance
LOOKED_AT, ALIKE = 10_000, 0.05  # values of a block, and the share of repeats of rounded ones


def silent_nodes(signals: Any, scale: float, active: NDArray) -> Booleans | None:
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


def fall_apart(signals: Any) -> bool:
    """Return whether graphs of prepared signals (T, N) fall apart: some nodes are exactly silent.

    Where all nodes are silent in a sample, it says nothing of its graph, and does not count.
    """
    found = each_block(signals, _count_apart)
    samples, apart, rounded = (sum(counts) for counts in zip(*found, strict=True))
    return not rounded and apart > APART * samples


def _count_apart(signals: NDArray) -> tuple[int, int, bool]:
    """Return the size of a block, its samples with some silent nodes, and if it is rounded."""
    size = float(np.sqrt(np.nansum(np.square(signals, dtype=np.float64)) / signals.size))
    samples, (sample, _), rounded = _silent(signals, SILENCE * size)
    counts = np.bincount(sample, minlength=samples)
    return samples, int(((counts > 0) & (counts < signals.shape[1])).sum()), rounded


def _silent(signals: NDArray, limit: float) -> tuple[int, tuple[NDArray, ...], bool]:
    """Return the size of a block, indices of its silent samples and nodes, and if it is rounded."""
    quiet = np.abs(signals) <= limit
    some = signals[~quiet & ~np.isnan(signals)]
    some = some[:: -(-len(some) // LOOKED_AT) or 1]
    rounded = len(some) - len(np.unique(some)) > ALIKE * len(some)
    return len(signals), np.nonzero(quiet), rounded
