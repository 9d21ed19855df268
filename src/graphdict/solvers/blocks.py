"""Samples in blocks: what is done for each sample is done while its block is in cache.

A block is a slice of rows. Whatever a solver does with samples (signals, coefficients, duals) it
does block by block, and only sums the size of the dictionary leave a block. The cut depends on the
shapes alone and sums are taken in the order of the blocks, so results do not depend on the number
of threads. Blocks run on threads, with BLAS held to one thread meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["Blocks", "parallel_blocks", "row_blocks"]

BLOCK_BYTES = 1 << 21  # about the second-level cache of a core
Result = TypeVar("Result")


def row_blocks(rows: int, bytes_per_row: int, block_bytes: int | None = None) -> list[slice]:
    """Equal slices of about ``block_bytes``; an even number of them where there are several."""
    count = -(-rows * bytes_per_row // (block_bytes or BLOCK_BYTES))
    if count > 1:
        count = min(count + count % 2, rows)
    edges = [rows * i // max(count, 1) for i in range(max(count, 1) + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


class Blocks:
    """The blocks of a problem and the threads they run on."""

    def __init__(self, slices: list[slice], pool: Executor | None):
        self.slices = slices
        self.pool = pool

    def map(self, function: Callable[[slice], Result]) -> list[Result]:
        """``function(rows)`` of every block, in the order of the blocks."""
        run = map if self.pool is None or len(self.slices) < 2 else self.pool.map
        return list(run(function, self.slices))


@contextmanager
def parallel_blocks(slices: list[slice]) -> Iterator[Blocks]:
    """Blocks on as many threads as BLAS would use, which is told to use one meanwhile."""
    threads = min(_blas_threads(), len(slices))
    if threads < 2:
        yield Blocks(slices, None)
        return
    with _single_threaded_blas, ThreadPoolExecutor(threads) as pool:
        yield Blocks(slices, pool)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _blas_threads() -> int:
    """Threads that the settings of BLAS and the machine allow: respects OMP_NUM_THREADS & co."""
    if _single_threaded_blas.depth:
        return _single_threaded_blas.allowed
    numbers = [info["num_threads"] for info in _controller().info()]
    return max(1, min([*numbers, os.cpu_count() or 1]))


class _SingleThreadedBlas:
    """A limit that several fits in several threads may hold at once; the last one lifts it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth = 0
        self.allowed = 1
        self.limiter: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.allowed = _blas_threads()
                self.limiter = _controller().limit(limits=1)
            self.depth += 1

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.limiter.restore_original_limits()


_single_threaded_blas = _SingleThreadedBlas()
