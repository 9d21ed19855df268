"""A subsample for the search among starts, where there are more samples than it needs.

What a search finds out, which of some starts leads to the best optimum, a few thousand samples say
as well as millions; the fit is finished on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.core.recordings import Recordings
from graphdict.engine.marginal.samples import OpenSignals, open_signals

# Given patterns (C, K) and a factor, opens that factor times the samples that a search for their
# atoms needs.
SubsetOpener = Callable[[NDArray, int], AbstractContextManager[OpenSignals]]

LEAST, PER_ATOM_AND_NODE, WINDOWS = 5_000, 50, 500  # samples, samples and windows that suffice
SEVERAL = 4  # times as many where several atoms may be active, which is harder to disentangle
LEAST_SEGMENTS, MOST_SEGMENTS = 25, 200  # spread evenly over time, and over recordings
WORTH_IT = 2  # times what suffices: from so many samples on there is something to gain


def enough_samples(patterns: NDArray, nodes: int, window_size: int) -> int:
    """Return how many samples suffice to search for atoms that make up ``patterns`` (C, K)."""
    alone = pattern_sizes(patterns).max() == 1
    needed = max(LEAST, PER_ATOM_AND_NODE * patterns.shape[1] * nodes, WINDOWS * window_size)
    return int(needed if alone else SEVERAL * needed)


class Segments(NamedTuple):
    """Segments of samples, one after the other; each is a recording of its own, or several."""

    signals: NDArray  # (rows, N)
    recordings: Recordings

    @classmethod
    def of(cls, signals: Any, recordings: Recordings, rows: list[slice]) -> Segments:
        """Return some slices of all samples."""
        return cls(np.concatenate([signals[each] for each in rows]), recordings.cut(rows))

    def open(
        self, window_size: int, patterns: int, rng: np.random.RandomState | None = None
    ) -> AbstractContextManager[OpenSignals]:
        """Open them for passes (see :func:`open_signals`)."""
        return open_signals(self.signals, window_size, patterns, rng, recordings=self.recordings)


def whole_windows(recordings: Recordings, window: int) -> int:
    """Return how many windows of full length there are."""
    return int((recordings.piece_lengths // window).sum())


def cut_segments(recordings: Recordings, window: int, count: int, longest: int) -> list[slice]:
    """Return the samples of ``count`` segments of whole windows, evenly spread over all.

    ``longest`` is the largest number of windows of a segment. A shorter window at the end of the
    only recording is left out.
    """
    ends = np.concatenate(([0], np.cumsum(recordings.window_counts(window))))
    if len(recordings.piece_lengths) == 1:
        ends = ends[: whole_windows(recordings, window) + 1]
    edges = np.linspace(0, len(ends) - 1, count + 1).astype(int)
    return [slice(int(ends[a]), int(ends[min(b, a + longest)])) for a, b in pairwise(edges)]


def take_segments(signals: Any, recordings: Recordings, window_size: int, samples: int) -> Segments:
    """Return about ``samples`` samples: segments of whole windows, evenly spread over all."""
    # Of many recordings, some of each.
    count = max(LEAST_SEGMENTS, min(len(recordings), MOST_SEGMENTS))
    longest = max(1, samples // (count * window_size))
    return Segments.of(signals, recordings, cut_segments(recordings, window_size, count, longest))


@contextmanager
def open_subset(
    data: OpenSignals,
    patterns: NDArray,
    times: int = 1,
    *,
    signals: Any,
    recordings: Recordings,
    window_size: int,
    rng: np.random.RandomState,
) -> Iterator[OpenSignals]:
    """Open a subsample of the signals (T, N) for a search, or ``data``, all of them, if few.

    The search is for the atoms of ``patterns`` (C, K); it gets ``times`` the samples it needs.
    """
    enough = times * enough_samples(patterns, signals.shape[1], window_size)
    if len(signals) < WORTH_IT * enough:
        yield data
        return
    some = take_segments(signals, recordings, window_size, enough)
    with some.open(window_size, len(patterns), rng) as opened:
        yield opened
