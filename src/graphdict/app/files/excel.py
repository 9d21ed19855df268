"""Read sheets of Excel workbooks through pandas."""

from __future__ import annotations

import csv
import datetime
import io
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from graphdict.app.files.delimited import parse_delimited
from graphdict.app.files.errors import InputError, damage_named
from graphdict.app.files.table import Table, quote_names
from graphdict.exceptions import import_extra


def read_excel(path: Path, sheet: str | None = None, **layout: Any) -> Table:
    """Read a sheet, by default the first that holds anything, as its cells would be read from CSV.

    ``layout`` are arguments of `parse_delimited`.
    """
    import_extra("openpyxl", "an Excel workbook", "tables")  # pandas reads through it
    pandas = import_extra("pandas", "an Excel workbook", "tables")
    with damage_named("cannot be read as an Excel workbook"):
        found = pandas.read_excel(path, sheet_name=None, header=None, dtype=object)
    sheets = {str(name): cells for name, cells in found.items()}
    full = [name for name, cells in sheets.items() if cells.size]
    if sheet is not None and sheet not in sheets:
        raise InputError(f"has no sheet {sheet!r}; its sheets are {quote_names(list(sheets))}")
    if not full or (sheet is not None and sheet not in full):
        raise InputError("is empty")
    chosen = sheet or full[0]
    notes = []
    if sheet is None and len(full) > 1:
        others = quote_names([name for name in full if name != chosen])
        notes.append(f"read sheet {chosen!r}, not {others} (array=... names another)")
    buffer = io.StringIO()
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(
        [_text(cell) for cell in row] for row in sheets[chosen].itertuples(index=False)
    )
    lines = buffer.getvalue().splitlines(keepends=True)
    layout = {**layout, "delimiter": "\t", "decimal": "."}
    layout.pop("encoding", None)
    return parse_delimited(lambda: nullcontext(lines), notes, **layout)


def _text(cell: Any) -> str:
    """Return a cell as text; numbers keep all digits."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, (datetime.datetime, datetime.date, datetime.time)):
        return cell.isoformat()
    return " ".join(str(cell).split())
