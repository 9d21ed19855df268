"""CSV and its relatives, read in blocks of rows: cells become numbers or stay text."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.dialect import COMMENT, Dialect, find_dialect, rows_of
from graphdict.app.files.errors import InputError
from graphdict.app.files.numbers import Reader
from graphdict.app.files.table import Column, Table, listed
from graphdict.app.files.text import encoding_of, open_text

__all__ = ["read_delimited"]

FIRST_LINES = 120
BLOCK_CELLS = 1 << 14


class _Growing:
    """A column as it grows: numbers until it proves to be text."""

    def __init__(self, name: str, reader: Reader, strict: bool):
        self.name, self.reader, self.strict = name, reader, strict
        self.parts: list[NDArray] = []
        self.is_text: bool | None = None
        self.known: dict[str, str] = {}  # equal texts share one string

    def add(self, cells: tuple[str, ...], line: Iterable[int]) -> None:
        if self.is_text:
            self.parts.append(self._texts(cells))
            return
        values, wrong = self.reader.read(cells)
        present = len(cells) - int(np.isnan(values).sum()) + len(wrong)
        if wrong and self.is_text is None and len(wrong) > present / 2 and not self.strict:
            self.is_text = True
            blank = [np.full(len(part), None, dtype=object) for part in self.parts]
            self.parts = [*blank, self._texts(cells)]
            return
        if wrong:
            lines = list(line)
            more = f" (and {len(wrong) - 1} more like it nearby)" if len(wrong) > 1 else ""
            cell = cells[wrong[0]].strip()
            raise InputError(
                f"column {self.name!r} has text in line {lines[wrong[0]]}: "
                f"{_clipped(cell)}{more}; correct it, read it as missing (--na {cell[:20]!r}) or "
                f"leave the column out (--ignore {self.name!r})"
            )
        if present:
            self.is_text = False
        self.parts.append(values)

    def _texts(self, cells: tuple[str, ...]) -> NDArray:
        texts = np.empty(len(cells), dtype=object)
        for place, cell in enumerate(cells):
            stripped = cell.strip()
            if not self.reader.is_missing(stripped):
                texts[place] = self.known.setdefault(stripped, stripped)
        if len(self.known) > 1 << 16:
            self.known = {}
        return texts

    def finish(self, unit: str | None) -> Column:
        values = np.concatenate(self.parts) if self.parts else np.empty(0)
        self.parts = []
        units = self.reader.units
        if len(units) > 1:
            raise InputError(
                f"column {self.name!r} mixes units: {listed(list(units))}; bring it to one"
            )
        return Column(self.name, values, unit or next(iter(units), None))


def read_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    na: frozenset[str] = frozenset(),
    numeric: frozenset[str] = frozenset(),
    ignore: frozenset[str] = frozenset(),
) -> Table:
    """Read a text table; ``numeric`` columns must hold numbers, ``ignore`` is not looked at."""
    encoding, notes = encoding_of(path, encoding)
    with open_text(path, encoding) as file:
        dialect = find_dialect(
            list(islice(file, FIRST_LINES)), delimiter=delimiter, decimal=decimal, header=header
        )
    names = _names(dialect)
    notes += dialect.notes
    if dialect.names is None:
        notes.append(f"there is no header: columns are named {names[0]} to {names[-1]}")
    growing = [
        None if name in ignore else _Growing(name, Reader(dialect.decimal, na), name in numeric)
        for name in names
    ]
    lines: list[NDArray] = []
    try:
        with open_text(path, encoding) as file:
            for rows, numbers in _blocks(file, dialect, growing):
                lines.append(numbers)
                _add(rows, numbers, growing)
    except csv.Error as error:
        raise InputError(f"cannot be read as a table: {error}; a quote may be unclosed") from None
    except (EOFError, OSError, UnicodeError) as error:
        raise InputError(f"cannot be read to its end: {error}") from None
    if not lines:
        raise InputError("has a header but no rows" if dialect.names else "has no rows")
    units = dialect.units or [""] * len(names)
    columns = [c.finish(unit.strip("[]()- ") or None) for c, unit in zip(growing, units) if c]
    notes += _met([c.reader for c in growing if c is not None and not c.is_text])
    return Table(columns, notes, np.concatenate(lines))


def _names(dialect: Dialect) -> list[str]:
    if dialect.names is None:
        return [f"x{i}" for i in range(dialect.width)]
    if len(dialect.names) != dialect.width:
        raise InputError(
            f"has a header of {len(dialect.names)} names above rows of {dialect.width} values"
        )
    return [" ".join(name.split()) for name in dialect.names]


def _blocks(
    file: Iterable[str], dialect: Dialect, growing: list[_Growing | None]
) -> Iterator[tuple[list[list[str]], NDArray]]:
    """Rows of equal width, many at a time, and the line of the file on which each starts.

    Blocks of plain numbers, which most are, go straight into the columns: no rows are left of them.
    """
    source = islice(file, dialect.first, None)
    size = max(1, BLOCK_CELLS // dialect.width)
    position = dialect.first + 1
    while lines := list(islice(source, size)):
        if _add_plain(lines, dialect, growing):
            yield [], np.arange(position, position + len(lines))
            position += len(lines)
            continue
        # A quoted cell may hold line breaks, and end after this block.
        reader = rows_of(chain(lines, source), dialect.delimiter, dialect.quote)
        rows, starts = [], []
        while reader.line_num < len(lines):
            line = reader.line_num
            row = next(reader, None)
            if row is None:
                break
            if not row or (
                COMMENT.match(lines[line]) and not lines[line].startswith(dialect.quote)
            ):
                continue
            if len(row) != dialect.width:
                raise InputError(_ragged(row, position + line, dialect))
            rows.append(row)
            starts.append(position + line)
        position += reader.line_num
        if rows:
            yield rows, np.array(starts, dtype=np.int64)


def _add_plain(lines: list[str], dialect: Dialect, growing: list[_Growing | None]) -> bool:
    """Add lines of plain numbers beside known columns of text, by NumPy's fast reader."""
    cut = dialect.delimiter
    if dialect.decimal == "," or cut == " " or any(c and c.is_text is None for c in growing):
        return False
    text = "".join(lines)
    if any(mark in text for mark in (dialect.quote, "#", "%", "!", "//", "_", "\0")):
        return False
    if any(line.count(cut) != dialect.width - 1 for line in lines):
        return False
    places = [place for place, column in enumerate(growing) if column and not column.is_text]
    try:
        values = np.loadtxt(lines, np.float64, None, cut, usecols=places, ndmin=2)
    except ValueError:
        return False
    if len(values) != len(lines) or np.isnan(values).any():
        return False
    for place, numbers in zip(places, values.T):
        column = growing[place]
        assert column is not None
        column.parts.append(column.reader.settle(np.ascontiguousarray(numbers)))
    for place, column in enumerate(growing):
        if column and column.is_text:
            cells = tuple(line.split(cut, place + 1)[place].rstrip("\r\n") for line in lines)
            column.add(cells, ())
    return True


def _add(rows: list[list[str]], numbers: NDArray, growing: list[_Growing | None]) -> None:
    for column, cells in zip(growing, zip(*rows)):
        if column is not None:
            column.add(cells, numbers)


def _ragged(row: list[str], line: int, dialect: Dialect) -> str:
    hint = ""
    if any("\n" in cell for cell in row):
        hint = "; a quote is not closed"
    elif len(row) < dialect.width:
        hint = "; it may be cut off"
    return f"line {line} has {len(row)} value(s) where the other lines have {dialect.width}{hint}"


def _met(readers: list[Reader]) -> list[str]:
    """What to say about cells that were no plain numbers."""
    notes = []
    written: Counter = sum((reader.written for reader in readers), Counter())
    if written:
        total = sum(written.values())
        ways = ", ".join(f"{text!r}" if text else "empty" for text, _ in written.most_common(4))
        notes.append(f"{total:,} missing value(s), written as {ways}")
    if infinite := sum(reader.infinite for reader in readers):
        notes.append(f"{infinite:,} infinite value(s), read as missing")
    if sum(reader.grouped for reader in readers):
        notes.append("digits are grouped by thousands: separators were taken out")
    units = sorted({unit for reader in readers for unit in reader.units})
    if units:
        notes.append(f"cells have units, which were taken out: {', '.join(units)}")
    return notes


def _clipped(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
