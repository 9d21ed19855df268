"""Read delimited text (CSV, TSV, ...) in blocks of rows; columns are numbers or text."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.dialect import COMMENT, DELIMITERS, Dialect, find_dialect, rows_of, shorten
from graphdict.app.files.errors import InputError
from graphdict.app.files.numbers import CellParser
from graphdict.app.files.patterns import matching_names
from graphdict.app.files.table import Column, Table, quote_names
from graphdict.app.files.text import detect_encoding, open_text

FIRST_LINES, FIRST_BYTES = 120, 1 << 22
BLOCK_CELLS = 1 << 14


class _ColumnBuilder:
    """A column that is read block by block: numbers, unless most of its first cells are text."""

    def __init__(self, name: str, parser: CellParser, strict: bool):
        self.name, self.parser, self.strict = name, parser, strict
        self.parts: list[NDArray[Any]] = []
        self.is_text: bool | None = None  # unknown while all cells are missing
        self.known: dict[str, str] = {}  # equal texts share one string

    def add(self, cells: tuple[str, ...], line: Iterable[int]) -> None:
        """Add the cells of a block; ``line`` are their line numbers, for errors."""
        if self.is_text:
            self.parts.append(self._texts(cells))
            return
        values, wrong = self.parser.read(cells)
        present = len(cells) - int(np.isnan(values).sum()) + len(wrong)
        labels = self.parser.labels(cells)
        is_text = len(wrong) > present / 2 or len(labels) > present / 10
        if is_text and self.is_text is None and not self.strict:
            self.is_text = True
            blank = [np.full(len(part), None, dtype=object) for part in self.parts]
            self.parts = [*blank, self._texts(cells)]
            return
        wrong = sorted({*wrong, *labels})
        if wrong:
            lines = list(line)
            more = f" (and {len(wrong) - 1} more like it nearby)" if len(wrong) > 1 else ""
            cell = cells[wrong[0]].strip()
            raise InputError(
                f"column {self.name!r} has text in line {lines[wrong[0]]}: "
                f"{shorten(cell)}{more}; correct it, read it as missing (na=[{cell[:20]!r}]) or "
                f"leave the column out (ignore=[{self.name!r}])"
            )
        if present:
            self.is_text = False
        self.parts.append(values)

    def _texts(self, cells: tuple[str, ...]) -> NDArray[Any]:
        texts = np.empty(len(cells), dtype=object)
        for index, cell in enumerate(cells):
            stripped = cell.strip()
            if not self.parser.is_missing(stripped):
                texts[index] = self.known.setdefault(stripped, stripped)
        if len(self.known) > 1 << 16:
            self.known = {}
        return texts

    def finish(self, unit: str | None) -> Column:
        """Return the whole column; ``unit`` is the one of a row of units, if any."""
        values = np.concatenate(self.parts) if self.parts else np.empty(0)
        self.parts = []
        units = {} if self.is_text else self.parser.units
        if len(units) > 1:
            raise InputError(
                f"column {self.name!r} mixes units: {quote_names(list(units))}; bring it to one"
            )
        return Column(self.name, values, unit or next(iter(units), None))


def read_delimited(path: Path, encoding: str | None = None, **layout: Any) -> Table:
    """Read a text table; ``layout`` are arguments of `parse_delimited`.

    What is not given is detected.
    """
    encoding, notes = detect_encoding(path, encoding)
    return parse_delimited(lambda: open_text(path, encoding), notes, **layout)


def parse_delimited(
    open_lines: Callable[[], AbstractContextManager[Iterable[str]]],
    notes: list[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    na: frozenset[str] = frozenset(),
    numeric: frozenset[str] = frozenset(),
    ignore: frozenset[str] = frozenset(),
    widest: int | None = None,
) -> Table:
    """Return the table in lines of text, which ``open_lines`` opens from their start.

    Columns in ``numeric`` must hold numbers; those in ``ignore`` (names or patterns) are not
    parsed. A table of more columns than ``widest`` is refused.
    """
    with open_lines() as file:
        first = _first_lines(file)
    if widest is not None:
        _check_width(first, widest)
    dialect = find_dialect(first, delimiter=delimiter, decimal=decimal, header=header)
    names = _names(dialect)
    notes += dialect.notes
    skipped = matching_names(names, ignore, "ignore")
    if dialect.names is None:
        notes.append(f"there is no header: columns are named {names[0]} to {names[-1]}")
    builders = [
        None
        if name in skipped
        else _ColumnBuilder(name, CellParser(dialect.decimal, na), name in numeric)
        for name in names
    ]
    lines: list[NDArray[Any]] = []
    try:
        with open_lines() as file:
            for rows, numbers in _blocks(file, dialect, builders):
                lines.append(numbers)
                for builder, cells in zip(builders, zip(*rows)):
                    if builder is not None:
                        builder.add(cells, numbers)
    except csv.Error as error:
        raise InputError(f"cannot be read as a table: {error}; a quote may be unclosed") from None
    except (EOFError, OSError, UnicodeError) as error:
        raise InputError(f"cannot be read to its end: {error}") from None
    if not lines:
        raise InputError("has a header but no rows" if dialect.names else "has no rows")
    units = dialect.units or [""] * len(names)
    columns = [c.finish(unit.strip("[]()- ") or None) for c, unit in zip(builders, units) if c]
    notes += _parser_notes([c.parser for c in builders if c is not None and not c.is_text])
    return Table(columns, notes, np.concatenate(lines), ignore)


def _first_lines(file: Iterable[str]) -> list[str]:
    """Return the first lines of a file: at least three, and more unless they are long."""
    lines, size = [], 0
    for line in islice(file, FIRST_LINES):
        lines.append(line)
        size += len(line)
        if size > FIRST_BYTES and len(lines) >= 3:
            break
    return lines


def _check_width(lines: list[str], widest: int) -> None:
    """Raise InputError where every delimiter that may be one cuts lines into too many cells."""
    full = [line for line in lines if line.strip()]
    counts = [1 + min((line.count(cut) for line in full), default=0) for cut in DELIMITERS]
    if max(counts) > widest:
        raise InputError(
            f"has {max(counts):,} columns, and graphs have at most {widest:,} nodes; if rows are "
            "nodes, use transpose=True"
        )


def _names(dialect: Dialect) -> list[str]:
    if dialect.names is None:
        return [f"x{i}" for i in range(dialect.width)]
    if len(dialect.names) != dialect.width:
        raise InputError(
            f"has a header of {len(dialect.names)} names above rows of {dialect.width} values"
        )
    return [" ".join(name.split()) for name in dialect.names]


def _blocks(
    file: Iterable[str], dialect: Dialect, builders: list[_ColumnBuilder | None]
) -> Iterator[tuple[list[list[str]], NDArray[Any]]]:
    """Yield blocks of rows of equal width, and the line of the file on which each row starts.

    Blocks of plain numbers, which most are, are added to the columns here, and yield no rows.
    """
    source = islice(file, dialect.first, None)
    size = max(1, BLOCK_CELLS // dialect.width)
    position = dialect.first + 1
    while lines := list(islice(source, size)):
        if _add_plain(lines, dialect, builders):
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


def _add_plain(lines: list[str], dialect: Dialect, builders: list[_ColumnBuilder | None]) -> bool:
    """Add lines of plain numbers with NumPy's fast reader; return whether that was possible."""
    cut = dialect.delimiter
    if dialect.decimal == "," or cut == " " or any(c and c.is_text is None for c in builders):
        return False
    text = "".join(lines)
    if any(mark in text for mark in (dialect.quote, "#", "%", "!", "//", "_", "\0")):
        return False
    if any(line.count(cut) != dialect.width - 1 for line in lines):
        return False
    indices = [index for index, column in enumerate(builders) if column and not column.is_text]
    try:
        values = np.loadtxt(lines, np.float64, None, cut, usecols=indices, ndmin=2)
    except ValueError:
        return False
    if len(values) != len(lines) or np.isnan(values).any():
        return False
    for index, numbers in zip(indices, values.T):
        column = builders[index]
        assert column is not None
        column.parts.append(column.parser.mark_missing(np.ascontiguousarray(numbers)))
    for index, column in enumerate(builders):
        if column and column.is_text:
            cells = tuple(line.split(cut, index + 1)[index].rstrip("\r\n") for line in lines)
            column.add(cells, ())
    return True


def _ragged(row: list[str], line: int, dialect: Dialect) -> str:
    hint = ""
    if any("\n" in cell for cell in row):
        hint = "; a quote is not closed"
    elif len(row) < dialect.width:
        hint = "; it may be cut off"
    return f"line {line} has {len(row)} value(s) where the other lines have {dialect.width}{hint}"


def _parser_notes(parsers: list[CellParser]) -> list[str]:
    """Return notes on cells that were no plain numbers."""
    notes = []
    written: Counter = sum((parser.written for parser in parsers), Counter())
    if written:
        total = sum(written.values())
        ways = ", ".join(f"{text!r}" if text else "empty" for text, _ in written.most_common(4))
        notes.append(f"{total:,} missing value(s), written as {ways}")
    if infinite := sum(parser.infinite for parser in parsers):
        notes.append(f"{infinite:,} infinite value(s), read as missing")
    if sum(parser.grouped for parser in parsers):
        notes.append("digits are grouped by thousands: separators were taken out")
    if sum(parser.bracketed for parser in parsers):
        notes.append("numbers in parentheses were read as negative")
    units = sorted({unit for parser in parsers for unit in parser.units})
    if units:
        notes.append(f"cells have units, which were taken out: {', '.join(units)}")
    return notes
