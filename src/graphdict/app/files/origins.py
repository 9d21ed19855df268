"""Files whose rows can be read some at a time: Parquet, NumPy's arrays, Zarr."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.arrays import open_npy, open_zarr
from graphdict.app.files.errors import InputError
from graphdict.app.files.parquet import UNNAMED, open_parquet, told_name, values_of
from graphdict.app.files.table import Column, Table, listed
from graphdict.engine.sources import let_go

__all__ = ["ArrayFile", "ParquetFile", "open_origin"]

BATCH = 1 << 16  # rows that Parquet decodes at a time, where they are short
BATCH_BYTES = 1 << 23


def open_origin(path: Path, kind: str, array: str | None, transpose: bool) -> Any:
    """A file of some kind to read rows from; None where it is read as a whole only."""
    if kind == "parquet":
        with open(path, "rb") as file:
            feather = not file.read(4).startswith(b"PAR1")
        return None if feather or transpose else ParquetFile(path)
    if kind == "npy" or (kind == "zarr" and not transpose):
        made = ArrayFile(path, kind, array, transpose)
        usable = made.open()
        plain = usable.ndim == 2 and usable.dtype.kind in "fiub" and usable.size
        return made if plain else None
    return None


class ArrayFile:
    """An array (T, N), in NumPy's format or Zarr."""

    def __init__(self, path: Path, kind: str, array: str | None, transpose: bool):
        self.path, self.kind, self.array = path.resolve(), kind, array
        self.transpose = transpose
        self.again = kind == "npy"  # whether reading it again costs little
        shape = self.open().shape
        self.length = shape[0] if shape else 0
        self.names = [f"x{i}" for i in range(shape[1] if len(shape) > 1 else 0)]

    def open(self) -> Any:
        if self.kind == "npy":
            opened = open_npy(self.path)
            return opened.T if self.transpose else opened  # Zarr cannot be turned without reading
        return open_zarr(self.path, self.array)

    def dtype(self, columns: list[int]) -> np.dtype:
        return np.dtype(np.float32 if self.open().dtype in (np.float16, np.float32) else np.float64)

    def read(self, columns: list[int], start: int, stop: int) -> NDArray:
        opened = self.open()
        block = np.asarray(opened[start:stop])
        if len(columns) < block.shape[1] or columns != sorted(columns):
            block = block[:, columns]
        if isinstance(opened, np.memmap):
            block = np.array(block)
            let_go(opened)
        return block

    def head(self, rows: int) -> Table:
        block = self.read(list(range(len(self.names))), 0, min(rows, self.length))
        block = np.where(np.isinf(block), np.nan, block.astype(np.float64))
        return Table([Column(name, column) for name, column in zip(self.names, block.T)])

    def column(self, place: int) -> NDArray:
        return np.array(self.open()[:, place], dtype=np.float64)


class ParquetFile:
    """The flat columns of a Parquet file. A reader goes on where it was, if it can."""

    again = False

    def __init__(self, path: Path):
        self.path = path.resolve()
        self._start()
        opened = self._file()
        self.length = opened.metadata.num_rows
        groups = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
        self.ends = np.cumsum(groups)
        schema = opened.schema_arrow
        self.names, self.types = list(schema.names), list(schema.types)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._start_over()

    def _start_over(self) -> None:
        """Let go of what is open."""
        self._open: Any = None
        self._columns: list[int] | None = None
        self._held: deque[tuple[int, NDArray]] = deque()
        self._next = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def _file(self) -> Any:
        return open_parquet(self.path)

    def dtype(self, columns: list[int]) -> np.dtype:
        short = all(str(self.types[place]) in ("float", "halffloat") for place in columns)
        return np.dtype(np.float32 if short else np.float64)

    def read(self, columns: list[int], start: int, stop: int) -> NDArray:
        with self._lock:
            first = self._held[0][0] if self._held else self._next
            skipped = np.searchsorted(self.ends, start, side="right") > np.searchsorted(
                self.ends, self._next, side="right"
            )
            if columns != self._columns or start < first or skipped:
                self._seek(columns, start)
            while self._next < stop:
                block = self._decoded(next(self._open))
                self._held.append((self._next, block))
                self._next += len(block)
                self._forget(start)
            found = [block[max(start - at, 0) : stop - at] for at, block in self._held if at < stop]
            self._forget(stop - 1)  # changes between samples begin with the last one
            if stop == self.length:
                self._start_over()
            return found[0] if len(found) == 1 else np.concatenate(found)

    def _seek(self, columns: list[int], row: int) -> None:
        group = int(np.searchsorted(self.ends, row, side="right"))
        self._next = int(self.ends[group - 1]) if group else 0
        self._held.clear()
        self._columns = list(columns)
        size = max(1, min(BATCH, BATCH_BYTES // (8 * len(columns))))
        self._open = self._file().iter_batches(
            size, range(group, len(self.ends)), [self.names[place] for place in columns]
        )

    def _forget(self, before: int) -> None:
        while self._held and self._held[0][0] + len(self._held[0][1]) <= before:
            self._held.popleft()

    def _decoded(self, batch: Any) -> NDArray:
        assert self._columns is not None
        found = np.empty((len(batch), len(self._columns)), dtype=self.dtype(self._columns))
        for place, column in enumerate(self._columns):
            name = self.names[column]
            values = values_of(_chunked(batch.column(batch.schema.get_field_index(name))))
            if values is None or values.dtype.kind != "f":
                rows = f"{self._next + 1:,} to {self._next + len(batch):,}"
                raise InputError(
                    f"column {name!r} has text in rows {rows}; leave it out (--ignore {name!r})"
                )
            found[:, place] = values
        return found

    def head(self, rows: int) -> Table:
        batch = next(self._file().iter_batches(rows))
        columns, odd = [], []
        for name, column in zip(self.names, batch.columns):
            values = values_of(_chunked(column))
            if values is None:
                odd.append(name)
                values = np.full(len(batch), None, dtype=object)
            elif values.dtype.kind == "f":
                values = np.where(np.isinf(values), np.nan, values)
            labels = name.startswith(UNNAMED)
            columns.append(Column(told_name(name, self.names), values, labels=labels))
        said = [f"left out column(s) of lists, structures or bytes: {listed(odd)}"] if odd else []
        return Table(columns, said)

    def column(self, place: int) -> NDArray:
        values = values_of(self._file().read([self.names[place]]).column(0))
        assert values is not None
        return values


def _chunked(column: Any) -> Any:
    import pyarrow

    return pyarrow.chunked_array([column])
