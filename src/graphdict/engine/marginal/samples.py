"""The samples of the marginal model, wherever they are: in memory, on disk, on a cluster.

A executor (:mod:`graphdict.engine.executor`) cuts them into parts of blocks and passes over them. What
the model learns from is the size of the dictionary and comes back as sums; what it says about
samples comes piece by piece (:mod:`graphdict.engine.marginal.passes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.missing import Filling
from graphdict.core.terms.coefficients import window_counts
from graphdict.engine import executor
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.cluster import ClusterSmoothness
from graphdict.engine.signals import has_gaps
from graphdict.engine.sources import ClusterRows, Prepared

__all__ = ["Block", "Data", "Samples", "open_data"]

LARGER = 4  # blocks than those of the solvers: what is done to them leaves the cache anyway


class Block(NamedTuple):
    """Signals (T, N), NaN where values are missing, and how many of them are in each window."""

    signals: NDArray
    counts: NDArray

    def by_window(self, values: NDArray) -> NDArray:
        """Sums of ``values`` (T, ...) over windows."""
        if len(self.counts) == len(values):
            return values
        starts = np.concatenate(([0], np.cumsum(self.counts)[:-1]))
        return np.add.reduceat(values, starts, axis=0)

    def by_sample(self, values: NDArray) -> NDArray:
        """Rows of ``values`` (windows, ...) repeated for each sample."""
        return values if len(self.counts) == len(self.signals) else values.repeat(self.counts, 0)


class Signals:
    """Some of the prepared signals, read when they are first asked for if they are not here."""

    def __init__(self, source: Any, rows: slice):
        self.source, self.rows = source, rows
        self.read_when_used = not isinstance(source, np.ndarray)

    @classmethod
    def all_of(cls, source: Any, counts: Any = None) -> Signals:
        return cls(source, slice(0, len(source)))

    @cached_property
    def array(self) -> NDArray:
        return self.source[self.rows]


class SignalsThere(ClusterSmoothness):
    """Signals on a cluster, of which each part holds its own as they are."""

    def term(self, samples: int) -> Callable[[NDArray, NDArray], Any]:
        return Signals.all_of


@dataclass(frozen=True)
class Samples:
    """Samples in windows, as a executor cuts them: ``rows`` are windows.

    Where they are only some of all, ``first`` says from which window on, and ``samples`` is T.
    """

    fit: Any
    counts: NDArray  # samples in each window
    size: int  # of all windows but the last
    gappy: bool = False
    filling: Filling | None = None
    samples: int | None = None
    first: int = 0

    @property
    def rows(self) -> int:
        return len(self.counts)

    @cached_property
    def total(self) -> int:
        return int(self.counts.sum()) if self.samples is None else self.samples

    @property
    def read_when_used(self) -> bool:
        """Whether parts of it are costly to keep."""
        return self.fit.read_when_used

    def part(self, rows: slice) -> Samples:
        """Some windows."""
        start = self.fit.rows.start
        inside = self._inside(rows)
        fit = Signals(self.fit.source, slice(start + inside.start, start + inside.stop))
        first = self.first + rows.start
        return replace(self, fit=fit, counts=self.counts[rows], samples=self.total, first=first)

    def block(self, rows: slice) -> Block:
        """Some windows with what was observed of them."""
        return Block(self.fit.array[self._inside(rows)], self.counts[rows])

    def complete(self, rows: slice) -> Block:
        """Some windows, what is missing filled in where nothing depends on it."""
        return Block(self._filled[self._inside(rows)], self.counts[rows])

    @cached_property
    def _filled(self) -> NDArray:
        if self.filling is None:
            return self.fit.array
        return self.filling.apply(self.fit.array, self.first * self.size)

    def _inside(self, rows: slice) -> slice:
        """The samples of some windows."""
        last = rows.stop - 1
        return slice(rows.start * self.size, last * self.size + int(self.counts[last]))


class Data(NamedTuple):
    """Samples, and the executor that passes over them."""

    samples: Samples
    executor: Any
    nodes: int
    dtype: Any
    nothing: Any  # a column without states
    in_one_block: bool

    @property
    def counts(self) -> NDArray:
        return self.samples.counts

    @property
    def total(self) -> int:
        """T, the number of samples."""
        return self.samples.total

    @property
    def windows(self) -> int:
        return self.samples.rows


@contextmanager
def open_data(
    signals: Any, window_size: int, patterns: int, rng: np.random.RandomState | None = None
) -> Iterator[Data]:
    """Prepared signals in windows, for a number of patterns; to learn from with ``rng``."""
    gappy = has_gaps(signals)
    filling = None if rng is None or not gappy else Filling.learn(signals, rng)
    counts = window_counts(len(signals), window_size)
    samples = Samples(_held(signals), counts, window_size, gappy, filling)
    nodes, dtype = signals.shape[1], signals.dtype
    bytes_per_row = window_size * nodes * dtype.itemsize + 16 * patterns
    if len(counts) * bytes_per_row < executor.SHARDS * executor.SHARD_BYTES:
        bytes_per_row = -(-bytes_per_row // LARGER)
    cut = executor.shard_rows(len(counts), bytes_per_row)
    alone = len(cut) == 1 and len(executor.block_rows(cut[0], bytes_per_row)) == 1
    with single_threaded_blas, executor.executor_of(samples, bytes_per_row) as runner:
        yield Data(samples, runner, nodes, dtype, runner.scatter(None), alone)


def _held(signals: Any) -> Any:
    if isinstance(signals, Prepared) and isinstance(signals.rows, ClusterRows):
        rows = signals.rows
        return SignalsThere(rows.array, rows.dtype, signals.preparation, None, rows.client)
    return Signals.all_of(signals)
