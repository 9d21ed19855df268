"""Read tables larger than memory: the first rows decide what the columns are, all are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphdict.app.files.checks import add_notes, is_missing_code, missing_code_note, ordered_times
from graphdict.app.files.columns import (
    ReadOptions,
    find_time_column,
    is_time_column,
    name_columns,
    node_columns,
    select_columns,
    signal_table,
)
from graphdict.app.files.errors import InputError
from graphdict.app.files.lazy_signals import LazySignals
from graphdict.app.files.long_format import find_long_format
from graphdict.app.files.roles import calendar_part
from graphdict.app.files.table import Column, SignalTable, Table, quote_names

HEAD = 10_000


def read_out_of_core(source: Any, options: ReadOptions) -> SignalTable:
    """Return lazy signals of a file, with the notes that a file in memory would get.

    ``source`` is a reader of :mod:`graphdict.app.files.chunked_readers`.
    """
    table = source.head(HEAD)
    indices = {id(column): index for index, column in enumerate(table.columns)}
    if len(set(source.names)) < len(source.names):
        options = replace(options, number_duplicates=False)  # which cannot be read by name
    name_columns(table, options)
    explicit = select_columns(table, options)
    candidates = [column for column in table.columns if _may_be_time(column, table, options)]
    whole = [Column(c.name, source.column(indices[id(c)]), c.unit) for c in candidates]
    found = Table(whole, table.notes)
    time = find_time_column(found, options) if whole else None
    first = next((c for c in table.columns if time is not None and c.name == time.name), None)
    if find_long_format(table, first, options.node, options.value, options.layout) is not None:
        raise InputError(
            "is a long table (one row for each value), which is read into memory as a whole: raise "
            "scikit-learn's working_memory, or write it as a wide table"
        )
    taken = {time.name} if time is not None else set()
    taken |= {column.name for column in candidates if not column.numeric}
    columns = [column for column in table.columns if column.name not in taken]
    columns = node_columns(columns, table, time, explicit, options.columns)
    kept = Column("row", np.arange(source.length))
    times, unit = ordered_times(time, found, [kept], options.sort)
    if (np.diff(kept.values) < 0).any():
        raise InputError(
            "is out of order in time and too large for sort=True: raise scikit-learn's "
            "working_memory, or sort the file"
        )
    chosen = [indices[id(column)] for column in columns]
    rows = None if len(kept.values) == source.length else kept.values
    values = LazySignals(source, chosen, source.dtype(chosen), rows)
    values = _without_blanks(values, columns, table.notes, options.expected)
    if options.codes:
        values = _without_codes(values, columns, table.notes)
    full = values.rows_where("all") if values.summary.missing.max() else np.zeros(1, dtype=bool)
    if full.any():
        table.notes.append(f"left out {int(full.sum()):,} row(s) without any value")
        values = replace(values, rows=values.row_numbers[~full])
        times = None if times is None else times[~full]
    signals = signal_table(values, columns, times, unit, table.notes, time)
    table.notes.append(
        "it is larger than scikit-learn's working_memory: read in chunks, in its own precision"
    )
    if values.summary.infinite:
        table.notes.append(f"{values.summary.infinite:,} infinite value(s), read as missing")
    add_notes(signals, options.rate, learn=not options.expected)
    return signals


def _may_be_time(column: Column, table: Table, options: ReadOptions) -> bool:
    """Return whether a column may hold the times, judged by the first rows."""
    if options.no_time or options.time is not None:
        return column.name == options.time
    if column.name in options.expected:
        return False
    return is_time_column(column, table) or calendar_part(column) is not None


def _without_blanks(
    values: LazySignals, columns: list[Column], notes: list[str], expected: tuple[str, ...]
) -> LazySignals:
    """Drop the columns without any value from both arguments, but those ``expected``."""
    blank = values.summary.missing == len(values)
    if blank.all():
        raise InputError("holds no values")
    blank &= np.array([column.name not in expected for column in columns])
    if not blank.any():
        return values
    empty = [column.name for column, gone in zip(columns, blank) if gone]
    notes.append(f"left out {len(empty)} column(s) without any value: {quote_names(empty)}")
    kept = np.flatnonzero(~blank)
    columns[:] = [columns[i] for i in kept]
    return replace(values, columns=[values.columns[i] for i in kept])


def _without_codes(values: LazySignals, columns: list[Column], notes: list[str]) -> LazySignals:
    """Mark codes like -999 as missing, judged by the first rows; a column may have several."""
    while True:
        found = values.summary
        new = {
            index: float(extreme[index])
            for extreme in (found.greatest, found.least)
            for index, column in enumerate(columns)
            if is_missing_code(float(extreme[index]), column.values)
        }
        if not new:
            return values
        values = replace(values, codes=values.codes + tuple(new.items()))
        for index, code in new.items():
            hits = int(values.summary.missing[index] - found.missing[index])
            notes.append(missing_code_note(columns[index].name, code, hits))
