"""Turn a table into signals: decide which column is the time and which columns are nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.calendars import join_calendar, join_date_and_time
from graphdict.app.files.checks import add_notes, ordered_times, replace_missing_codes
from graphdict.app.files.directions import split_directions
from graphdict.app.files.errors import InputError
from graphdict.app.files.long_format import find_long_format, to_wide
from graphdict.app.files.patterns import matching_names
from graphdict.app.files.roles import calendar_part, is_index_name, leave_out_roles
from graphdict.app.files.table import Column, SignalTable, Table, quote_names
from graphdict.app.files.times import is_evenly_spaced, named_like_time, parse_times
from graphdict.app.files.units import unit_of

RISING = 0.75  # share of steps forward from which a column may be a time that is out of order


@dataclass(frozen=True)
class ReadOptions:
    """Arguments of :func:`graphdict.files.read_signals` that concern columns and rows.

    ``codes`` is whether codes like -999 are read as missing; ``expected`` are the nodes of a model
    that is to encode the signals.
    """

    time: str | None = None
    no_time: bool = False
    node: str | None = None
    value: str | None = None
    layout: str = "auto"
    columns: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rate: float | None = None
    sort: bool = False
    number_duplicates: bool = False
    codes: bool = True
    expected: tuple[str, ...] = ()


def signals_from_table(table: Table, options: ReadOptions) -> SignalTable:
    """Return the signals of a table, with notes on everything that was decided."""
    notes = table.notes
    name_columns(table, options)
    explicit = select_columns(table, options)
    _drop_empty(table, options.expected)
    if not table.columns or not len(table):
        raise InputError("holds no values")
    time = find_time_column(table, options)
    long = find_long_format(table, time, options.node, options.value, options.layout, explicit)
    if long is not None:
        table = to_wide(table, time, long)
        time = None if time is None else table.columns[0]
        explicit |= {column.name for column in table.columns}
    columns = [column for column in table.columns if column is not time]
    columns = node_columns(columns, table, time, explicit, options.columns)
    if long is None:
        columns = split_directions(table, columns, explicit, options.expected)
    if options.codes:
        replace_missing_codes(columns, table)
    times, unit = ordered_times(time, table, columns, options.sort)
    values = np.stack([column.values for column in columns], axis=1)
    present = ~np.isnan(values).all(axis=1)
    if not present.all():
        notes.append(f"left out {int((~present).sum()):,} row(s) without any value")
        values = values[present]
        times = None if times is None else times[present]
    if not len(values):
        raise InputError("holds no values")
    signals = signal_table(values, columns, times, unit, notes, time)
    add_notes(signals, options.rate, learn=not options.expected)
    return signals


def signal_table(
    values: Any,
    columns: list[Column],
    times: NDArray[Any] | None,
    unit: str,
    notes: list[str],
    time: Column | None,
) -> SignalTable:
    """Return signals with the names and units of their columns."""
    units = {c.name: u for c in columns if (u := c.unit or unit_of(c.name))}
    names, time_name = [c.name for c in columns], None if time is None else time.name
    points = [c.position for c in columns if c.position is not None]
    positions = np.stack(points) if points and len(points) == len(columns) else None
    return SignalTable(values, names, times, unit, positions, notes, units, time_name)


def name_columns(table: Table, options: ReadOptions) -> None:
    """Name nameless columns; number columns of the same name, or raise InputError."""
    taken = {column.name for column in table.columns}
    for index, column in enumerate(table.columns):
        if not column.name.strip() and index:
            column.name = next(n for n in (f"column {index + 1}", f"_{index}") if n not in taken)
    counts = Counter(column.name for column in table.columns)
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return
    if not options.number_duplicates:
        places = [str(i + 1) for i, c in enumerate(table.columns) if c.name == twice[0]]
        raise InputError(
            f"has {counts[twice[0]]} columns named {twice[0]!r} (columns {', '.join(places)}); "
            "rename them, or number them with number_duplicates=True"
        )
    seen: Counter = Counter()
    for column in table.columns:
        name = column.name
        seen[name] += 1
        while counts[column.name] > 1 and seen[name] > 1 and column.name in taken:
            column.name = f"{name} ({seen[name]})"
            if column.name in taken:
                seen[name] += 1
        taken.add(column.name)
    table.notes.append(f"numbered columns of the same name: {quote_names(twice)}")


def select_columns(table: Table, options: ReadOptions) -> set[str]:
    """Drop the columns that were not asked for; columns of times stay.

    Returns the names that were asked for, which are nodes whatever they hold.
    """
    names = [column.name for column in table.columns]
    special = {n for n in (options.time, options.node, options.value) if n is not None}
    for argument in ("time", "node", "value"):
        if (name := getattr(options, argument)) is not None and name not in names:
            known = quote_names(sorted(names), 12)
            raise InputError(
                f"has no column {name!r}, which {argument}=... names; its columns are {known}"
            )
    asked = matching_names(names, options.columns, "columns")
    ignore = [pattern for pattern in options.ignore if pattern not in table.ignored]
    kept = asked | special if options.columns else set(names)
    kept -= matching_names(names, ignore, "ignore")
    keeps_time = bool(options.columns) and not options.no_time
    table.columns = [
        column for column in table.columns
        if column.name in kept
        or (keeps_time and (is_time_column(column, table) or calendar_part(column)))
    ]  # fmt: skip
    return asked | set(options.expected)


def _drop_empty(table: Table, expected: tuple[str, ...]) -> None:
    """Drop columns (but those ``expected``) and rows without any value."""
    empty = [c for c in table.columns if c.missing.all() and c.name not in expected]
    if empty:
        named = [column.name for column in empty]
        table.notes.append(
            f"left out {len(empty)} column(s) without any value: {quote_names(named)}"
        )
        table.columns = [c for c in table.columns if not any(c is other for other in empty)]
    for column in table.columns:
        if column.missing.all():
            column.values = np.full(len(table), np.nan)
    if not table.columns:
        return
    filled = ~np.logical_and.reduce([column.missing for column in table.columns])
    if not filled.all():
        table.notes.append(f"left out {int((~filled).sum()):,} row(s) without any value")
        table.keep_rows(filled)


def is_time_column(column: Column, table: Table) -> bool:
    """Return whether a column holds times, by its values or by its name and order."""
    if column.values.dtype.kind == "M":
        return True
    if not column.numeric:
        return parse_times(column) is not None
    name = column.name.lower().strip()
    if is_index_name(name):  # only the index of a data frame may hold seconds
        return (
            name == "index" and is_evenly_spaced(column.values) and bool((column.values % 1).any())
        )
    if calendar_part(column) not in (None, "year"):
        alone = sum(calendar_part(other) is not None for other in table.columns) == 1
        return alone and bool((np.diff(column.values) >= 0).all() and np.ptp(column.values) > 0)
    if named_like_time(column.name, numeric=True):
        # A signal may have such a name, too ("travel time"): times rise, or are out of order.
        known = column.values[~np.isnan(column.values)]
        forward = float(np.mean(np.diff(known) >= 0)) if len(known) > 1 else 0.0
        surely = name in ("time", "timestamp", "datetime", "date")
        return surely or forward > RISING or forward == 0 or is_evenly_spaced(np.sort(known))
    return column is table.columns[0] and is_evenly_spaced(column.values)


def find_time_column(table: Table, options: ReadOptions) -> Column | None:
    """Return the column of times or None; join a column of dates with one of times of day."""
    if options.no_time:
        return None
    if options.time is not None:
        return next(column for column in table.columns if column.name == options.time)
    others = (column for column in table.columns if column.name not in options.expected)
    candidates = [column for column in others if is_time_column(column, table)]
    nodes = {*options.expected, *options.columns}
    joined = join_date_and_time(candidates, table, nodes)
    if joined is None and all(calendar_part(column) == "year" for column in candidates):
        joined = join_calendar(table, nodes)
    if joined is not None or not candidates:
        return joined
    named = [column for column in candidates if named_like_time(column.name)]
    dated = [column for column in named if column.values.dtype.kind in "MO"]
    chosen = (dated or named or candidates)[0]
    more = [column.name for column in candidates if column is not chosen and not column.numeric]
    if more:
        table.notes.append(f"left out further columns of times: {quote_names(more)}")
        table.columns = [c for c in table.columns if c.name not in more]
    return chosen


def node_columns(
    columns: list[Column],
    table: Table,
    time: Column | None,
    explicit: set[str],
    asked: tuple[str, ...] = (),
) -> list[Column]:
    """Return the columns of signals, without text, calendars, labels and the like; add notes.

    Columns in ``explicit`` are kept if they hold numbers, and those ``asked`` for by name must.
    """
    texts = [c.name for c in columns if not c.numeric]
    if texts:
        wanted = [name for name in texts if name in asked]
        if wanted:
            raise InputError(f"column {wanted[0]!r} holds text, not numbers")
        table.notes.append(f"left out column(s) of text: {quote_names(texts)}")
    kept = leave_out_roles([c for c in columns if c.numeric], table, explicit)
    for column in kept:
        if not column.name.strip():
            column.name = "column 1"
    if time is None:
        for column in kept:
            rises = np.diff(column.values)
            if len(rises) > 10 and (rises > 0).all():
                table.notes.append(
                    f"column {column.name!r} rises throughout: if it is the time, use "
                    f"time={column.name!r}"
                )
    if len(kept) < 2:
        raise InputError(
            f"has {len(kept)} column(s) of numbers; a graph needs at least 2"
            + (f" ({time.name!r} is taken as the time)" if time is not None else "")
            + (f"; {len(texts)} hold text{_example(columns)}" if texts else "")
        )
    return kept


def _example(columns: list[Column]) -> str:
    """Return an example of a cell of text, from the end of the table, as part of a sentence."""
    cells = [c.values[~c.missing][-1] for c in columns if not (c.numeric or c.missing.all())]
    return f", such as {str(cells[0])[:40]!r}" if cells else ""
