"""Detect the layout of a text file: delimiter, decimal sign, preamble, header, units."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphdict.app.files.errors import InputError
from graphdict.app.files.headers import (
    as_wide,
    has_only_first,
    is_header,
    is_text_row,
    is_under_header,
    joined_headers,
    numeric_columns,
)
from graphdict.app.files.numbers import CellParser
from graphdict.app.files.times import looks_like_time

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "spaces"}
COMMENT = re.compile(r"\s*(?:#(?!N/A|NA\b|VALUE|DIV|REF|NAME|NUM|NULL)|%|//|!)", re.IGNORECASE)
SIGNS = "€$£¥%"  # of currencies and shares, before or after a number
DECIMAL_COMMA = re.compile(rf"[\s{SIGNS}]*[+-]?\d+,\d+(?:[eE][+-]?\d+)?[\s{SIGNS}]*")
DECIMAL_POINT = re.compile(rf"[\s{SIGNS}]*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?[\s{SIGNS}]*")
DECLARED = re.compile(r"\s*\"?sep=(.)\"?\s*", re.IGNORECASE)
SAMPLE_ROWS, SAMPLE_CELLS = 40, 5_000  # from which the delimiter is detected


@dataclass
class Dialect:
    """Layout of a text file, with notes on what was detected."""

    delimiter: str
    decimal: str
    quote: str
    first: int  # line of the file, counted from 0, on which the data start
    width: int
    names: list[str] | None = None
    units: list[str] | None = None
    notes: list[str] = field(default_factory=list)


def rows_of(lines: Iterable[str], delimiter: str, quote: str = '"') -> Any:
    """Return a csv.reader over the lines; a blank line has no cells."""
    if delimiter == " ":
        lines = (" ".join(line.split()) for line in lines)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=True)


def find_dialect(
    lines: Sequence[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
) -> Dialect:
    """Return the layout of a file from its first lines; what is not given is detected."""
    if not any(line.strip() for line in lines):
        raise InputError("is empty")
    quote = _quote(lines)
    comments = [i for i, line in enumerate(lines) if COMMENT.match(line)]
    if declared := DECLARED.fullmatch(lines[0]):  # as Excel writes it
        comments = [0, *comments]
        delimiter = delimiter or declared[1]
    body = [i for i, line in enumerate(lines) if line.strip() and i not in set(comments)]
    if not body:
        raise InputError("holds comments only")
    text = [lines[i] for i in body]
    if delimiter is None:
        delimiter = _delimiter(text, quote)
    rows, starts = [], []
    try:
        reader = rows_of(text, delimiter, quote)
        while reader.line_num < len(text):  # a quoted name may span several lines
            starts.append(body[reader.line_num])
            rows.append(next(reader))
    except (csv.Error, StopIteration) as error:
        raise InputError(f"cannot be read as a table: {error}") from None
    body = starts
    found = Dialect(delimiter, decimal or _decimal(rows, delimiter), quote, 0, 0)
    _find_start(found, rows, body, header)
    _use_comments(found, lines, comments, body, header)
    if found.delimiter not in (",", "\t"):
        found.notes.append(f"cells are separated by {DELIMITERS.get(delimiter, repr(delimiter))}")
    if found.decimal == ",":
        found.notes.append("numbers have decimal commas")
    return found


def _quote(lines: Sequence[str]) -> str:
    """Return the quote sign: single where the first line has several of them and no double ones."""
    first = next(line for line in lines if line.strip())
    return (
        "'" if '"' not in first and first.lstrip().startswith("'") and first.count("'") > 2 else '"'
    )


def _delimiter(text: Sequence[str], quote: str) -> str:
    """Return the delimiter that splits most lines into equally many cells, and into numbers.

    Spaces come last: other delimiters are often followed by one.
    """
    best, choice = (0.0, 0.0, 0.0), None
    tail = text[-SAMPLE_ROWS:]
    for candidate in DELIMITERS:
        try:
            rows = [row for row in rows_of(tail, candidate, quote) if row]
        except csv.Error:
            continue
        widths = Counter(len(row) for row in rows)
        width, count = widths.most_common(1)[0]
        if width < 2:
            continue
        decimal = _decimal(rows, candidate)
        parser = CellParser(decimal)
        cells = [c.strip(f" {SIGNS}") for row in rows if len(row) == width for c in row]
        cells = cells[:SAMPLE_CELLS]
        good = sum(parser.number(c) is not None or looks_like_time(c) for c in cells) / len(cells)
        score = (round(count / len(rows), 1) * (0.2 + good), good, -float(candidate == " "))
        if score > best:
            best, choice = score, candidate
    return "," if choice is None else choice


def _decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return "," where cells have decimal commas and none has a decimal point, else "."."""
    if delimiter == ",":
        quoted = [cell for row in rows for cell in row if "," in cell]
        if not quoted or any(
            "." in cell and DECIMAL_POINT.fullmatch(cell) for row in rows for cell in row
        ):
            return "."
    commas = sum(bool(DECIMAL_COMMA.fullmatch(cell)) for row in rows for cell in row)
    points = sum(bool(DECIMAL_POINT.fullmatch(cell)) for row in rows for cell in row)
    thousands = all(
        re.fullmatch(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", cell)
        for row in rows
        for cell in row
        if DECIMAL_COMMA.fullmatch(cell)
    )
    return "," if commas > points and not (thousands and delimiter == ",") else "."


def _find_start(
    found: Dialect, rows: list[list[str]], body: list[int], header: bool | None
) -> None:
    """Set the header, the units below it, and the first line of data of ``found``."""
    parser = CellParser(found.decimal)
    tail = rows[len(rows) // 2 :] if len(rows) > 3 else rows[-1:]
    found.width = Counter(len(row) for row in tail).most_common(1)[0][0]
    trailing = all(not row[-1].strip() for row in tail if len(row) == found.width)
    widths = {found.width, found.width - 1} if found.width > 2 else {found.width}
    start = next((i for i, row in enumerate(rows) if len(row) == found.width), 0)
    # A header may lack the name of an index column, or the delimiter at the end of a row.
    if start and len(rows[start - 1]) in widths and is_text_row(rows[start - 1], parser):
        start -= 1
    if start and header is not False and not is_text_row(rows[start], parser):
        line = body[start - 1] + 1
        if is_text_row(rows[start - 1], parser) and len(rows[start - 1]) > 1:
            raise InputError(
                f"has a header of {len(rows[start - 1])} names (line {line}) above rows of "
                f"{found.width} values"
            )
    numeric = numeric_columns(rows[start + 1 :], found.width, parser)
    if header is None:
        header = is_header(rows[start], rows[start + 1 :], numeric, parser)
    if start and header:
        preamble = shorten(found.delimiter.join(rows[0]))
        found.notes.append(f"skipped {start} line(s) before the table: {preamble} first")
    elif start:
        start = 0  # not a preamble but a ragged row, which the reader reports
    at = start
    if header and len(rows[at]) == found.width - 1 and not trailing:
        first = [row[0].strip() for row in rows[at + 1 :] if len(row) == found.width]
        if not _counted(first) and any(parser.number(cell) is not None for cell in first):
            raise InputError(
                f"has a header of {len(rows[at])} names (line {body[at] + 1}) above rows of "
                f"{found.width} values"
            )
        found.notes.append("the header has no name for the first column")
    if header:
        found.names = as_wide(rows[at], found.width, trailing)
        at += 1
        skipped = []
        while at < len(rows) - 1 and at < start + 4 and is_under_header(rows[at], numeric, parser):
            skipped.append(as_wide(rows[at], found.width, trailing))
            at += 1
        if skipped and (joined := joined_headers(found.names, skipped[0])):
            found.names = joined
            found.notes.append(f"the header has two rows, joined: {shorten(', '.join(joined))}")
            skipped = skipped[1:]
            if at < len(rows) - 1 and has_only_first(rows[at]):  # pandas names the index there
                found.names[0] = rows[at][0].strip()
                at += 1
        if skipped:
            found.units = skipped[0]
            found.notes.append(
                f"the row beneath the header holds units: {shorten(', '.join(skipped[0]))}"
            )
            if len(skipped) > 1:
                found.notes.append(f"skipped {len(skipped) - 1} more row(s) of text beneath it")
    found.first = body[at] if at < len(body) else body[-1] + 1


def _use_comments(
    found: Dialect, lines: Sequence[str], comments: list[int], body: list[int], header: bool | None
) -> None:
    """Note that comments are skipped; use the last one before the data as a header if it fits."""
    before = [i for i in comments if i < body[0]]
    if not comments:
        return
    found.notes.append(f"skipped {len(comments)} comment line(s)")
    if found.names is not None or header is False or not before:
        return
    stripped = lines[before[-1]].lstrip().lstrip("#%/!").strip()
    names: list[str] = next(iter(rows_of([stripped], found.delimiter, found.quote)), [])
    if len(names) == found.width and is_text_row(names, CellParser(found.decimal)):
        found.names = names
        found.notes[-1] += ", the last of which names the columns"


def _counted(cells: Sequence[str]) -> bool:
    """Return whether cells are row numbers: 1, 2, 3, ..."""
    start = int(cells[0]) if cells[0].isdecimal() else 0
    return list(cells) == [str(start + place) for place in range(len(cells))]


def shorten(text: str) -> str:
    """Return text quoted, cut to 60 characters."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
