"""Read Parquet, NPY and Zarr files a chunk of rows at a time."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.arrays import open_npy
from graphdict.app.files.errors import InputError, damage_named
from graphdict.app.files.parquet import UNNAMED, column_values, display_name, open_parquet
from graphdict.app.files.table import Column, Table, quote_names
from graphdict.app.files.zarrs import open_zarr
from graphdict.engine.sources import release_pages

BATCH = 1 << 16  # rows that Parquet decodes at a time, where they are short
BATCH_BYTES = 1 << 23


def open_chunked_reader(path: Path, kind: str, array: str | None, transpose: bool) -> Any:
    """Return a reader of chunks of rows; None for files that can only be read as a whole.

    Readers have ``path``, ``length`` (rows), ``names`` (columns), ``cheap_to_reread``, and the
    methods ``dtype``, ``read``, ``head`` and ``column``.
    """
    if kind == "parquet":
        with open(path, "rb") as file:
            feather = not file.read(4).startswith(b"PAR1")
        return None if feather or transpose else ParquetReader(path)
    if kind == "npy" or (kind == "zarr" and not transpose):
        made = ArrayReader(path, kind, array, transpose)
        usable = made.open()
        plain = usable.ndim == 2 and usable.dtype.kind in "fiub" and usable.size
        return made if plain else None
    return None


class ArrayReader:
    """Reader of an array (T, N) in NPY or Zarr format."""

    def __init__(self, path: Path, kind: str, array: str | None, transpose: bool):
        self.path, self.kind, self.array = path.resolve(), kind, array
        self.transpose = transpose
        self.cheap_to_reread = kind == "npy"
        shape = self.open().shape
        self.length = shape[0] if shape else 0
        self.names = [f"x{i}" for i in range(shape[1] if len(shape) > 1 else 0)]

    def open(self) -> Any:
        """Return the array, as a memory map or a Zarr array."""
        if self.kind == "npy":
            opened = open_npy(self.path)
            return opened.T if self.transpose else opened
        return open_zarr(self.path, self.array)

    def dtype(self, columns: list[int]) -> np.dtype:
        """Return float32 or float64: the precision of the file."""
        return np.dtype(np.float32 if self.open().dtype in (np.float16, np.float32) else np.float64)

    def read(self, columns: list[int], start: int, stop: int) -> NDArray[Any]:
        """Return the rows from ``start`` to ``stop`` of some columns, (stop - start, n)."""
        opened = self.open()
        with damage_named(f"{self.path} cannot be read to its end"):
            block = np.asarray(opened[start:stop])
        if len(columns) < block.shape[1] or columns != sorted(columns):
            block = block[:, columns]
        if isinstance(opened, np.memmap):
            block = np.array(block)
            release_pages(opened)
        return block

    def head(self, rows: int) -> Table:
        """Return the first rows as a table."""
        block = self.read(list(range(len(self.names))), 0, min(rows, self.length))
        block = np.where(np.isinf(block), np.nan, block.astype(np.float64))
        return Table([Column(name, column) for name, column in zip(self.names, block.T)])

    def column(self, index: int) -> NDArray[Any]:
        """Return all rows of a column (T,)."""
        with damage_named("cannot be read to its end"):
            return np.array(self.open()[:, index], dtype=np.float64)


class ParquetReader:
    """Reader of the flat columns of a Parquet file, fastest where chunks follow each other."""

    cheap_to_reread = False

    def __init__(self, path: Path):
        self.path = path.resolve()
        self._lock = threading.Lock()
        self._reset()
        opened = open_parquet(self.path)
        self.length = opened.metadata.num_rows
        groups = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
        self.ends = np.cumsum(groups)
        schema = opened.schema_arrow
        self.names, self.types = list(schema.names), list(schema.types)

    def _reset(self) -> None:
        """Close the file and forget the decoded batches."""
        self._open: Any = None
        self._columns: list[int] | None = None
        self._held: deque[tuple[int, NDArray[Any]]] = deque()
        self._next = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._reset()

    def dtype(self, columns: list[int]) -> np.dtype:
        """Return float32 where all these columns have at most that precision, else float64."""
        short = all(str(self.types[index]) in ("float", "halffloat") for index in columns)
        return np.dtype(np.float32 if short else np.float64)

    def read(self, columns: list[int], start: int, stop: int) -> NDArray[Any]:
        """Return the rows from ``start`` to ``stop`` of some columns, (stop - start, n)."""
        with self._lock:
            first = self._held[0][0] if self._held else self._next
            skipped = np.searchsorted(self.ends, start, side="right") > np.searchsorted(
                self.ends, self._next, side="right"
            )
            if columns != self._columns or start < first or skipped:
                self._seek(columns, start)
            while self._next < stop:
                with damage_named(f"{self.path} cannot be read to its end"):
                    block = self._decoded(next(self._open))
                self._held.append((self._next, block))
                self._next += len(block)
                self._forget(start)
            found = [block[max(start - at, 0) : stop - at] for at, block in self._held if at < stop]
            self._forget(stop - 1)  # differences between samples need the last row again
            if stop == self.length:
                self._reset()
            return found[0] if len(found) == 1 else np.concatenate(found)

    def _seek(self, columns: list[int], row: int) -> None:
        """Start to read at the row group that holds ``row``."""
        group = int(np.searchsorted(self.ends, row, side="right"))
        self._next = int(self.ends[group - 1]) if group else 0
        self._held.clear()
        self._columns = list(columns)
        size = max(1, min(BATCH, BATCH_BYTES // (8 * len(columns))))
        self._open = open_parquet(self.path).iter_batches(
            size, range(group, len(self.ends)), [self.names[index] for index in columns]
        )

    def _forget(self, before: int) -> None:
        """Drop the decoded batches that end at or before a row."""
        while self._held and self._held[0][0] + len(self._held[0][1]) <= before:
            self._held.popleft()

    def _decoded(self, batch: Any) -> NDArray[Any]:
        """Return a batch of rows as an array; raise InputError where a column holds text."""
        assert self._columns is not None
        found = np.empty((len(batch), len(self._columns)), dtype=self.dtype(self._columns))
        for index, column in enumerate(self._columns):
            name = self.names[column]
            values = column_values(_chunked(batch.column(batch.schema.get_field_index(name))))
            if values is None or values.dtype.kind != "f":
                rows = f"{self._next + 1:,} to {self._next + len(batch):,}"
                raise InputError(
                    f"column {name!r} has text in rows {rows}; leave it out (ignore=[{name!r}])"
                )
            found[:, index] = values
        return found

    def head(self, rows: int) -> Table:
        """Return the first rows as a table; columns that cannot be read are empty."""
        with damage_named("cannot be read as a Parquet file"):
            batch = next(open_parquet(self.path).iter_batches(rows))
        columns, odd = [], []
        for name, column in zip(self.names, batch.columns):
            values = column_values(_chunked(column))
            if values is None:
                odd.append(name)
                values = np.full(len(batch), None, dtype=object)
            elif values.dtype.kind == "f":
                values = np.where(np.isinf(values), np.nan, values)
            labels = name.startswith(UNNAMED)
            columns.append(Column(display_name(name, self.names), values, labels=labels))
        notes = []
        if odd:
            notes.append(f"left out column(s) of lists, structures or bytes: {quote_names(odd)}")
        return Table(columns, notes)

    def column(self, index: int) -> NDArray[Any]:
        """Return all rows of a column (T,)."""
        with damage_named("cannot be read as a Parquet file"):
            values = column_values(open_parquet(self.path).read([self.names[index]]).column(0))
        assert values is not None
        return values


def _chunked(column: Any) -> Any:
    import pyarrow

    return pyarrow.chunked_array([column])
