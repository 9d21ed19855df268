"""Samples in parts of blocks: what is done for each sample is done where its block is.

The rows of a problem are cut into parts, and each part into blocks that stay in cache. A part is a
problem of its own rows; a block is a slice of them. Solvers keep everything the size of the samples
(coefficients, duals) as one state for each block and touch it in passes only,

    step(problem, rows, *states, *message) -> (new state, sums)

which are plain functions: what they know comes as a message the size of the dictionary, and what
they find leaves as sums of that size. Who runs a pass (threads here, a cluster in
:mod:`graphdict.engine.cluster`) is a crew. The cut depends on shapes alone and sums are taken in one
order, so results do not depend on who ran it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem
from graphdict.engine.blas import blas_threads, single_threaded_blas
from graphdict.engine.thread_pool import Team

__all__ = [
    "Part",
    "Staged",
    "Threads",
    "add",
    "add_in_groups",
    "alike",
    "as_precise",
    "at_once",
    "blocks_of",
    "carry",
    "crew_for",
    "crew_of",
    "in_blocks",
    "itself",
    "row_blocks",
    "row_parts",
    "split",
]

BLOCK_BYTES = 1 << 21  # about the second-level cache of a core
PARTS = 64  # enough for the threads of a machine; more only where a part would be larger than
PART_BYTES = 1 << 30
TOGETHER = 16  # sums that are added at a time
LITTLE_BYTES = 1 << 17  # so much is done before a second thread has begun


class States(list):
    """Something for every sample: a list for each part, or what stands for it elsewhere."""


def row_blocks(rows: int, bytes_per_row: int, block_bytes: int | None = None) -> list[slice]:
    """Equal slices of about ``block_bytes``; an even number of them where there are several."""
    count = -(-rows * bytes_per_row // (block_bytes or BLOCK_BYTES))
    if count > 1:
        count = min(count + count % 2, rows)
    edges = [rows * i // max(count, 1) for i in range(max(count, 1) + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def row_parts(rows: int, bytes_per_row: int) -> list[slice]:
    """Slices of whole blocks: one block each, or where these are many, about ``PARTS`` parts."""
    share = -(-rows * bytes_per_row // PARTS)
    return row_blocks(rows, bytes_per_row, max(BLOCK_BYTES, min(share, PART_BYTES)))


def blocks_of(part: slice, bytes_per_row: int) -> list[slice]:
    """The cut of one part, counted from its beginning."""
    return row_blocks(part.stop - part.start, bytes_per_row, BLOCK_BYTES + bytes_per_row)


def split(array: NDArray | None, part: slice, bytes_per_row: int) -> list[Any]:
    """What an array of all rows has for each block of a part; None for each where there is none."""
    blocks = blocks_of(part, bytes_per_row)
    return [None if array is None else array[part][block] for block in blocks]


@dataclass(frozen=True)
class Part:
    """Some consecutive rows of a problem, as a problem, and how they are cut into blocks."""

    problem: Problem
    blocks: list[slice]

    @classmethod
    def of(cls, problem: Problem, rows: slice, bytes_per_row: int) -> Part:
        return cls(problem.part(rows), blocks_of(rows, bytes_per_row))


class Staged:
    """A step whose work is mostly one call that does not need Python, if possible a job.

    ``prepare(problem, rows, *states, *message)`` returns that call, and a function that then says
    what the step finds. Where threads share the blocks, one prepares and reads them all, so that
    nobody waits for Python's lock.
    """

    def __init__(self, prepare: Callable[..., tuple[Callable[[], Any], Callable[[], Any]]]):
        self.prepare = prepare
        self.__module__ = prepare.__module__

    def __reduce__(self) -> str:
        """By its name, as a function is pickled."""
        return self.prepare.__qualname__

    def __call__(self, *arguments: Any) -> Any:
        call, read = self.prepare(*arguments)
        call()
        return read()


def at_once(step: Callable[..., Any], *arguments: Any) -> tuple[Callable[[], Any], Callable]:
    """The stages of a step that has only one."""
    found: list[Any] = []
    return lambda: found.append(step(*arguments)), lambda: found[0]


def in_blocks(
    step: Callable[..., Any], part: Part, columns: Sequence[Any], *message: Any
) -> tuple[list[Any], tuple[Any, ...]]:
    """``step`` on each block of a part: the list of new states, and the sum of the sums."""
    found = [
        step(part.problem, rows, *states, *message)
        for rows, *states in zip(part.blocks, *columns, strict=True)
    ]
    return [state for state, _ in found], add([sums for _, sums in found])


def carry(
    step: Callable[..., Any],
    part: Part,
    columns: Sequence[Any],
    carried: Any,
    reverse: bool,
    final: bool,
    *message: Any,
) -> tuple[list[Any], Any]:
    """What comes into each block of a part, and what leaves it: None for the ``final`` part.

    ``step(problem, rows, *states, carried, *message)`` is what leaves a block.
    """
    entering: list[Any] = [None] * len(part.blocks)
    order = range(len(part.blocks))
    for index in reversed(order) if reverse else order:
        entering[index] = carried
        if final and index == (0 if reverse else order[-1]):
            return entering, None
        states = [column[index] for column in columns]
        carried = step(part.problem, part.blocks[index], *states, carried, *message)
    return entering, carried


def add(sums: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Entry by entry, in order."""
    return tuple(sum(column[1:], column[0]) for column in zip(*sums, strict=True))


def add_in_groups(sums: Sequence[Any]) -> Any:
    """All sums, a few neighbours at a time, so that a cluster can add where they are."""
    while len(sums) > 1:
        sums = [add(sums[i : i + TOGETHER]) for i in range(0, len(sums), TOGETHER)]
    return sums[0]


def alike(array: Any, like: NDArray) -> Any:
    """An array as passes take it: in the precision of ``like``, row after row; states as is."""
    if isinstance(array, States):
        return array
    return np.ascontiguousarray(array, dtype=like.dtype)


def as_precise(atoms: NDArray, problem: Problem) -> NDArray:
    """Atoms in the precision of the samples, in which everything is then done."""
    return np.ascontiguousarray(atoms, dtype=getattr(problem.fit, "dtype", atoms.dtype))


def itself(state: Any) -> Any:
    """A state that is an array."""
    return state


class Threads:
    """The crew of this machine: parts on threads, read again in each pass if they are on disk.

    Where a method takes ``columns`` of states, the function it runs gets one of each.
    """

    def __init__(self, problem: Problem, cut: list[slice], bytes_per_row: int, team: Team):
        self.problem = problem
        self.cut = cut
        self.bytes_per_row = bytes_per_row
        self.team = team
        self.kept: list[Part] | None = None
        if not problem.read_when_used:
            self.kept = [Part.of(problem, rows, bytes_per_row) for rows in cut]

    def run(self, step: Callable[..., Any], columns: Sequence[States], *message: Any) -> Any:
        """A pass: new states, and the sum over all blocks of what leaves them."""
        if isinstance(step, Staged) and self.kept is not None and self.team.helpers:
            return self._run_staged(step, self.kept, columns, *message)
        return self.run_parts(partial(in_blocks, step), columns, *message)

    def _run_staged(
        self, step: Staged, parts: list[Part], columns: Sequence[States], *message: Any
    ) -> Any:
        staged = [
            step.prepare(part.problem, rows, *states, *message)
            for part, *lists in zip(parts, *columns, strict=True)
            for rows, *states in zip(part.blocks, *lists, strict=True)
        ]
        self.team.run([call for call, _ in staged])
        found = iter([read() for _, read in staged])
        by_part = [[next(found) for _ in part.blocks] for part in parts]
        sums = [add([block[1] for block in part]) for part in by_part]
        return States([block[0] for block in part] for part in by_part), add_in_groups(sums)

    def run_parts(self, work: Callable[..., Any], columns: Sequence[States], *message: Any) -> Any:
        """The same for a function of a part: ``work(part, columns, *message)``."""

        def visit(index: int) -> Any:
            return work(self._part(index), [column[index] for column in columns], *message)

        found = self.team.map(visit, len(self.cut))
        return States(states for states, _ in found), add_in_groups([sums for _, sums in found])

    def chain(
        self,
        step: Callable[..., Any],
        columns: Sequence[States],
        carried: Any,
        *message: Any,
        reverse: bool = False,
    ) -> States:
        """What comes into each block where something is carried from block to block in order."""
        found = States([None] * len(self.cut))
        order = range(len(self.cut))
        for index in reversed(order) if reverse else order:
            final = index == (0 if reverse else order[-1])
            states = [column[index] for column in columns]
            found[index], carried = carry(
                step, self._part(index), states, carried, reverse, final, *message
            )
        return found

    def stream(
        self, work: Callable[..., Any], *message: Any, columns: Sequence[States] = ()
    ) -> Iterator[tuple[NDArray, tuple]]:
        """``work`` on one part after the other: its states as one array, and its sums."""
        at_once = 1 + self.team.helpers
        for start in range(0, len(self.cut), at_once):

            def visit(number: int, start: int = start) -> Any:
                index = start + number
                return work(self._part(index), [column[index] for column in columns], *message)

            for states, sums in self.team.map(visit, min(at_once, len(self.cut) - start)):
                yield np.concatenate(states), sums

    def place(self, array: NDArray | States | None) -> States:
        """An array of all rows as states: a slice of it for each block of each part."""
        if isinstance(array, States):
            return array
        return States(split(array, rows, self.bytes_per_row) for rows in self.cut)

    def settle(self, *columns: States) -> tuple[States, ...]:
        """Told after each iteration which states the next one starts from."""
        return columns

    def collect(self, states: States, read: Callable[[Any], NDArray] = itself) -> NDArray:
        """The array of all rows that ``read`` finds in states; by default they are its parts."""
        return np.concatenate([read(state) for part in states for state in part])

    def _part(self, index: int) -> Part:
        if self.kept is not None:
            return self.kept[index]
        return Part.of(self.problem, self.cut[index], self.bytes_per_row)


@contextmanager
def crew_for(problem: Problem, atoms: NDArray, crew: Any = None) -> Iterator[Any]:
    """Who passes over the samples of a problem; a ``crew`` that is there already is used."""
    if crew is not None:
        yield crew
        return
    mixture = np.ones((1, len(atoms)), dtype=atoms.dtype)
    bytes_per_row = problem.operator.forward(mixture, atoms).nbytes * len(atoms)
    with crew_of(problem, bytes_per_row) as crew:
        yield crew


@contextmanager
def crew_of(problem: Any, bytes_per_row: int) -> Iterator[Any]:
    """The cluster that the samples live on, or the threads of this machine.

    There are as many threads as BLAS would use, which is told to use one meanwhile; one where there
    is little to do. Passes of BiPDS are shared by them piece by piece, others block by block.
    """
    cut = row_parts(problem.rows, bytes_per_row)
    if hasattr(problem.fit, "crew"):
        with problem.fit.crew(problem, cut, bytes_per_row) as crew:
            yield crew
        return
    little = len(cut) == 1 and problem.rows * bytes_per_row < LITTLE_BYTES
    helpers = 0 if little else blas_threads() - 1
    with single_threaded_blas, Team(helpers) as team:
        yield Threads(problem, cut, bytes_per_row, team)
