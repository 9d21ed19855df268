"""The signals of the marginal model, wherever they are: in memory, on disk, on a cluster.

An executor (:mod:`graphdict.engine.executor`) cuts them into shards of blocks and passes over them.
What the model learns from is the size of the dictionary and comes back as sums
(:mod:`graphdict.engine.marginal.passes`); what it returns for each sample comes piece by piece
(:mod:`graphdict.engine.marginal.sample_values`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.imputation import Imputer
from graphdict.core.marginal.protocols import SignalBlock
from graphdict.core.protocols import BlockStates, Executor
from graphdict.core.recordings import Recordings
from graphdict.engine import executor
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.cluster import ClusterSmoothness
from graphdict.engine.signals import has_gaps
from graphdict.engine.sources import ClusterRows, Prepared

LARGER = 4  # blocks than those of the solvers: what is done to them leaves the cache anyway


class SignalRows:
    """Consecutive rows of prepared signals, read when first asked for if they are on disk."""

    def __init__(self, source: Any, rows: slice):
        self.source, self.rows = source, rows
        self.read_when_used = not isinstance(source, np.ndarray)

    @classmethod
    def all_of(cls, source: Any, counts: Any = None) -> SignalRows:
        """Return all rows of a source."""
        return cls(source, slice(0, len(source)))

    @cached_property
    def array(self) -> NDArray:
        """The signals (T, N)."""
        return self.source[self.rows]


class ClusterSignals(ClusterSmoothness):
    """Signals on a cluster; each shard there holds its own as :class:`SignalRows`."""

    def term(self, samples: int) -> Callable[[NDArray, NDArray], Any]:
        return SignalRows.all_of


@dataclass(frozen=True)
class WindowedSignals:
    """Signals in windows, as an executor cuts them: its ``rows`` are windows.

    It stands where solvers have a problem and its backend. Of a shard, ``first`` and
    ``first_sample`` are the numbers of its first window and sample, and ``samples`` the number T of
    all samples.
    """

    signal_term: Any  # SignalRows or ClusterSignals
    counts: NDArray  # (windows,) number of samples in each
    starts: NDArray  # first window of each piece of the recordings, counted among all
    has_missing: bool = False
    imputer: Imputer | None = None
    samples: int | None = None
    first: int = 0
    first_sample: int = 0

    @property
    def rows(self) -> int:
        """Number of windows."""
        return len(self.counts)

    @cached_property
    def total(self) -> int:
        """Number T of all samples."""
        return int(self.counts.sum()) if self.samples is None else self.samples

    @property
    def read_when_used(self) -> bool:
        """Whether shards are to be read again in every pass."""
        return self.signal_term.read_when_used

    def part(self, rows: slice) -> WindowedSignals:
        """Return some windows, as a shard."""
        start = self.signal_term.rows.start
        own = self.sample_rows(rows)
        term = SignalRows(self.signal_term.source, slice(start + own.start, start + own.stop))
        place = {"first": self.first + rows.start, "first_sample": self.first_sample + own.start}
        return replace(
            self, signal_term=term, counts=self.counts[rows], samples=self.total, **place
        )

    def starts_in(self, rows: slice) -> list[int]:
        """Return at which of some windows, counted from the first of them, a recording begins."""
        first = self.first + rows.start
        ends = np.searchsorted(self.starts, (first, self.first + rows.stop))
        return [int(start) - first for start in self.starts[slice(*ends)]]

    def sample_starts_in(self, rows: slice) -> list[int]:
        """Return the same in samples, counted from the first of these windows."""
        own = self.sample_rows(rows).start
        return [
            self.sample_rows(slice(rows.start + start, rows.stop)).start - own
            for start in self.starts_in(rows)
        ]

    def block(self, rows: slice) -> SignalBlock:
        """Return some windows as they were observed."""
        return SignalBlock(self.signal_term.array[self.sample_rows(rows)], self.counts[rows], {})

    def imputed_block(self, rows: slice) -> SignalBlock:
        """Return some windows, missing values imputed where there is an imputer."""
        return SignalBlock(self._imputed[self.sample_rows(rows)], self.counts[rows])

    @cached_property
    def _imputed(self) -> NDArray:
        if self.imputer is None:
            return self.signal_term.array
        return self.imputer.impute(self.signal_term.array, self.first_sample)

    @cached_property
    def _ends(self) -> NDArray | None:
        """After which sample each window ends; None where windows are single samples."""
        return None if self.counts.strides == (0,) else np.cumsum(self.counts)

    def sample_rows(self, rows: slice) -> slice:
        """Return the samples of some windows, counted from the first of the shard."""
        if self._ends is None:
            return rows
        first = int(self._ends[rows.start] - self.counts[rows.start])
        return slice(first, int(self._ends[rows.stop - 1]))


class OpenSignals(NamedTuple):
    """Signals in windows with the executor that passes over them."""

    windowed: WindowedSignals
    executor: Executor
    nodes: int
    dtype: Any
    empty_states: BlockStates  # None for every block
    in_one_block: bool

    @property
    def counts(self) -> NDArray:
        """Number of samples in each window (windows,)."""
        return self.windowed.counts

    @property
    def total(self) -> int:
        """Number T of samples."""
        return self.windowed.total

    @property
    def windows(self) -> int:
        """Number of windows."""
        return self.windowed.rows

    @property
    def lasting(self) -> bool:
        """Whether states last over windows of several samples."""
        return self.windows < self.total

    @property
    def chains(self) -> int:
        """Number of pieces of the recordings that nothing crosses the ends of."""
        return len(self.windowed.starts)


@contextmanager
def open_signals(
    signals: Any,
    window_size: int,
    patterns: int,
    rng: np.random.RandomState | None = None,
    *,
    recordings: Recordings | None = None,
) -> Iterator[OpenSignals]:
    """Open prepared signals (T, N) for passes over ``patterns`` patterns; give ``rng`` to learn.

    ``rng`` imputes missing values for what need not be exact. Signals are of one recording, unless
    ``recordings`` says otherwise.
    """
    missing = has_gaps(signals)
    imputer = None if rng is None or not missing else Imputer.learn(signals, rng)
    recordings = recordings or Recordings.single(len(signals))
    counts, starts = recordings.window_counts(window_size), recordings.window_starts(window_size)
    windowed = WindowedSignals(_signal_rows(signals), counts, starts, missing, imputer)
    nodes, dtype = signals.shape[1], signals.dtype
    bytes_per_row = window_size * nodes * dtype.itemsize + 16 * patterns
    if len(counts) * bytes_per_row < executor.SHARDS * executor.SHARD_BYTES:
        bytes_per_row = -(-bytes_per_row // LARGER)
    cut = executor.shard_rows(len(counts), bytes_per_row)
    alone = len(cut) == 1 and len(executor.block_rows(cut[0], bytes_per_row)) == 1
    with (
        single_threaded_blas,
        executor.open_executor(windowed, bytes_per_row=bytes_per_row) as runner,
    ):
        yield OpenSignals(
            windowed, runner, nodes=nodes, dtype=dtype, empty_states=runner.scatter(None),
            in_one_block=alone,
        )  # fmt: skip


def _signal_rows(signals: Any) -> SignalRows | ClusterSignals:
    if isinstance(signals, Prepared) and isinstance(signals.rows, ClusterRows):
        return ClusterSignals(signals)
    return SignalRows.all_of(signals)
