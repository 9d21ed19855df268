"""Steps over samples on the threads of this machine, and how samples are cut.

The rows of a problem are cut into *shards*, and each shard into *blocks* that stay in cache. A
shard is a problem of its own rows; a block is a slice of them. The cut depends on shapes alone and
sums are taken in one order, so results do not depend on who ran a step: threads here, or a cluster
(:mod:`graphdict.engine.cluster`). What a step is, see :mod:`graphdict.core.protocols`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.protocols import (
    BlockStates,
    CompiledRun,
    CompiledRunResult,
    Deferred,
    Step,
    identity,
)
from graphdict.engine.backends import backend_of, name_of_backend
from graphdict.engine.blas import blas_threads, single_threaded_blas
from graphdict.engine.thread_pool import ThreadPool

BLOCK_BYTES = 1 << 21  # about the second-level cache of a core
SHARDS = 64  # about as many, enough for the threads of a machine, unless they would be too large
SHARD_BYTES = 1 << 30  # of a shard, at most
SUMS_AT_A_TIME = 16
LITTLE_BYTES = 1 << 17  # of work that one thread does before a second one has begun


def row_blocks(rows: int, bytes_per_row: int, block_bytes: int | None = None) -> list[slice]:
    """Return equal slices of about ``block_bytes``; an even number where there are several."""
    count = -(-rows * bytes_per_row // (block_bytes or BLOCK_BYTES))
    if count > 1:
        count = min(count + count % 2, rows)
    edges = [rows * i // max(count, 1) for i in range(max(count, 1) + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def shard_rows(rows: int, bytes_per_row: int) -> list[slice]:
    """Return the rows of each shard: one block each, or where these are many, about 64 shards."""
    share = -(-rows * bytes_per_row // SHARDS)
    return row_blocks(rows, bytes_per_row, max(BLOCK_BYTES, min(share, SHARD_BYTES)))


def block_rows(shard: slice, bytes_per_row: int) -> list[slice]:
    """Return the rows of each block of a shard, counted from its beginning."""
    return row_blocks(shard.stop - shard.start, bytes_per_row, BLOCK_BYTES + bytes_per_row)


def split_rows(array: Floats | None, shard: slice, bytes_per_row: int) -> list[Any]:
    """Return the rows of an array for each block of a shard; as many None for None."""
    blocks = block_rows(shard, bytes_per_row)
    return [None if array is None else array[shard][block] for block in blocks]


@dataclass(frozen=True)
class Shard:
    """Some consecutive rows of a problem, with their backend, cut into blocks."""

    backend: Any
    blocks: list[slice]

    @classmethod
    def of(cls, problem: Any, rows: slice, bytes_per_row: int) -> Shard:
        return cls(backend_of(problem.part(rows)), block_rows(rows, bytes_per_row))

    def map(self, step: Step, columns: Sequence[Any], *message: Any) -> tuple[list[Any], tuple]:
        """Run a step on each block; return the list of new states, and the sum of the sums."""
        found = []
        for rows, *states in zip(self.blocks, *columns, strict=True):
            result = step(self.backend, rows, *states, *message)
            found.append(result.result() if isinstance(result, Deferred) else result)
        return [state for state, _ in found], add_sums([sums for _, sums in found])


def map_blocks_of_shard(step: Step, shard: Shard, columns: Sequence[Any], *message: Any) -> Any:
    """Call :meth:`Shard.map`: a plain function, which can be sent to where the shard is."""
    return shard.map(step, columns, *message)


def scan_shard(
    step: Step,
    shard: Shard,
    columns: Sequence[Any],
    carried: Any,
    *message: Any,
    reverse: bool,
    final: bool,
) -> tuple[list[Any], Any]:
    """Run a scan over the blocks of a shard.

    Return the value carried into each block, and the one carried out of the last: None for the
    ``final`` shard, where it is not needed.
    """
    entering: list[Any] = [None] * len(shard.blocks)
    order = range(len(shard.blocks))
    for index in reversed(order) if reverse else order:
        entering[index] = carried
        if final and index == (0 if reverse else order[-1]):
            return entering, None
        states = [column[index] for column in columns]
        carried = step(shard.backend, shard.blocks[index], *states, carried, *message)
    return entering, carried


def add_sums(sums: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add tuples entry by entry, in order."""
    return tuple(sum(column[1:], column[0]) for column in zip(*sums, strict=True))


def add_tree(sums: Sequence[Any]) -> Any:
    """Add all sums, a few neighbours at a time, so that a cluster can add where they are."""
    while len(sums) > 1:
        count = SUMS_AT_A_TIME
        sums = [add_sums(sums[i : i + count]) for i in range(0, len(sums), count)]
    return sums[0]


class ThreadExecutor:
    """The executor of this machine: shards on threads, read again in each pass if they are on disk.

    See :class:`graphdict.core.protocols.Executor` for what its methods do.
    """

    def __init__(self, problem: Any, cut: list[slice], bytes_per_row: int, pool: ThreadPool):
        self.problem = problem
        self.cut = cut
        self.bytes_per_row = bytes_per_row
        self.pool = pool
        self.backend_name = name_of_backend(problem)
        self.shards: list[Shard] | None = None
        if not problem.read_when_used:
            self.shards = [Shard.of(problem, rows, bytes_per_row) for rows in cut]

    def map_blocks(self, step: Step, columns: Sequence[BlockStates], *message: Any) -> Any:
        deferred = getattr(step, "returns_deferred", False)
        if deferred and self.shards is not None and self.pool.helpers:
            return self._map_deferred(step, self.shards, columns, *message)
        return self.map_shards(partial(map_blocks_of_shard, step), columns, *message)

    def _map_deferred(
        self, step: Step, shards: list[Shard], columns: Sequence[BlockStates], *message: Any
    ) -> Any:
        """Prepare all blocks in this thread, let the pool share the jobs, and read them here."""
        prepared = [
            step(shard.backend, rows, *states, *message)
            for shard, *lists in zip(shards, *columns, strict=True)
            for rows, *states in zip(shard.blocks, *lists, strict=True)
        ]
        self.pool.run([work.job for work in prepared])
        found = iter([work.read() for work in prepared])
        by_shard = [[next(found) for _ in shard.blocks] for shard in shards]
        sums = [add_sums([block[1] for block in blocks]) for blocks in by_shard]
        return BlockStates([block[0] for block in blocks] for blocks in by_shard), add_tree(sums)

    def map_shards(self, work: Step, columns: Sequence[BlockStates], *message: Any) -> Any:
        def visit(index: int) -> Any:
            return work(self._shard(index), [column[index] for column in columns], *message)

        found = self.pool.map(visit, len(self.cut))
        return BlockStates(states for states, _ in found), add_tree([sums for _, sums in found])

    def scan(
        self,
        step: Step,
        columns: Sequence[BlockStates],
        carried: Any,
        *message: Any,
        reverse: bool = False,
    ) -> BlockStates:
        found = BlockStates([None] * len(self.cut))
        order = range(len(self.cut))
        for index in reversed(order) if reverse else order:
            final = index == (0 if reverse else order[-1])
            states = [column[index] for column in columns]
            found[index], carried = scan_shard(
                step, self._shard(index), states, carried, *message, reverse=reverse, final=final
            )
        return found

    def iter_shards(
        self, work: Step, *message: Any, columns: Sequence[BlockStates] = ()
    ) -> Iterator[tuple[Floats, tuple]]:
        at_once = 1 + self.pool.helpers
        for start in range(0, len(self.cut), at_once):

            def visit(number: int, start: int = start) -> Any:
                index = start + number
                return work(self._shard(index), [column[index] for column in columns], *message)

            for states, sums in self.pool.map(visit, min(at_once, len(self.cut) - start)):
                yield np.concatenate(states), sums

    def scatter(self, array: Floats | BlockStates | None) -> BlockStates:
        if isinstance(array, BlockStates):
            return array
        return BlockStates(split_rows(array, rows, self.bytes_per_row) for rows in self.cut)

    def persist(self, *columns: BlockStates) -> tuple[BlockStates, ...]:
        return columns

    def gather(self, states: BlockStates, read: Callable[[Any], Floats] = identity) -> Floats:
        return np.concatenate([read(state) for shard in states for state in shard])

    def iterate(self, states: BlockStates, run: CompiledRun) -> CompiledRunResult | None:
        if self.shards is None:
            return None
        found: CompiledRunResult | None = type(self.shards[0].backend).iterate(
            self.shards, states, run, pool=self.pool, sums_at_a_time=SUMS_AT_A_TIME
        )
        return found

    def _shard(self, index: int) -> Shard:
        if self.shards is not None:
            return self.shards[index]
        return Shard.of(self.problem, self.cut[index], self.bytes_per_row)


@contextmanager
def open_executor(
    problem: Any, atoms: Floats | None = None, *, bytes_per_row: int = 0
) -> Iterator[Any]:
    """Open the executor for where the samples are: a cluster, or the threads of this machine.

    Samples are cut by ``bytes_per_row``, or by what solvers keep of a row where the dictionary has
    the shape and precision of ``atoms``. There are as many threads as BLAS would use, which is
    limited to one meanwhile; one where there is little to do. Deferred steps are shared by them
    piece by piece, others block by block.
    """
    if atoms is not None:
        mixture = np.ones((1, len(atoms)), dtype=atoms.dtype)
        bytes_per_row = problem.operator.forward(mixture, atoms).nbytes * len(atoms)
    cut = shard_rows(problem.rows, bytes_per_row)
    if hasattr(problem.signal_term, "executor"):
        with problem.signal_term.executor(problem, cut, bytes_per_row) as executor:
            yield executor
        return
    little = len(cut) == 1 and problem.rows * bytes_per_row < LITTLE_BYTES
    helpers = 0 if little else blas_threads() - 1
    with single_threaded_blas, ThreadPool(helpers) as pool:
        yield ThreadExecutor(problem, cut, bytes_per_row, pool)
