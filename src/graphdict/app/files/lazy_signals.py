"""Signals that stay in their file: slices of rows are read, cleaned and scaled on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans
from graphdict.engine.signals import row_slices


@dataclass(frozen=True)
class ColumnSummary:
    """Statistics (N,) of the columns over all rows; NaN where a column has no value.

    ``spread`` is the standard deviation, ``infinite`` the number of infinite values in all columns.
    """

    missing: NDArray[np.int64]
    mean: NDArray[Any]
    spread: NDArray[Any]
    least: NDArray[Any]
    greatest: NDArray[Any]
    infinite: int = 0


@dataclass(frozen=True)
class LazySignals:
    """A lazy array (T, N) over a reader of :mod:`graphdict.app.files.chunked_readers`; picklable.

    Parameters
    ----------
    source : ArrayReader or ParquetReader
    columns : list of int
        Columns of the file to take.
    dtype : dtype
        Of the slices.
    rows : integer array, optional
        Rows of the file to take; all by default.
    codes : pairs (column, value)
        Values that stand for a missing one.
    changes : {"none", "difference", "relative"}
        Differences between samples, or of their logarithms.
    mean, scale : arrays (N,), optional
        What to subtract from each column and to divide it by.
    """

    source: Any
    columns: list[int]
    dtype: np.dtype
    rows: NDArray[Any] | None = None
    codes: tuple[tuple[int, float], ...] = ()
    changes: str = "none"
    mean: NDArray[Any] | None = None
    scale: NDArray[Any] | None = None

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        length = self.source.length if self.rows is None else len(self.rows)
        return length - (self.changes != "none"), len(self.columns)

    @property
    def row_numbers(self) -> NDArray[Any]:
        """Rows of the file that are taken (T,)."""
        return np.arange(self.source.length) if self.rows is None else self.rows

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def chunks(self) -> tuple[int, int]:
        """Rows and columns to read at a time; arrays with this attribute are read in chunks."""
        slices = row_slices(self)
        return slices[0].stop, self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.empty(self.shape, dtype=dtype or self.dtype)
        for rows in row_slices(self):
            whole[rows] = self[rows]
        return whole

    def __getitem__(self, key: Any) -> NDArray[Any]:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        start, stop, step = rows.indices(len(self))
        return self._block(start, max(start, stop))[0][::step, columns]

    def _block(self, start: int, stop: int) -> tuple[NDArray[Any], int]:
        """Return the rows from ``start`` to ``stop``, and the number of infinite values in them."""
        if start == stop:
            return np.empty((0, self.shape[1]), dtype=self.dtype), 0
        end = stop + (self.changes != "none")
        if self.rows is None:
            block = self.source.read(self.columns, start, end)
        else:
            kept = self.rows[start:end]
            block = self.source.read(self.columns, int(kept[0]), int(kept[-1]) + 1)
            block = block[kept - kept[0]]
        block = np.array(block, dtype=self.dtype if block.dtype == self.dtype else np.float64)
        infinite = np.isinf(block)
        block[infinite] = np.nan
        for place, code in self.codes:
            column = block[:, place]
            column[column == block.dtype.type(code)] = np.nan
        if self.changes != "none":
            block = np.diff(np.log(block) if self.changes == "relative" else block, axis=0)
        if self.mean is not None:
            block = (block - self.mean) / self.scale
        return block.astype(self.dtype, copy=False), int(infinite.sum())

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, a chunk at a time."""
        return (self[rows] for rows in row_slices(self))

    @cached_property
    def summary(self) -> ColumnSummary:
        """Statistics of the columns, from one pass over the file."""
        nodes, infinite = self.shape[1], 0
        number, mean, squares = np.zeros((3, nodes))
        least, greatest = np.full(nodes, np.nan), np.full(nodes, np.nan)
        for rows in row_slices(self):
            block, found = self._block(rows.start, rows.stop)
            infinite += found
            least = np.fmin(least, np.fmin.reduce(block, axis=0))
            greatest = np.fmax(greatest, np.fmax.reduce(block, axis=0))
            there = np.isfinite(block)
            count = there.sum(axis=0)
            some = np.where(there, block, 0).astype(np.float64)
            own = some.sum(axis=0) / np.maximum(count, 1)
            around = np.where(there, np.square(some - own), 0).sum(axis=0)
            total = np.maximum(number + count, 1)
            squares += around + np.square(own - mean) * number * count / total
            mean += (own - mean) * count / total
            number += count
        blank = np.where(number > 0, 0.0, np.nan)
        spread = np.sqrt(squares / np.maximum(number, 1))
        missing = (len(self) - number).astype(np.int64)
        return ColumnSummary(missing, mean + blank, spread + blank, least, greatest, infinite)

    def rows_where(self, gaps: str) -> Booleans:
        """Return for each row whether "any" or "all" of its values are missing."""
        found = [getattr(np.isnan(block), gaps)(axis=1) for block in self.blocks()]
        return np.concatenate(found)


def summarise_columns(values: Any) -> ColumnSummary:
    """Return the statistics of the columns of an array (T, N), in memory or lazy."""
    if isinstance(values, LazySignals):
        return values.summary
    least, greatest = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    blank = np.isnan(least)
    # Scaling by powers of two is exact and keeps squares from overflowing or underflowing.
    size = np.where(blank, 0.0, np.maximum(np.abs(least), np.abs(greatest)))
    unit = np.ldexp(1.0, np.where(size > 0, np.frexp(size)[1] - 1, 0))
    scaled = values / unit
    scaled[:, blank] = 0
    mean, spread = np.nanmean(scaled, axis=0) * unit, np.nanstd(scaled, axis=0) * unit
    mean[blank] = spread[blank] = np.nan
    return ColumnSummary(np.isnan(values).sum(axis=0), mean, spread, least, greatest)
