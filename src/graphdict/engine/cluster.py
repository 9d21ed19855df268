"""The passes of the solvers on a Dask cluster: parts live on workers, sums travel.

A Dask array given to a model while a ``dask.distributed`` client is active is fitted where it is.
Parts of the problem stay on workers with their signals, in bundles of a few, so that there are
about as many tasks as threads; each pass is a task for each bundle, from its last state to the
next; sums are added on workers, a few at a time, in the order in which
:class:`graphdict.engine.executor.Threads` adds them. Passes are plain functions, so what a lost
worker held is computed again by Dask, from the last time that states were laid down with the
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

from graphdict.core.terms.likelihoods import keeps_distances, smoothness
from graphdict.engine.connection import connect, wait_for
from graphdict.engine.executor import (
    TOGETHER,
    Part,
    States,
    add,
    add_in_groups,
    blocks_of,
    carry,
    in_blocks,
    itself,
    split,
)
from graphdict.engine.signals import Preparation, row_slices

__all__ = ["Cluster", "ClusterSmoothness", "bundle_size", "connect", "each_block"]

NOTE_BYTES = 1 << 16  # messages up to this size go with every task, larger ones once to a worker
LAY_DOWN = 200  # passes after which states are kept in a place that no worker can take along
BUNDLES = 2  # for each thread of the cluster, so that work can move when workers come and go


def each_block(
    array: Any, client: Any, dtype: Any, function: Callable[[NDArray], Any]
) -> list[Any]:
    """``function`` of blocks of a Dask array, on the workers."""
    blocks = client.compute([array[rows] for rows in row_slices(array)])
    return wait_for(client.gather, client.map(partial(_call, function, dtype), blocks, pure=False))


class ClusterSmoothness:
    """The smoothness term of signals on a cluster, which brings the crew that is there."""

    def __init__(
        self, array: Any, dtype: Any, preparation: Preparation, gaps: Any, client: Any,
        form: Callable[..., Any] = smoothness,
    ):  # fmt: skip
        self.array, self.dtype, self.client = array, dtype, client
        self.preparation, self.gaps, self.form = preparation, gaps, form

    def term(self, samples: int) -> Callable[[NDArray, NDArray], Any]:
        """What makes the term of a part from its signals and windows; there are so many samples."""
        shape = (samples, int(self.preparation.active.sum()))
        keep = keeps_distances(shape, self.dtype)
        return partial(self.form, keep=keep, gaps=self.gaps)

    @contextmanager
    def crew(self, problem: Any, cut: list[slice], bytes_per_row: int) -> Iterator[Cluster]:
        yield Cluster(self, problem, cut, bytes_per_row)


def bundle_size(parts: int, threads: int) -> int:
    """How many parts a task handles: all that are added at a time, a half, a quarter, ..."""
    size = TOGETHER
    while size > 1 and parts < BUNDLES * threads * size:
        size //= 2
    return size


class Cluster:
    """A crew of workers; states of a bundle of parts are a future of their (states, sums)."""

    def __init__(self, fit: ClusterSmoothness, problem: Any, cut: list[slice], bytes_per_row: int):
        self.client = fit.client
        self.cut, self.bytes_per_row = cut, bytes_per_row
        self.passes = 0
        self.kept = None  # here are no parts
        threads = sum(self.client.nthreads().values())
        size = bundle_size(len(cut), threads)
        self.bundles = [cut[i : i + size] for i in range(0, len(cut), size)]
        windows = problem.rows < problem.total
        ends = np.cumsum(problem.counts) if windows else None
        template = replace(problem, fit=None, counts=np.ones(1, dtype=int), samples=problem.total)
        term = fit.term(problem.total)
        shared = self._hold([(template, fit.dtype, fit.preparation, term)])[0]
        samples = [[_samples(rows, ends) for rows in bundle] for bundle in self.bundles]
        arrays = [fit.array[some[0].start : some[-1].stop] for some in samples]
        told = [
            [
                (rows.start, blocks_of(rows, bytes_per_row), own.stop - own.start,
                 problem.counts[rows] if windows else None)
                for rows, own in zip(bundle, some, strict=True)
            ]
            for bundle, some in zip(self.bundles, samples, strict=True)
        ]  # fmt: skip
        self.parts = self._map(_make_parts, told, self.client.compute(arrays), shared=shared)

    def run(self, step: Callable[..., Any], columns: Sequence[States], *message: Any) -> Any:
        return self.run_parts(partial(in_blocks, step), columns, *message)

    def run_parts(self, work: Callable[..., Any], columns: Sequence[States], *message: Any) -> Any:
        self.passes += 1
        pairs = self._pairs(work, columns, message)
        size = len(self.bundles[0])
        sums = self._map(_sums, pairs, together=size == TOGETHER)
        if 1 < TOGETHER // size < len(sums):
            sums = self._added(sums, TOGETHER // size)
        while len(sums) > TOGETHER:
            sums = self._added(sums, TOGETHER)
        found = wait_for(self.client.gather, sums)
        return States(pairs), add_in_groups([one for some in found for one in some])

    def chain(
        self,
        step: Callable[..., Any],
        columns: Sequence[States],
        carried: Any,
        *message: Any,
        reverse: bool = False,
    ) -> States:
        note = self._note(partial(carry, step), message)
        found = States([None] * len(self.parts))
        order = range(len(self.parts))[:: -1 if reverse else 1]
        before: Any = ([], carried)
        for index in order:
            states = [[column[index]] for column in columns]
            final = index == order[-1]
            before = self._map(
                _carry, [self.parts[index]], [before], *states, note=note, reverse=reverse,
                final=final,
            )[0]  # fmt: skip
            found[index] = before
        return found

    def stream(
        self, work: Callable[..., Any], *message: Any, columns: Sequence[States] = ()
    ) -> Iterator[tuple[NDArray, tuple]]:
        for pair in self._pairs(work, columns, message):
            for states, sums in zip(*wait_for(pair.result), strict=True):
                yield np.concatenate(states), sums

    def place(self, array: NDArray | States | None) -> States:
        if isinstance(array, States):
            return array
        return self._hold(
            [
                ([split(array, rows, self.bytes_per_row) for rows in bundle], [])
                for bundle in self.bundles
            ]
        )

    def collect(self, states: States, read: Callable[[Any], NDArray] = itself) -> NDArray:
        return np.concatenate(wait_for(self.client.gather, self._map(_join, states, read=read)))

    def settle(self, *columns: States) -> tuple[States, ...]:
        """Lay states down with the scheduler now and then, so that little is computed again."""
        if self.passes < LAY_DOWN:
            return columns
        self.passes = 0
        return tuple(self._hold(wait_for(self.client.gather, list(states))) for states in columns)

    def _pairs(self, work: Any, columns: Sequence[States], message: tuple) -> list[Any]:
        return self._map(_run, self.parts, *columns, note=self._note(work, message))

    def _note(self, work: Any, message: tuple) -> Any:
        """What is to be done and known in all parts, to go with every task or once to a worker."""
        size = sum(getattr(x, "nbytes", 0) for x in _inside(message))
        return self._hold([(work, message)])[0] if size > NOTE_BYTES else (work, message)

    def _added(self, sums: list[Any], together: int) -> list[Any]:
        return self._map(_add, [sums[i : i + together] for i in range(0, len(sums), together)])

    def _map(self, function: Callable[..., Any], *arguments: Any, **same: Any) -> list[Any]:
        return wait_for(self.client.map, function, *arguments, pure=False, **same)

    def _hold(self, values: list[Any]) -> States:
        """Values as tasks, which the scheduler can give again to any worker."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return States(self._map(_itself, values))


def _inside(message: Any) -> list[Any]:
    """What a message and the tuples in it hold."""
    if not isinstance(message, tuple):
        return [message]
    return [item for part in message for item in _inside(part)]


def _samples(rows: slice, ends: NDArray | None) -> slice:
    """The samples of some rows, which may be windows that end at ``ends``."""
    if ends is None:
        return rows
    return slice(int(ends[rows.start - 1]) if rows.start else 0, int(ends[rows.stop - 1]))


# On workers -----------------------------------------------------------------------------------


def _itself(value: Any) -> Any:
    return value


def _call(function: Callable[[NDArray], Any], dtype: Any, block: NDArray) -> Any:
    return function(np.ascontiguousarray(block, dtype=dtype))


def _make_parts(told: list[tuple], array: NDArray, shared: Any) -> list[Part]:
    template, dtype, preparation, term = shared
    made, end = [], 0
    for first, blocks, samples, counts in told:
        own, end = array[end : end + samples], end + samples
        signals = preparation.apply(np.ascontiguousarray(own, dtype=dtype))
        if counts is None:
            counts = np.broadcast_to(np.intp(1), samples)
        problem = replace(template, fit=term(signals, counts), counts=counts, first=first)
        made.append(Part(problem, blocks))
    return made


def _run(parts: list[Part], *columns: Any, note: Any) -> tuple[list[Any], list[Any]]:
    """States and sums of a pass, for each part of a bundle."""
    work, message = note
    found = [
        work(part, [states[place] for states, _ in columns], *message)
        for place, part in enumerate(parts)
    ]
    return [states for states, _ in found], [sums for _, sums in found]


def _carry(
    parts: list[Part], before: Any, *columns: Any, note: Any, reverse: bool, final: bool
) -> tuple[list[Any], Any]:
    """What comes into each block of a bundle, and what leaves it."""
    work, message = note
    entering: list[Any] = [None] * len(parts)
    order = range(len(parts))[:: -1 if reverse else 1]
    carried = before[1]
    for place in order:
        states = [states[place] for states, _ in columns]
        last = final and place == order[-1]
        entering[place], carried = work(parts[place], states, carried, reverse, last, *message)
    return entering, carried


def _sums(pair: tuple[list[Any], list[Any]], together: bool) -> list[Any]:
    """The sums of each part of a bundle, or of all of it where that is what is added at a time."""
    return [add(pair[1])] if together else pair[1]


def _add(sums: list[list[Any]]) -> list[Any]:
    return [add([one for some in sums for one in some])]


def _join(pair: Any, read: Callable[[Any], NDArray]) -> NDArray:
    return np.concatenate([read(state) for part in pair[0] for state in part])
