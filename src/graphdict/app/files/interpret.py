"""From a table to signals: which column is the clock, which are nodes, which are neither."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError
from graphdict.app.files.long import as_wide, find_long
from graphdict.app.files.remarks import drop_codes, remark, times_in_order
from graphdict.app.files.table import Column, SignalTable, Table, listed
from graphdict.app.files.times import clock_of, is_steady, named_like_time, time_of_day
from graphdict.app.files.units import unit_of

__all__ = [
    "Wishes",
    "choose",
    "find_time",
    "interpret",
    "is_clock",
    "name_columns",
    "numeric_only",
]

INDEX_NAMES = ("", "index", "idx", "id", "row", "rownames", "row.names", "no", "no.", "nr", "n",
               "#", "record", "sample", "samples", "obs", "unnamed: 0")  # fmt: skip


@dataclass(frozen=True)
class Wishes:
    """What the owner of a file says about it; the rest is found."""

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
    expected: tuple[str, ...] = ()  # nodes of a model that is to code the signals


def interpret(table: Table, wishes: Wishes) -> SignalTable:
    """The signals of a table, with notes on everything that was decided."""
    notes = table.notes
    name_columns(table, wishes)
    choose(table, wishes)
    _drop_empty(table, wishes.expected)
    if not table.columns or not len(table):
        raise InputError("holds no values")
    time = find_time(table, wishes)
    long = find_long(table, time, wishes.node, wishes.value, wishes.layout)
    if long is not None:
        table = as_wide(table, time, long)
        time = None if time is None else table.columns[0]
    columns = [column for column in table.columns if column is not time]
    columns = numeric_only(columns, table, time, (*wishes.columns, *wishes.expected))
    if wishes.codes:
        drop_codes(columns, table)
    times, unit = times_in_order(time, table, columns, wishes.sort)
    values = np.stack([column.values for column in columns], axis=1)
    present = ~np.isnan(values).all(axis=1)
    if not present.all():
        notes.append(f"left out {int((~present).sum()):,} row(s) without any value")
        values = values[present]
        times = None if times is None else times[present]
    if not len(values):
        raise InputError("holds no values")
    signals = SignalTable(
        values, [column.name for column in columns], times, unit, None, notes,
        {c.name: u for c in columns if (u := c.unit or unit_of(c.name))},
        None if time is None else time.name,
    )  # fmt: skip
    remark(signals, wishes.rate, learn=not wishes.expected)
    return signals


def name_columns(table: Table, wishes: Wishes) -> None:
    """Give nameless columns a name, and refuse two of one name."""
    taken = {column.name for column in table.columns}
    for place, column in enumerate(table.columns):
        if not column.name.strip() and place:
            column.name = next(n for n in (f"column {place + 1}", f"_{place}") if n not in taken)
    counts = Counter(column.name for column in table.columns)
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return
    if not wishes.number_duplicates:
        places = [str(i + 1) for i, c in enumerate(table.columns) if c.name == twice[0]]
        raise InputError(
            f"has {counts[twice[0]]} columns named {twice[0]!r} (columns {', '.join(places)}); "
            "rename them, or number them with --number-duplicates"
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
    table.notes.append(f"numbered columns of the same name: {listed(twice)}")


def choose(table: Table, wishes: Wishes) -> None:
    """Keep the columns that were asked for."""
    names = {column.name for column in table.columns}
    special = {n for n in (wishes.time, wishes.node, wishes.value) if n is not None}
    for name in {*wishes.columns, *special}:
        if name not in names:
            raise InputError(f"has no column {name!r}; its columns are {listed(sorted(names), 12)}")
    kept = {*wishes.columns, *special} if wishes.columns else names
    kept -= set(wishes.ignore)
    takes_clock = bool(wishes.columns) and not wishes.no_time
    table.columns = [
        column for column in table.columns
        if column.name in kept or (takes_clock and is_clock(column, table))
    ]  # fmt: skip


def _drop_empty(table: Table, expected: tuple[str, ...]) -> None:
    empty = [c for c in table.columns if c.missing.all() and c.name not in expected]
    if empty:
        named = [column.name for column in empty]
        table.notes.append(f"left out {len(empty)} column(s) without any value: {listed(named)}")
        table.columns = [c for c in table.columns if not any(c is other for other in empty)]
    for column in table.columns:
        if column.missing.all():
            column.values = np.full(len(table), np.nan)
    if not table.columns:
        return
    filled = ~np.logical_and.reduce([column.missing for column in table.columns])
    if not filled.all():
        table.notes.append(f"left out {int((~filled).sum()):,} row(s) without any value")
        table.keep(filled)


def is_clock(column: Column, table: Table) -> bool:
    """Whether a column surely says when: its values do, or its name and order do."""
    if column.values.dtype.kind == "M":
        return True
    if not column.numeric:
        return clock_of(column) is not None
    name = column.name.lower().strip()
    if name in INDEX_NAMES:  # of a table in pandas it may be seconds
        return name == "index" and is_steady(column.values) and bool((column.values % 1).any())
    if named_like_time(column.name):
        # A signal may have such a name, too ("travel time"): clocks run, or are out of order.
        known = column.values[~np.isnan(column.values)]
        forward = float(np.mean(np.diff(known) >= 0)) if len(known) > 1 else 0.0
        surely = column.name.strip().lower() in ("time", "timestamp", "datetime", "date")
        return surely or forward > 0.5 or forward == 0 or is_steady(np.sort(known))
    return column is table.columns[0] and is_steady(column.values)


def find_time(table: Table, wishes: Wishes) -> Column | None:
    """The column of times, a date and a time of day joined."""
    if wishes.no_time:
        return None
    if wishes.time is not None:
        return next(column for column in table.columns if column.name == wishes.time)
    others = (column for column in table.columns if column.name not in wishes.expected)
    clocks = [column for column in others if is_clock(column, table)]
    if not clocks:
        return None
    joined = _join_date_and_time(clocks, table)
    if joined is not None:
        return joined
    named = [column for column in clocks if named_like_time(column.name)]
    dated = [column for column in named if column.values.dtype.kind in "MO"]
    chosen = (dated or named or clocks)[0]
    more = [column.name for column in clocks if column is not chosen and not column.numeric]
    if more:
        table.notes.append(f"left out further columns of times: {listed(more)}")
        table.columns = [c for c in table.columns if c.name not in more]
    return chosen


def _join_date_and_time(clocks: list[Column], table: Table) -> Column | None:
    """A column of dates beside one of times of day, as loggers write them."""
    texts = [c for c in clocks if c.values.dtype == object and not c.missing.any()]
    hours = [c for c in texts if time_of_day(c.values) is not None]
    dates = [c for c in texts if c not in hours]
    if len(hours) != 1 or len(dates) != 1:
        return None
    read = clock_of(dates[0])
    seconds = time_of_day(hours[0].values)
    if read is None or seconds is None or read[0].dtype.kind != "M":
        return None
    if (read[0] != read[0].astype("datetime64[D]")).any():
        return None
    moments = read[0] + np.round(seconds * 1e6).astype("timedelta64[us]")
    column = Column(f"{dates[0].name} {hours[0].name}", moments)
    table.notes += [*read[2], f"joined {dates[0].name!r} and {hours[0].name!r} to one time"]
    table.columns = [column, *(c for c in table.columns if c not in (dates[0], hours[0]))]
    return column


def numeric_only(
    columns: list[Column], table: Table, time: Column | None, explicit: tuple[str, ...]
) -> list[Column]:
    """The columns of numbers, without row numbers; says what is left out."""
    texts = [c.name for c in columns if not c.numeric]
    if texts:
        wanted = [name for name in texts if name in explicit]
        if wanted:
            raise InputError(f"column {wanted[0]!r} holds text, not numbers")
        table.notes.append(f"left out column(s) of text: {listed(texts)}")
    kept = []
    for column in (c for c in columns if c.numeric):
        name = column.name.strip().lower()
        index = name in INDEX_NAMES or name.startswith("unnamed:")
        counts = index and _counts_rows(column.values)
        if (counts or column.labels) and column.name not in explicit:
            said = "numbers" if counts else "labels"
            table.notes.append(f"left out the row {said} in column {column.name!r}")
            continue
        if not column.name.strip():
            column.name = "column 1"
        kept.append(column)
    if time is None:
        for column in kept:
            rises = np.diff(column.values)
            if len(rises) > 10 and (rises > 0).all():
                table.notes.append(
                    f"column {column.name!r} rises all the way: --time names it, if it is a clock"
                )
    if len(kept) < 2:
        raise InputError(
            f"has {len(kept)} column(s) of numbers, and a graph needs at least 2"
            + (f" ({time.name!r} is taken as the time)" if time is not None else "")
            + (f"; {len(texts)} hold text{_example(columns)}" if texts else "")
        )
    return kept


def _example(columns: list[Column]) -> str:
    """A cell of text from the end of a table, whose beginning may be a header."""
    cells = [c.values[~c.missing][-1] for c in columns if not (c.numeric or c.missing.all())]
    return f", such as {str(cells[0])[:40]!r}" if cells else ""


def _counts_rows(values: NDArray) -> bool:
    """Whether these are whole numbers that rise: 0, 1, 2, ..., some of them taken out."""
    return bool(
        np.isfinite(values).all() and (values % 1 == 0).all() and (np.diff(values) > 0).all()
    )
