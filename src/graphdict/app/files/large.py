"""Tables larger than memory: the first rows tell what the columns are, and all rows are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphdict.app.files.errors import InputError
from graphdict.app.files.interpret import (
    Wishes,
    choose,
    find_time,
    is_clock,
    name_columns,
    numeric_only,
)
from graphdict.app.files.long import find_long
from graphdict.app.files.remarks import code_note, is_code, remark, times_in_order
from graphdict.app.files.stored import Stored
from graphdict.app.files.table import Column, SignalTable, Table, listed
from graphdict.app.files.units import unit_of

__all__ = ["interpret_stored"]

HEAD = 10_000


def interpret_stored(source: Any, wishes: Wishes) -> SignalTable:
    """The signals of a file, which stay there, with notes as for smaller ones."""
    table = source.head(HEAD)
    places = {id(column): place for place, column in enumerate(table.columns)}
    if len(set(source.names)) < len(source.names):
        wishes = replace(wishes, number_duplicates=False)  # which cannot be read by name
    name_columns(table, wishes)
    choose(table, wishes)
    clocks = [column for column in table.columns if _may_be_time(column, table, wishes)]
    whole = [Column(c.name, source.column(places[id(c)]), c.unit) for c in clocks]
    found = Table(whole, table.notes)
    time = find_time(found, wishes) if whole else None
    first = next((c for c in table.columns if time is not None and c.name == time.name), None)
    if find_long(table, first, wishes.node, wishes.value, wishes.layout) is not None:
        raise InputError(
            "is a long table (one row for each value), which is read into memory as a whole: raise "
            "--memory, or write it as a wide table"
        )
    taken = {time.name} if time is not None else set()
    taken |= {column.name for column in clocks if not column.numeric}
    columns = [column for column in table.columns if column.name not in taken]
    columns = numeric_only(columns, table, time, (*wishes.columns, *wishes.expected))
    index = Column("row", np.arange(source.length))
    times, unit = times_in_order(time, found, [index], wishes.sort)
    if (np.diff(index.values) < 0).any():
        raise InputError(
            "is out of order in time, and is too large for --sort: raise --memory, or sort the file"
        )
    chosen = [places[id(column)] for column in columns]
    rows = None if len(index.values) == source.length else index.values
    values = Stored(source, chosen, source.dtype(chosen), rows)
    values = _without_blanks(values, columns, table.notes, wishes.expected)
    if wishes.codes:
        values = _without_codes(values, columns, table.notes)
    full = values.rows_where("all") if values.summary.missing.max() else np.zeros(1, dtype=bool)
    if full.any():
        table.notes.append(f"left out {int(full.sum()):,} row(s) without any value")
        kept = np.arange(source.length) if values.rows is None else values.rows
        values = replace(values, rows=kept[~full])
        times = None if times is None else times[~full]
    signals = SignalTable(
        values, [column.name for column in columns], times, unit, None, table.notes,
        {c.name: u for c in columns if (u := c.unit or unit_of(c.name))},
        None if time is None else time.name,
    )  # fmt: skip
    table.notes.append("it is larger than --memory: read part by part, in its own precision")
    if values.summary.infinite:
        table.notes.append(f"{values.summary.infinite:,} infinite value(s), read as missing")
    remark(signals, wishes.rate, learn=not wishes.expected)
    return signals


def _may_be_time(column: Column, table: Table, wishes: Wishes) -> bool:
    if wishes.no_time or wishes.time is not None:
        return column.name == wishes.time
    return column.name not in wishes.expected and is_clock(column, table)


def _without_blanks(
    values: Stored, columns: list[Column], notes: list[str], expected: tuple[str, ...]
) -> Stored:
    """Without the columns that hold nothing in any row, unless they are ``expected``."""
    blank = values.summary.missing == len(values)
    if blank.all():
        raise InputError("holds no values")
    blank &= np.array([column.name not in expected for column in columns])
    if not blank.any():
        return values
    empty = [column.name for column, gone in zip(columns, blank) if gone]
    notes.append(f"left out {len(empty)} column(s) without any value: {listed(empty)}")
    kept = np.flatnonzero(~blank)
    columns[:] = [columns[place] for place in kept]
    return replace(values, columns=[values.columns[place] for place in kept])


def _without_codes(values: Stored, columns: list[Column], notes: list[str]) -> Stored:
    """Codes like -999 as missing, judged by the first rows; a column may have several."""
    while True:
        found = values.summary
        new = {
            place: float(extreme[place])
            for extreme in (found.greatest, found.least)
            for place, column in enumerate(columns)
            if is_code(float(extreme[place]), column.values)
        }
        if not new:
            return values
        values = replace(values, codes=values.codes + tuple(new.items()))
        for place, code in new.items():
            hits = int(values.summary.missing[place] - found.missing[place])
            notes.append(code_note(columns[place].name, code, hits))
