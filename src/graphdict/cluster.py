"""The passes of the solvers on a Dask cluster: parts live on workers, sums travel.

A Dask array given to a model while a ``dask.distributed`` client is active is fitted where it is.
Each part of the problem is a task whose result stays on a worker with its signals; each pass is a
task for each part, from its last state to the next; sums are added on workers, a few at a time, in
the order in which :class:`graphdict.solvers.blocks.Threads` adds them. Passes are plain functions,
so what a lost worker held is computed again by Dask, from the last time that states were laid down
with the scheduler.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.exceptions import ClusterError
from graphdict.signals import Preparation, row_slices
from graphdict.solvers.blocks import (
    TOGETHER,
    Part,
    States,
    add,
    add_in_groups,
    blocks_of,
    carry,
    in_blocks,
    itself,
)
from graphdict.terms.likelihoods import keeps_distances, smoothness

__all__ = [
    "Cluster",
    "ClusterSmoothness",
    "check_array",
    "connect",
    "each_block",
    "find_client",
]

CONNECT_SECONDS = 10
NOTE_BYTES = 1 << 16  # messages up to this size go with every task, larger ones once to a worker
LOST = (  # names, since some versions of distributed lack some of these classes
    "CancelledError", "ClosedClientError", "CommClosedError", "FutureCancelledError",
    "FuturesCancelledError", "KilledWorker", "TimeoutError",
)  # fmt: skip
LAY_DOWN = 200  # passes after which states are kept in a place that no worker can take along


def find_client(X: Any) -> Any:
    """The active client of ``dask.distributed`` for a Dask array; None for anything else."""
    if type(X).__module__.split(".")[0] != "dask":
        return None
    try:
        from distributed import Future, default_client
    except ImportError:
        return None
    for value in X.__dask_graph__().values():
        if isinstance(value, Future) and value.client.status != "running":
            raise ClusterError(
                "X lives on a Dask cluster whose client is closed: open a new Client and make the "
                "array again"
            )
    try:
        return default_client()
    except ValueError:
        return None


def connect(address: str) -> Any:
    """A client of the scheduler at an address, whose workers can do our work."""
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "a Dask cluster needs dask.distributed: pip install 'graphdict[dask]'"
        ) from None
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address!r}: {error}") from None
    try:
        check_workers(client)
    except ClusterError:
        client.close()
        raise
    return client


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or whose workers have another graphdict or none."""
    import graphdict

    versions = client.run(importlib.metadata.version, "graphdict", on_error="return")
    if not versions:
        raise ClusterError("the Dask cluster has no workers; start some, then fit")
    ours = graphdict.__version__
    for worker, version in sorted(versions.items()):
        if version != ours:
            found = "no graphdict" if isinstance(version, Exception) else f"graphdict {version}"
            raise ClusterError(
                f"the Dask worker {worker} has {found}; install graphdict {ours}, which is used "
                "here, on every worker"
            )


def check_array(X: Any, client: Any) -> Any:
    """The array with whole rows in its chunks; says what stands in the way of a fit."""
    if X.ndim == 2 and np.isnan(X.shape).any():
        raise ValueError("X has chunks of unknown sizes; call X.compute_chunk_sizes() before fit")
    check_workers(client)
    return X.rechunk({1: -1}) if X.ndim == 2 else X


def each_block(
    array: Any, client: Any, dtype: Any, function: Callable[[NDArray], Any]
) -> list[Any]:
    """``function`` of blocks of a Dask array, on the workers."""
    blocks = client.compute([array[rows] for rows in row_slices(array)])
    return _wait(client.gather, client.map(partial(_call, function, dtype), blocks, pure=False))


class ClusterSmoothness:
    """The smoothness term of signals on a cluster, which brings the crew that is there."""

    def __init__(self, array: Any, dtype: Any, preparation: Preparation, gaps: Any, client: Any):
        self.array, self.dtype, self.client = array, dtype, client
        self.preparation, self.gaps = preparation, gaps

    def term(self, samples: int) -> Callable[[NDArray, NDArray], Any]:
        """What makes the term of a part from its signals and windows; there are so many samples."""
        shape = (samples, int(self.preparation.active.sum()))
        keep = keeps_distances(shape, self.dtype)
        return partial(smoothness, keep=keep, gaps=self.gaps)

    @contextmanager
    def crew(self, problem: Any, cut: list[slice], bytes_per_row: int) -> Iterator[Cluster]:
        yield Cluster(self, problem, cut, bytes_per_row)


class Cluster:
    """A crew of workers; what stands for the states of a part is a future of (states, sums)."""

    def __init__(self, fit: ClusterSmoothness, problem: Any, cut: list[slice], bytes_per_row: int):
        self.client = fit.client
        self.cut = cut
        self.bytes_per_row = bytes_per_row
        self.passes = 0
        windows = problem.rows < problem.total
        ends = np.cumsum(problem.counts) if windows else None
        template = replace(problem, fit=None, counts=np.ones(1, dtype=int), samples=problem.total)
        term = fit.term(problem.total)
        shared = self._hold((template, fit.dtype, fit.preparation, term))
        signals = self.client.compute([fit.array[_samples(rows, ends)] for rows in cut])
        self.parts = []
        for rows, block in zip(cut, signals, strict=True):
            counts = problem.counts[rows] if windows else None
            blocks = blocks_of(rows, bytes_per_row)
            self.parts.append(self._submit(_make_part, shared, rows, blocks, counts, block))

    def run(self, step: Callable[..., Any], columns: Sequence[States], *message: Any) -> Any:
        return self.run_parts(partial(in_blocks, step), columns, *message)

    def run_parts(self, work: Callable[..., Any], columns: Sequence[States], *message: Any) -> Any:
        self.passes += 1
        pairs = self._pairs(work, columns, message)
        sums = [self._submit(itemgetter(1), pair) for pair in pairs]
        while len(sums) > TOGETHER:
            groups = range(0, len(sums), TOGETHER)
            sums = [self._submit(add, sums[i : i + TOGETHER]) for i in groups]
        return States(pairs), add_in_groups(_wait(self.client.gather, sums))

    def chain(
        self,
        step: Callable[..., Any],
        columns: Sequence[States],
        carried: Any,
        *message: Any,
        reverse: bool = False,
    ) -> States:
        note = self._note((partial(carry, step), message))
        found = States([None] * len(self.parts))
        order = range(len(self.parts))
        pair = ((), carried)
        for index in reversed(order) if reverse else order:
            final = index == (0 if reverse else order[-1])
            states = [column[index] for column in columns]
            pair = self._submit(_carry, note, self.parts[index], pair, reverse, final, *states)
            found[index] = pair
        return found

    def stream(
        self, work: Callable[..., Any], *message: Any, columns: Sequence[States] = ()
    ) -> Iterator[tuple[NDArray, tuple]]:
        for pair in self._pairs(work, columns, message):
            states, sums = _wait(pair.result)
            yield np.concatenate(states), sums

    def place(self, array: NDArray | States | None) -> States:
        if isinstance(array, States):
            return array
        return States(self._hold((self._split(array, rows), ())) for rows in self.cut)

    def collect(self, states: States, read: Callable[[Any], NDArray] = itself) -> NDArray:
        joined = [self._submit(_join, read, pair) for pair in states]
        return np.concatenate(_wait(self.client.gather, joined))

    def settle(self, *columns: States) -> tuple[States, ...]:
        """Lay states down with the scheduler now and then, so that little is computed again."""
        if self.passes < LAY_DOWN:
            return columns
        self.passes = 0
        return tuple(
            States(self._hold(_wait(pair.result)) for pair in states) for states in columns
        )

    def _pairs(self, work: Any, columns: Sequence[States], message: tuple) -> list[Any]:
        note = self._note((work, message))
        return [
            self._submit(_run, note, part, *states)
            for part, *states in zip(self.parts, *columns, strict=True)
        ]

    def _note(self, note: tuple[Any, tuple]) -> Any:
        """What is to be done and known in all parts, to go with every task or once to a worker."""
        message = note[1]
        size = sum(getattr(x, "nbytes", 0) for x in (*message, *_inside(message)))
        return self._hold(note) if size > NOTE_BYTES else note

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return _wait(self.client.submit, function, *arguments, pure=False)

    def _hold(self, value: Any) -> Any:
        """A value as a task, which the scheduler can give again to any worker."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self._submit(_itself, value)

    def _split(self, array: NDArray | None, rows: slice) -> list[Any]:
        blocks = blocks_of(rows, self.bytes_per_row)
        return [None if array is None else array[rows][block] for block in blocks]


def _wait(ask: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a client answers, or what to do where the cluster was lost."""
    try:
        return ask(*arguments, **options)
    except Exception as error:
        if type(error).__name__ not in LOST:
            raise
        raise ClusterError(
            f"the Dask cluster lost the fit ({type(error).__name__}: {error}); with checkpoint= "
            "the same call goes on where it last wrote"
        ) from error


def _inside(message: tuple) -> list[Any]:
    """What the tuples of a message hold."""
    return [item for part in message if isinstance(part, tuple) for item in part]


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


def _make_part(
    shared: Any, rows: slice, blocks: list[slice], counts: NDArray | None, block: NDArray
) -> Part:
    template, dtype, preparation, term = shared
    signals = preparation.apply(np.ascontiguousarray(block, dtype=dtype))
    if counts is None:
        counts = np.broadcast_to(np.intp(1), len(signals))
    return Part(
        replace(template, fit=term(signals, counts), counts=counts, first=rows.start), blocks
    )


def _run(note: Any, part: Part, *columns: Any) -> Any:
    work, message = note
    return work(part, [states for states, _ in columns], *message)


def _carry(note: Any, part: Part, before: Any, reverse: bool, final: bool, *columns: Any) -> Any:
    work, message = note
    states = [states for states, _ in columns]
    return work(part, states, before[1], reverse, final, *message)


def _join(read: Callable[[Any], NDArray], pair: Any) -> NDArray:
    return np.concatenate([read(state) for state in pair[0]])
