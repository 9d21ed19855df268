"""One table with a column of recordings: the rows of each are read as a table of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.columns import (
    ReadOptions,
    find_time_column,
    name_columns,
    select_columns,
    signals_from_table,
)
from graphdict.app.files.errors import InputError
from graphdict.app.files.long_format import find_long_format
from graphdict.app.files.several import combine
from graphdict.app.files.table import Column, SignalTable, Table, quote_names
from graphdict.core.annotations import Integers

LEAST_ROWS = 2
LEAST_VALUES = 3  # columns of quantities from which on a graph joins these, not the places
MOST_NOTES = 6  # on single recordings


def recordings_column(table: Table, options: ReadOptions) -> str | None:
    """Return the column by which recordings interleave in a table; None where they do not.

    That is so where times repeat, a column tells the rows of each time apart, and three or more
    columns hold quantities: those of several stations, say, one below the other.
    """
    asked = options.layout != "auto" or options.node is not None or options.value is not None
    if asked or options.no_time:
        return None
    looked = Table([replace(column) for column in table.columns], [], table.lines, table.ignored)
    try:
        name_columns(looked, options)
        explicit = select_columns(looked, options)
        time = find_time_column(looked, options)
        long = None
        if time is not None and not time.missing.any():
            long = find_long_format(looked, time, None, None, "auto", explicit)
    except InputError:  # which is said where the table is read
        return None
    names = {column.name for column in table.columns}
    if long is None or len(long.values) < LEAST_VALUES or long.node.name not in names:
        return None
    if options.expected and not set(options.expected) & {column.name for column in long.values}:
        return None  # a model whose nodes are places
    counts = [len(rows) for rows in _rows_by_value(long.node).values()]
    return long.node.name if min(counts) >= LEAST_ROWS else None


def signals_by_group(
    table: Table, group: str, options: ReadOptions, *, found_itself: bool = False
) -> SignalTable:
    """Return the signals of a table whose column ``group`` says which recording a row is from.

    ``found_itself`` is whether the column was found, not given, which is then said.

    Recordings are in order of first appearance, the rows of each in the order of the table. Columns
    of numbers that are the same throughout each recording, such as an age, are no signals.
    """
    name_columns(table, options)
    column = next((c for c in table.columns if c.name == group), None)
    if column is None:
        known = quote_names([c.name for c in table.columns], 12)
        raise InputError(f"has no column {group!r}, which group=... names; its columns are {known}")
    if column.missing.any():
        row = int(np.argmax(column.missing))
        raise InputError(f"does not say in column {group!r} which recording {table.locate(row)} is")
    rows = _rows_by_value(column)
    short = [name for name, own in rows.items() if len(own) < LEAST_ROWS]
    if not options.expected:  # to learn from
        if short:
            raise InputError(
                f"has recordings of a single row by column {group!r}: {quote_names(short)}; each "
                f"needs {LEAST_ROWS} or more"
            )
        if len(rows) < 2:
            raise InputError(
                f"has one value in column {group!r}, {next(iter(rows))!r}, and several recordings "
                "need at least 2: leave group=... out"
            )
    others = [c for c in table.columns if c is not column]
    about = _about(others, rows)
    others = _without_constants(others, list(rows.values()), table.notes, options)
    found, left_out = [], set()
    for name, own in rows.items():
        lines = None if table.lines is None else table.lines[own]
        columns = [replace(c, values=c.values[own], parsed_times=False) for c in others]
        numbers = {c.name for c in columns if c.numeric and not c.missing.all()}
        try:
            signals = signals_from_table(Table(columns, [], lines, table.ignored), options)
        except InputError as error:
            raise InputError(f"(recording {name!r}) {error}") from None
        left_out |= numbers - set(signals.names)
        found.append(signals)
    found = [_without(signals, left_out) for signals in found]
    whole = combine(found, list(rows))
    told = f"column {group!r} says which of {len(rows)} recordings a row is from"
    if found_itself:
        told = (
            f"times repeat, and column {group!r} tells rows of the same time apart: each of its "
            f"{len(rows)} values is a recording, as with group={group!r} (value=... makes nodes of "
            "them instead, by one column)"
        )
    whole.about = about
    whole.notes = [*table.notes, told, *_shared_notes(found, list(rows)), *whole.notes]
    return whole


def _rows_by_value(column: Column) -> dict[str, Integers]:
    """Return the rows of each value by its name, in order of first appearance."""
    values = column.values.tolist() if column.numeric else list(column.values)
    rows: dict[Any, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(value, []).append(row)
    return {_name(value): np.array(own, dtype=np.intp) for value, own in rows.items()}


def _name(value: Any) -> str:
    """Return a value as the name of a recording: 1.0 is "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _about(columns: list[Column], rows: dict[str, Integers]) -> dict[str, NDArray[Any]]:
    """Return what columns that are constant in each recording say of it; "recording" names it."""
    found: dict[str, NDArray[Any]] = {"recording": np.array(list(rows), dtype=object)}
    for column in columns:
        values = [column.values[own][~column.missing[own]] for own in rows.values()]
        if column.values.dtype.kind == "M" or not any(map(len, values)):
            continue
        if all(len(set(own.tolist())) <= 1 for own in values):
            nothing = np.nan if column.numeric else ""
            firsts = [own[0] if len(own) else nothing for own in values]
            found[column.name] = np.array(firsts, dtype=float if column.numeric else object)
    return found


def _without_constants(
    columns: list[Column], groups: Sequence[Integers], notes: list[str], options: ReadOptions
) -> list[Column]:
    """Return the columns without those of numbers that say something of recordings as a whole."""
    asked = {*options.columns, *options.expected, options.value, options.time, options.node}
    constant = [
        c.name for c in columns
        if c.numeric and c.name not in asked and not c.missing.all()
        and all(len(np.unique(c.values[own][~np.isnan(c.values[own])])) <= 1 for own in groups)
    ]  # fmt: skip
    if constant and max(map(len, groups)) > 1:
        notes.append(
            f"left out column(s) that are constant in each recording: {quote_names(constant)}"
        )
        return [c for c in columns if c.name not in constant]
    return columns


def _without(signals: SignalTable, left_out: set[str]) -> SignalTable:
    """Return signals without the columns that are no signals in some other recording."""
    kept = [index for index, name in enumerate(signals.names) if name not in left_out]
    if len(kept) < 2:
        raise InputError(f"has {len(kept)} column(s) that are signals in all recordings")
    signals.values = signals.values[:, kept]
    signals.names = [signals.names[index] for index in kept]
    if signals.positions is not None:
        signals.positions = signals.positions[kept]
    return signals


def _shared_notes(tables: Sequence[SignalTable], names: Sequence[str]) -> list[str]:
    """Return the notes of all recordings, each once, with how many it is about."""
    counts = Counter(note for table in tables for note in dict.fromkeys(table.notes))
    owner = {note: name for table, name in zip(tables, names) for note in table.notes}
    told, alone = [], []
    for note, count in counts.items():
        if count == 1:
            alone.append(f"recording {owner[note]!r}: {note}")
        else:
            told.append(note if count == len(tables) else f"{note} (in {count} recordings)")
    if len(alone) > MOST_NOTES:
        alone[MOST_NOTES:] = [f"and {len(alone) - MOST_NOTES} more notes on single recordings"]
    return told + alone
