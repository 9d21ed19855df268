"""Sums over windows of consecutive samples, wherever the samples are.

Signals in memory, on disk and on a cluster are read in the same blocks; each gives the sums of the
windows that it has a part of, and these are added in one order. The result does not depend on where
the signals are. Of several recordings, ``counts`` are the lengths of the B windows of the first, of
the second, and so on, and windows of the same number are added.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.core.terms.missing import Gaps
from graphdict.engine.signals import each_block, has_gaps

PAIR_BYTES = 1 << 22  # of squared differences that are formed at a time

Measure = Callable[[Floats], tuple[Floats, ...]]


def active_windows(samples: Any, counts: Integers, recordings: int = 1) -> Booleans:
    """Return the nodes (B, N) that are not silent (exactly zero) throughout each window.

    As :func:`graphdict.core.graph_learning.windows.active_nodes`, of samples (T, N) as given.
    """
    nonzero, observed = _sums(samples, counts, _presence, recordings)
    return (nonzero > 0) | (observed == 0)


def mean_distances(signals: Any, counts: Integers, recordings: int = 1) -> Floats:
    """Return means (B, E) of ``(x_i - x_j)^2`` over each window; gaps are made up for.

    See :mod:`graphdict.core.terms.missing` for how.
    """
    if not has_gaps(signals):
        (sums,) = _sums(signals, counts, _distances, recordings)
        return sums / counts.reshape(recordings, -1).sum(axis=0)[:, None]
    sums, number = _sums(signals, counts, _observed_distances, recordings)
    means, seen = sums / np.maximum(number, 1), (number > 0).astype(np.float64)
    return Gaps.of_windows(means, seen).fill(means, seen)


def distance_sums(signals: Any, counts: Integers, gaps: Gaps | None, recordings: int = 1) -> Floats:
    """Return sums (B, E) over each window of the squared differences of its samples.

    ``gaps`` says how observed pairs of a sample stand for all, where values are missing.
    """
    measure = _distances if gaps is None else partial(_filled_distances, gaps)
    return _sums(signals, counts, measure, recordings)[0]


def _sums(signals: Any, counts: Integers, measure: Measure, recordings: int) -> list[Floats]:
    """Return sums (B, M) over windows of the arrays (T, M) that ``measure`` returns."""
    ends = np.cumsum(counts)
    totals: list[Floats] = []
    for pieces in each_block(signals, partial(_sums_of_block, ends, measure), numbered=True):
        for first, sums in pieces:
            if not totals:
                totals = [np.zeros((len(counts), array.shape[1])) for array in sums]
            for total, some in zip(totals, sums, strict=True):
                total[first : first + len(some)] += some
    return [total.reshape(recordings, -1, total.shape[1]).sum(axis=0) for total in totals]


def _sums_of_block(
    ends: Integers, measure: Measure, start: int, block: Floats
) -> list[tuple[int, list[Floats]]]:
    """Return the sums of some windows and the number of the first, for parts of a block."""
    size = max(1, PAIR_BYTES // (8 * max(1, graphs.n_edges(block.shape[1]))))
    found: list[tuple[int, list[Floats]]] = []
    for low in range(0, len(block), size):
        some = block[low : low + size]
        row = start + low
        first, last = np.searchsorted(ends, (row, row + len(some) - 1), side="right")
        begins = np.concatenate(([0], ends[first:last] - row))
        sums = [np.add.reduceat(each, begins, axis=0, dtype=np.float64) for each in measure(some)]
        if found and found[-1][0] == first and first == last:  # of one window, like those before
            for total, own in zip(found[-1][1], sums, strict=True):
                total += own
        else:
            found.append((int(first), sums))
    return found


def _presence(block: Floats) -> tuple[Floats, ...]:
    observed = ~np.isnan(block)
    return observed & (block != 0), observed


def _distances(block: Floats) -> tuple[Floats, ...]:
    return (graphs.squared_differences(block),)


def _observed_distances(block: Floats) -> tuple[Floats, ...]:
    squares = graphs.squared_differences(block.astype(np.float64))
    seen = np.isfinite(squares)
    return np.where(seen, squares, 0), seen


def _filled_distances(gaps: Gaps, block: Floats) -> tuple[Floats, ...]:
    return (gaps.distances(block, np.ones(len(block), dtype=np.intp)),)
