"""Tell the rows above a text table apart: names of columns, units, the second row of a header."""

from __future__ import annotations

from collections.abc import Sequence

from graphdict.app.files.numbers import CellParser
from graphdict.app.files.times import looks_like_time

SAMPLE_CELLS = 20_000  # of which a table's first rows are looked at, but no fewer than three rows


def is_text_row(row: Sequence[str], parser: CellParser) -> bool:
    """Return whether no cell is a number or a time, and some cell is not empty."""
    return any(cell.strip() for cell in row) and not any(
        (parser.number(cell) is not None and not parser.is_missing(cell)) or looks_like_time(cell)
        for cell in row
    )


def numeric_columns(rows: list[list[str]], width: int, parser: CellParser) -> list[bool]:
    """Return for each column whether it holds mostly numbers or times."""
    kinds = []
    whole = [row for row in rows if len(row) == width][: max(3, SAMPLE_CELLS // width)]
    for column in range(width):
        cells = [row[column] for row in whole]
        cells = [cell for cell in cells if not parser.is_missing(cell)]
        good = sum(parser.number(cell) is not None or looks_like_time(cell) for cell in cells)
        kinds.append(bool(cells) and good > len(cells) / 2)
    return kinds


def is_header(
    first: list[str], below: list[list[str]], numeric: list[bool], parser: CellParser
) -> bool:
    """Return whether the first row is a header."""
    if is_text_row(first, parser):
        # Text above columns of text only may be data: a table without any number.
        return any(numeric) or not below
    cells = [cell.strip() for cell in first if cell.strip()]
    counted = [str(i) for i in range(len(cells))]
    if len(cells) > 2 and cells in (counted, [str(i + 1) for i in range(len(cells))]):
        # Column numbers 0, 1, 2, ... are a header, unless the next row repeats them.
        return any([c.strip() for c in row if c.strip()] != cells for row in below[:1])
    names = [
        cell for cell, is_numeric in zip(first[-len(numeric) :], numeric)
        if is_numeric and cell.strip() and not parser.is_missing(cell)
    ]  # fmt: skip
    texts = [c for c in names if parser.number(c) is None and not looks_like_time(c)]
    return len(texts) > len(names) / 2


def is_under_header(row: list[str], numeric: list[bool], parser: CellParser) -> bool:
    """Return whether a row below the header is text where the data are numbers."""
    cells = [cell for cell, is_numeric in zip(row, numeric) if is_numeric]
    present = [cell for cell in cells if not parser.is_missing(cell)]
    return bool(present) and not any(
        parser.number(cell) is not None or looks_like_time(cell) for cell in present
    ) and 2 * len(present) >= len(cells)  # fmt: skip


def joined_headers(first: list[str], second: list[str]) -> list[str] | None:
    """Return the names that two rows make together; None where the first is enough.

    It is not where names repeat, or are blank because one name stands for several columns.
    """
    above, last = [], ""
    for name in first:
        last = name.strip() or last
        above.append(last)
    if len(set(above)) == len(above):
        return None
    joined = [" ".join(dict.fromkeys([a, b.strip()])).strip() for a, b in zip(above, second)]
    return joined if len(set(joined)) == len(joined) else None


def has_only_first(row: list[str]) -> bool:
    """Return whether a row has text in its first cell and nothing else."""
    return bool(row) and bool(row[0].strip()) and not any(cell.strip() for cell in row[1:])


def as_wide(row: list[str], width: int, trailing: bool) -> list[str]:
    """Pad a header to ``width`` names, at its end where rows have a trailing delimiter."""
    if len(row) < width:
        pad = [""] * (width - len(row))
        return [*row, *pad] if trailing else [*pad, *row]
    return row
