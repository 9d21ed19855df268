"""Some of the samples, where there are so many that the search among starts needs but a part.

What a search finds out, which of some starts leads to the best optimum, a few thousand samples say
as well as millions; the fit is finished on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.engine.marginal.samples import OpenSignals, open_signals

__all__ = ["OpenSome", "enough_samples", "open_subset", "take_blocks"]

# Opens as many signals as suffice to search for atoms that make up patterns (C, K).
OpenSome = Callable[[NDArray], AbstractContextManager[OpenSignals]]

LEAST, PER_ATOM_AND_NODE, WINDOWS = 5_000, 50, 500  # samples, samples and windows that suffice
SEVERAL = 4  # times as many where several atoms may be active, which is harder to disentangle
BLOCKS = 25  # spread evenly over time
WORTH_IT = 2  # times what suffices: from so many samples on there is something to gain


def enough_samples(patterns: NDArray, nodes: int, window_size: int) -> int:
    """Return how many samples suffice to search for atoms that make up ``patterns`` (C, K)."""
    alone = pattern_sizes(patterns).max() == 1
    needed = max(LEAST, PER_ATOM_AND_NODE * patterns.shape[1] * nodes, WINDOWS * window_size)
    return int(needed if alone else SEVERAL * needed)


def take_blocks(signals: Any, window_size: int, samples: int) -> NDArray:
    """Return about so many samples (rows, N): blocks of whole windows, evenly spread over time."""
    edges = np.linspace(0, len(signals) // window_size, BLOCKS + 1).astype(int) * window_size
    length = max(1, samples // (BLOCKS * window_size)) * window_size
    return np.concatenate([signals[a : min(b, a + length)] for a, b in pairwise(edges)])


@contextmanager
def open_subset(
    signals: Any,
    window_size: int,
    rng: np.random.RandomState,
    data: OpenSignals,
    patterns: NDArray,
) -> Iterator[OpenSignals]:
    """Open as many of the signals (T, N) as a search needs; ``data``, all of them, if few.

    The search is for atoms that make up ``patterns`` (C, K).
    """
    enough = enough_samples(patterns, signals.shape[1], window_size)
    if len(signals) < WORTH_IT * enough:
        yield data
        return
    some = take_blocks(signals, window_size, enough)
    with open_signals(some, window_size, len(patterns), rng) as opened:
        yield opened
