"""Samples in blocks: what is done for each sample is done while its block is in cache.

A block is a slice of rows. Whatever a solver does with samples (signals, coefficients, duals) it
does block by block, and only sums the size of the dictionary leave a block. The cut depends on the
shapes alone and sums are taken in the order of the blocks, so results do not depend on the number
of threads. Blocks run on threads, with BLAS held to one thread meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from graphdict.threads import blas_threads, single_threaded_blas

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
    threads = min(blas_threads(), len(slices))
    if threads < 2:
        yield Blocks(slices, None)
        return
    with single_threaded_blas, ThreadPoolExecutor(threads) as pool:
        yield Blocks(slices, pool)
