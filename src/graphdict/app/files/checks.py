"""Check signals: codes for missing values, order and gaps in time, constant and equal columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError
from graphdict.app.files.lazy_signals import ColumnSummary, LazySignals, summarise_columns
from graphdict.app.files.table import Column, SignalTable, Table, quote_names
from graphdict.app.files.times import format_duration, format_time, parse_times, seconds_between
from graphdict.core.spacing import spacing

CODES = (99, 999, 9999, 99999, 999999, 99.9, 999.9, 9999.9, 1e20, 1e30, 1e35, 6999)


def replace_missing_codes(columns: list[Column], table: Table) -> None:
    """Replace codes like -999, far from all other values of their column, by NaN; add notes."""
    for column in columns:
        for extreme in (np.nanmin, np.nanmax) * 2:  # a column may have two codes on one side
            if np.isnan(column.values).all():
                break
            code = float(extreme(column.values))
            if not is_missing_code(code, column.values):
                continue
            hit = column.values == code
            column.values = np.where(hit, np.nan, column.values)
            table.notes.append(missing_code_note(column.name, code, int(hit.sum())))


def is_missing_code(value: float, others: NDArray[Any]) -> bool:
    """Return whether a value is a usual code for a missing one and far from all others."""
    size = abs(value)
    if not any(math.isclose(size, c, rel_tol=1e-3 * (c > 1e19), abs_tol=1e-8) for c in CODES):
        return False
    rest = others[(others != value) & ~np.isnan(others)]
    if len(np.unique(rest[:1000])) < 5:
        return False
    low, high = np.percentile(rest[:: max(1, len(rest) // 10_000)], [1, 99])
    return not low - 3 * (high - low) <= value <= high + 3 * (high - low)


def missing_code_note(name: str, code: float, times: int) -> str:
    """Return the note on a code that was read as missing."""
    return (
        f"column {name!r} has the code {code:g} {times:,} times, far from its other values: read "
        "as missing (keep_codes=True keeps it)"
    )


def ordered_times(
    time: Column | None, table: Table, columns: list[Column], sort: bool
) -> tuple[NDArray[Any] | None, str]:
    """Return the times in order and their unit; drop rows without a time from ``columns``.

    Rows out of order are sorted where ``sort`` is true, else they raise InputError.
    """
    if time is None:
        return None, "samples"
    read = parse_times(time)
    if read is None:
        raise InputError(
            f"column {time.name!r} cannot be the time: its values are not times that can be read"
        )
    times, unit, notes = read
    table.notes.append(f"time is column {time.name!r}" + "".join(f"; {note}" for note in notes))
    blank = np.isnat(times) if times.dtype.kind == "M" else np.isnan(times)
    if blank.any():
        table.notes.append(f"left out {int(blank.sum()):,} row(s) without a time")
        times = times[~blank]
        for column in columns:
            column.values = column.values[~blank]
        if table.lines is not None:
            table.lines = table.lines[~blank]
    steps = np.diff(times)
    back = np.flatnonzero(steps < np.zeros(1, dtype=steps.dtype))
    if len(back) and not sort:
        way = "runs backwards" if len(back) == len(steps) else "is out of order"
        row = int(back[0]) + 1
        raise InputError(
            f"time column {time.name!r} {way}: {table.locate(row)} has {format_time(times[row])} "
            f"after {format_time(times[row - 1])}; sort the rows with sort=True, name another "
            "column with time=..., or none with no_time=True"
        )
    if len(back):
        order = np.argsort(times, kind="stable")
        times = times[order]
        for column in columns:
            column.values = column.values[order]
        table.notes.append("sorted the rows by time")
    return times, unit


def _equal_columns(values: Any, found: ColumnSummary) -> list[tuple[int, int]]:
    """Return pairs (column, earlier column) of equal columns that vary."""
    same: dict[tuple, int] = {}
    twins = []
    for index, key in enumerate(zip(found.missing, found.spread, found.least, found.greatest)):
        first = same.setdefault(key, index)
        if first < index and key[2] < key[3]:
            twins.append((index, first))
    if not twins:
        return []
    blocks = values.blocks() if isinstance(values, LazySignals) else [values]
    for block in blocks:
        twins = [
            (index, first) for index, first in twins
            if np.array_equal(block[:, index], block[:, first], equal_nan=True)
        ]  # fmt: skip
    return twins


def add_notes(signals: SignalTable, rate: float | None, learn: bool = True) -> None:
    """Add notes on times and columns to ``signals``, and set the step between samples.

    Signals to ``learn`` from need several rows, and columns that vary: else InputError is raised.
    """
    notes, times = signals.notes, signals.times
    if rate is not None:
        signals.step = 1 / rate
        if times is None:
            signals.times, signals.time_unit = np.arange(len(signals.values)) / rate, "s"
    elif times is not None and len(times) > 1:
        steps = seconds_between(times, signals.time_unit)
        found = None if steps is None else spacing(steps)
        if steps is not None and found is not None:
            typical = signals.step = found.step
            gaps = np.flatnonzero(steps > found.gap)
            if not found.even:
                notes.append(
                    f"samples are not evenly spaced; the median step is {format_duration(typical)}"
                )
            elif len(gaps):
                worst = int(steps.argmax())
                notes.append(
                    f"{len(gaps):,} gap(s) in time, the longest {format_duration(steps[worst])} "
                    f"after {format_time(times[worst])}; {format_duration(typical)} apart elsewhere"
                )
        same = np.flatnonzero(times[1:] == times[:-1])
        if len(same):
            first = format_time(times[same[0]])
            notes.append(f"{len(same):,} sample(s) have the time of the one before, first {first}")
    summary = summarise_columns(signals.values)
    if learn:
        _check_columns(signals, summary)
    if missing := int(summary.missing.sum()):
        share = missing / signals.values.size
        notes.append(f"{missing:,} of {signals.values.size:,} values are missing ({share:.2%})")


def _check_columns(signals: SignalTable, found: ColumnSummary) -> None:
    """Check what matters for learning: columns that vary, equal columns, more columns than rows."""
    notes, (rows, nodes) = signals.notes, signals.values.shape
    if rows < 2:
        raise InputError("has only one row of values; learning needs many")
    still = [name for name, flat in zip(signals.names, found.least == found.greatest) if flat]
    if still:
        notes.append(f"{len(still)} column(s) never vary and get no edges: {quote_names(still)}")
    if len(still) > len(signals.names) - 2:
        raise InputError(
            f"has {len(signals.names) - len(still)} column(s) that vary, and a graph needs 2"
        )
    twins = _equal_columns(signals.values, found)
    if twins and len(twins) == len(signals.names) - len(still) - 1:
        raise InputError("has columns that are all the same, and a graph needs 2 that differ")
    if twins:
        again, first = (quote_names([signals.names[i] for i in places]) for places in zip(*twins))
        notes.append(
            f"{len(twins)} column(s) repeat another, to which their edges will be far stronger "
            f"than any other: {again}, the same as {first}; ignore=... leaves columns out"
        )
    if nodes > rows:
        notes.append(
            f"there are more columns ({nodes:,}) than rows ({rows:,}): if rows are nodes, use "
            "transpose=True"
        )
