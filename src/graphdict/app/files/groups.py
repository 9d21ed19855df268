"""One table with a column of recordings: the rows of each are read as a table of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.columns import ReadOptions, name_columns, signals_from_table
from graphdict.app.files.errors import InputError
from graphdict.app.files.several import combine
from graphdict.app.files.table import Column, SignalTable, Table, quote_names

__all__ = ["signals_by_group"]

LEAST_ROWS = 2


def signals_by_group(table: Table, group: str, options: ReadOptions) -> SignalTable:
    """Return the signals of a table whose column ``group`` says which recording a row is from.

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
    whole.about = about
    whole.notes = [*table.notes, told, *_shared_notes(found, list(rows)), *whole.notes]
    return whole


def _rows_by_value(column: Column) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each value by its name, in order of first appearance."""
    values = column.values.tolist() if column.numeric else list(column.values)
    rows: dict[Any, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(value, []).append(row)
    return {_name(value): np.array(own, dtype=np.intp) for value, own in rows.items()}


def _name(value: Any) -> str:
    """Return a value as the name of a recording: 1.0 is "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _about(columns: list[Column], rows: dict[str, NDArray[np.intp]]) -> dict[str, NDArray[Any]]:
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
    columns: list[Column],
    groups: Sequence[NDArray[np.intp]],
    notes: list[str],
    options: ReadOptions,
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
    told = []
    for note, count in counts.items():
        if count == 1:
            told.append(f"recording {owner[note]!r}: {note}")
        else:
            told.append(note if count == len(tables) else f"{note} (in {count} recordings)")
    return told
