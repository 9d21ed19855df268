"""Steps over samples on a Dask cluster: shards live on workers, sums travel.

A Dask array given to a model while a ``dask.distributed`` client is active is fitted where it is.
Shards of the problem stay on workers with their signals, in bundles of a few, so that there are
about as many tasks as threads; a step is a task for each bundle, from its last state to the next;
sums are added on workers, a few at a time, in the order in which
:class:`graphdict.engine.executor.ThreadExecutor` adds them. Steps are plain functions, so what a
lost worker held is computed again by Dask, from the last time that states were persisted with the
scheduler.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.likelihoods import Likelihood
from graphdict.core.protocols import BlockStates, CompiledRun, CompiledRunResult, identity
from graphdict.core.terms.signal_terms import keeps_distances
from graphdict.engine.backends import backend_of, name_of_backend
from graphdict.engine.connection import wait_for
from graphdict.engine.executor import (
    SUMS_AT_A_TIME,
    Shard,
    add_sums,
    add_tree,
    block_rows,
    map_blocks_of_shard,
    scan_shard,
    split_rows,
)
from graphdict.engine.signals import row_slices

NOTE_BYTES = 1 << 16  # messages up to this size go with every task, larger ones once to a worker
PERSIST_EVERY = 200  # steps after which states are kept where no lost worker can take them along
BUNDLES = 2  # for each thread of the cluster, so that work can move when workers come and go


def each_block(
    array: Any, client: Any, dtype: Any, function: Callable[..., Any], numbered: bool = False
) -> list[Any]:
    """Return ``function(block)`` of every block of a Dask array, called on its workers."""
    slices = row_slices(array)
    numbers = [[rows.start] if numbered else [] for rows in slices]
    blocks = client.compute([array[rows] for rows in slices])
    call = partial(_call, function, dtype)
    return wait_for(client.gather, client.map(call, blocks, numbers, pure=False))


class ClusterSmoothness:
    """The smoothness term of prepared signals on a cluster, which brings the executor there."""

    def __init__(self, signals: Any, gaps: Any = None, likelihood: Likelihood | None = None):
        self.array, self.client = signals.rows.array, signals.rows.client
        self.dtype, self.preparation, self.gaps = signals.dtype, signals.preparation, gaps
        self.likelihood = Likelihood() if likelihood is None else likelihood

    @property
    def stands_for(self) -> type | None:
        """The class of the terms of its shards, where rows are single samples."""
        return self.likelihood.signal_kind(single=True, gaps=self.gaps is not None)

    def term(self, samples: int) -> Callable[[NDArray[Any], NDArray[Any]], Any]:
        """Return a function of the signals and windows of a part that makes its term."""
        shape = (samples, int(self.preparation.active.sum()))
        keep = keeps_distances(shape, self.dtype)
        return partial(self.likelihood.signal_term, keep=keep, gaps=self.gaps)

    @contextmanager
    def executor(
        self, problem: Any, cut: list[slice], bytes_per_row: int
    ) -> Iterator[ClusterExecutor]:
        yield ClusterExecutor(self, problem, cut, bytes_per_row)


def bundle_size(parts: int, threads: int) -> int:
    """Return how many shards a task handles: halved until there are ``BUNDLES`` tasks a thread."""
    size = SUMS_AT_A_TIME
    while size > 1 and parts < BUNDLES * threads * size:
        size //= 2
    return size


class ClusterExecutor:
    """The executor of a cluster; states of a bundle of shards are a future of (states, sums).

    See :class:`graphdict.core.protocols.Executor` for what its methods do.
    """

    def __init__(
        self, signals: ClusterSmoothness, problem: Any, cut: list[slice], bytes_per_row: int
    ):
        self.client = signals.client
        self.cut, self.bytes_per_row = cut, bytes_per_row
        self.steps = 0
        self.problem = problem
        self.backend_name = name_of_backend(problem)
        threads = sum(self.client.nthreads().values())
        size = bundle_size(len(cut), threads)
        self.bundles = [cut[i : i + size] for i in range(0, len(cut), size)]
        windows = problem.rows < problem.total
        ends = np.cumsum(problem.counts) if windows else None
        template = replace(
            problem, signal_term=None, counts=np.ones(1, dtype=int), samples=problem.total
        )
        term = signals.term(problem.total)
        shared = self._hold([(template, signals.dtype, signals.preparation, term)])[0]
        samples = [[_samples(rows, ends) for rows in bundle] for bundle in self.bundles]
        arrays = [signals.array[some[0].start : some[-1].stop] for some in samples]
        layouts = [
            [
                (rows.start, own.start, block_rows(rows, bytes_per_row), own.stop - own.start,
                 problem.counts[rows] if windows else None)
                for rows, own in zip(bundle, some, strict=True)
            ]
            for bundle, some in zip(self.bundles, samples, strict=True)
        ]  # fmt: skip
        self.shards = self._map(_make_shards, layouts, self.client.compute(arrays), shared=shared)

    def map_blocks(
        self, step: Callable[..., Any], columns: Sequence[BlockStates], *message: Any
    ) -> Any:
        return self.map_shards(partial(map_blocks_of_shard, step), columns, *message)

    def map_shards(
        self, work: Callable[..., Any], columns: Sequence[BlockStates], *message: Any
    ) -> Any:
        self.steps += 1
        pairs = self._pairs(work, columns, message)
        size = len(self.bundles[0])
        sums = self._map(_sums, pairs, together=size == SUMS_AT_A_TIME)
        if 1 < SUMS_AT_A_TIME // size < len(sums):
            sums = self._added(sums, SUMS_AT_A_TIME // size)
        while len(sums) > SUMS_AT_A_TIME:
            sums = self._added(sums, SUMS_AT_A_TIME)
        found = wait_for(self.client.gather, sums)
        return BlockStates(pairs), add_tree([one for some in found for one in some])

    def scan(
        self,
        step: Callable[..., Any],
        columns: Sequence[BlockStates],
        carried: Any,
        *message: Any,
        reverse: bool = False,
    ) -> BlockStates:
        note = self._note(partial(scan_shard, step), message)
        found = BlockStates([None] * len(self.shards))
        order = range(len(self.shards))[:: -1 if reverse else 1]
        before: Any = ([], carried)
        for index in order:
            states = [[column[index]] for column in columns]
            final = index == order[-1]
            before = self._map(
                _scan, [self.shards[index]], [before], *states, note=note, reverse=reverse,
                final=final,
            )[0]  # fmt: skip
            found[index] = before
        return found

    def iter_shards(
        self, work: Callable[..., Any], *message: Any, columns: Sequence[BlockStates] = ()
    ) -> Iterator[tuple[NDArray[Any], tuple]]:
        for pair in self._pairs(work, columns, message):
            for states, sums in zip(*wait_for(pair.result), strict=True):
                yield np.concatenate(states), sums

    def scatter(self, array: NDArray[Any] | BlockStates | None) -> BlockStates:
        if isinstance(array, BlockStates):
            return array
        return self._hold(
            [
                ([split_rows(array, rows, self.bytes_per_row) for rows in bundle], [])
                for bundle in self.bundles
            ]
        )

    def gather(
        self, states: BlockStates, read: Callable[[Any], NDArray[Any]] = identity
    ) -> NDArray[Any]:
        return np.concatenate(wait_for(self.client.gather, self._map(_join, states, read=read)))

    def persist(self, *columns: BlockStates) -> tuple[BlockStates, ...]:
        """Keep states with the scheduler now and then, so that little is computed again."""
        if self.steps < PERSIST_EVERY:
            return columns
        self.steps = 0
        return tuple(self._hold(wait_for(self.client.gather, list(states))) for states in columns)

    def iterate(self, states: BlockStates, run: CompiledRun) -> CompiledRunResult | None:
        return None  # sums travel after every iteration

    def _pairs(self, work: Any, columns: Sequence[BlockStates], message: tuple) -> list[Any]:
        return self._map(_run, self.shards, *columns, note=self._note(work, message))

    def _note(self, work: Any, message: tuple) -> Any:
        """Return work and message as tasks get them: the values, or one copy for each worker."""
        size = sum(getattr(x, "nbytes", 0) for x in _inside(message))
        return self._hold([(work, message)])[0] if size > NOTE_BYTES else (work, message)

    def _added(self, sums: list[Any], together: int) -> list[Any]:
        return self._map(_add, [sums[i : i + together] for i in range(0, len(sums), together)])

    def _map(self, function: Callable[..., Any], *arguments: Any, **same: Any) -> list[Any]:
        return wait_for(self.client.map, function, *arguments, pure=False, **same)

    def _hold(self, values: list[Any]) -> BlockStates:
        """Return values as tasks, which the scheduler can run again on any worker."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return BlockStates(self._map(_identity, values))


def _inside(message: Any) -> list[Any]:
    """Return all values in a message, those in its tuples included."""
    if not isinstance(message, tuple):
        return [message]
    return [item for part in message for item in _inside(part)]


def _samples(rows: slice, ends: NDArray[Any] | None) -> slice:
    """Return the samples of some rows, which may be windows that end at ``ends``."""
    if ends is None:
        return rows
    return slice(int(ends[rows.start - 1]) if rows.start else 0, int(ends[rows.stop - 1]))


# On workers -----------------------------------------------------------------------------------


def _identity(value: Any) -> Any:
    return value


def _call(function: Callable[..., Any], dtype: Any, block: NDArray[Any], numbers: list[int]) -> Any:
    return function(*numbers, np.ascontiguousarray(block, dtype=dtype))


def _make_shards(layouts: list[tuple], array: NDArray[Any], shared: Any) -> list[Shard]:
    """Return the shards of a bundle, from where each begins and how it is cut into blocks."""
    template, dtype, preparation, term = shared
    made, end = [], 0
    for first, first_sample, blocks, samples, counts in layouts:
        own, end = array[end : end + samples], end + samples
        signals = preparation.apply(np.ascontiguousarray(own, dtype=dtype))
        if counts is None:
            counts = np.broadcast_to(np.intp(1), samples)
        offsets = {"first": first}
        if hasattr(template, "first_sample"):
            offsets["first_sample"] = first_sample
        problem = replace(template, signal_term=term(signals, counts), counts=counts, **offsets)
        made.append(Shard(backend_of(problem), blocks))
    return made


def _run(shards: list[Shard], *columns: Any, note: Any) -> tuple[list[Any], list[Any]]:
    """Return states and sums of a step, for each shard of a bundle."""
    work, message = note
    found = [
        work(shard, [states[index] for states, _ in columns], *message)
        for index, shard in enumerate(shards)
    ]
    return [states for states, _ in found], [sums for _, sums in found]


def _scan(
    shards: list[Shard], before: Any, *columns: Any, note: Any, reverse: bool, final: bool
) -> tuple[list[Any], Any]:
    """Return what comes into each block of a bundle, and what leaves it."""
    work, message = note
    entering: list[Any] = [None] * len(shards)
    order = range(len(shards))[:: -1 if reverse else 1]
    carried = before[1]
    for index in order:
        states = [states[index] for states, _ in columns]
        last = final and index == order[-1]
        entering[index], carried = work(
            shards[index], states, carried, *message, reverse=reverse, final=last
        )
    return entering, carried


def _sums(pair: tuple[list[Any], list[Any]], together: bool) -> list[Any]:
    """Return the sums of each shard of a bundle; added up, in a list of one, if ``together``."""
    return [add_sums(pair[1])] if together else pair[1]


def _add(sums: list[list[Any]]) -> list[Any]:
    return [add_sums([one for some in sums for one in some])]


def _join(pair: Any, read: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([read(state) for part in pair[0] for state in part])
