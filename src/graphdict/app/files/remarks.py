"""What the owner of a table should know: codes for missing values, order and gaps in time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError
from graphdict.app.files.stored import Stored, Summary, summary_of
from graphdict.app.files.table import Column, SignalTable, Table, listed
from graphdict.app.files.times import clock_of, describe_span, moment, seconds_between

__all__ = ["code_note", "drop_codes", "is_code", "remark", "times_in_order"]

CODES = (99, 999, 9999, 99999, 999999, 99.9, 999.9, 9999.9, 1e20, 1e30, 1e35, 6999)


def drop_codes(columns: list[Column], table: Table) -> None:
    """Read codes like -999, far from everything else in their column, as missing."""
    for column in columns:
        for extreme in (np.nanmin, np.nanmax) * 2:  # a column may have two codes on one side
            if np.isnan(column.values).all():
                break
            code = float(extreme(column.values))
            if not is_code(code, column.values):
                continue
            hit = column.values == code
            column.values = np.where(hit, np.nan, column.values)
            table.notes.append(code_note(column.name, code, int(hit.sum())))


def is_code(value: float, others: NDArray) -> bool:
    """Whether a value is one that people write for a missing one, and far from all others."""
    if not any(np.isclose(abs(value), known, rtol=1e-3 * (known > 1e19)) for known in CODES):
        return False
    rest = others[(others != value) & ~np.isnan(others)]
    if len(np.unique(rest[:1000])) < 5:
        return False
    low, high = np.percentile(rest[:: max(1, len(rest) // 10_000)], [1, 99])
    return not low - 3 * (high - low) <= value <= high + 3 * (high - low)


def code_note(name: str, code: float, times: int) -> str:
    return (
        f"column {name!r} has the code {code:g} {times:,} times, far from its other values: read "
        "as missing (--keep-codes keeps it)"
    )


def times_in_order(
    time: Column | None, table: Table, columns: list[Column], sort: bool
) -> tuple[NDArray | None, str]:
    """Times in order, and their unit; rows without a time are left out."""
    if time is None:
        return None, "samples"
    read = clock_of(time)
    if read is None:
        raise InputError(f"column {time.name!r} holds no times that can be read, to be --time")
    times, unit, said = read
    table.notes.append(f"time is column {time.name!r}" + "".join(f"; {note}" for note in said))
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
            f"time column {time.name!r} {way}: {table.where(row)} has {moment(times[row])} after "
            f"{moment(times[row - 1])}; sort the rows with --sort, or name another column with "
            "--time"
        )
    if len(back):
        order = np.argsort(times, kind="stable")
        times = times[order]
        for column in columns:
            column.values = column.values[order]
        table.notes.append("sorted the rows by time")
    return times, unit


def _twins(values: Any, found: Summary) -> list[tuple[int, int]]:
    """Columns that vary and repeat an earlier one, with that."""
    same: dict[tuple, int] = {}
    twins = []
    for place, key in enumerate(zip(found.missing, found.spread, found.least, found.greatest)):
        first = same.setdefault(key, place)
        if first < place and key[2] < key[3]:
            twins.append((place, first))
    if not twins:
        return []
    blocks = values.blocks() if isinstance(values, Stored) else [values]
    for block in blocks:
        twins = [
            (place, first) for place, first in twins
            if np.array_equal(block[:, place], block[:, first], equal_nan=True)
        ]  # fmt: skip
    return twins


def remark(signals: SignalTable, rate: float | None, learn: bool = True) -> None:
    """Say what is remarkable about times and columns; find the step between samples.

    Signals to ``learn`` from need several rows, and columns that vary.
    """
    notes, times = signals.notes, signals.times
    if rate is not None:
        signals.step = 1 / rate
        if times is None:
            signals.times, signals.time_unit = np.arange(len(signals.values)) / rate, "s"
    elif times is not None and len(times) > 1:
        steps = seconds_between(times, signals.time_unit)
        if steps is not None and (steps > 0).any():
            typical = float(np.median(steps[steps > 0]))
            signals.step = typical
            gaps = np.flatnonzero(steps > 1.5 * typical)
            irregular = np.mean(np.abs(steps - typical) > 0.5 * typical) > 0.2
            if irregular:
                notes.append(
                    f"samples are not evenly spaced; the median step is {describe_span(typical)}"
                )
            elif len(gaps):
                worst = int(steps.argmax())
                notes.append(
                    f"{len(gaps):,} gap(s) in time, the longest {describe_span(steps[worst])} "
                    f"after {moment(times[worst])}; {describe_span(typical)} apart elsewhere"
                )
        same = int((np.diff(times) == np.zeros(1, dtype=np.diff(times).dtype)).sum())
        if same:
            notes.append(f"{same:,} sample(s) have the time of the one before")
    found = summary_of(signals.values)
    if learn:
        _remark_columns(signals, found)
    if missing := int(found.missing.sum()):
        share = missing / signals.values.size
        notes.append(f"{missing:,} of {signals.values.size:,} values are missing ({share:.2%})")


def _remark_columns(signals: SignalTable, found: Summary) -> None:
    """What matters where graphs are learned."""
    notes, (rows, nodes) = signals.notes, signals.values.shape
    if rows < 2:
        raise InputError("has only one row of values, and learning needs many")
    still = [name for name, flat in zip(signals.names, found.least == found.greatest) if flat]
    if still:
        notes.append(f"{len(still)} column(s) never vary and get no edges: {listed(still)}")
    if len(still) > len(signals.names) - 2:
        raise InputError(
            f"has {len(signals.names) - len(still)} column(s) that vary, and a graph needs 2"
        )
    if twins := _twins(signals.values, found):
        again, first = (listed([signals.names[i] for i in places]) for places in zip(*twins))
        notes.append(
            f"{len(twins)} column(s) repeat another, to which their edges will be far stronger "
            f"than any other: {again}, the same as {first}; --ignore leaves columns out"
        )
    if nodes > rows:
        notes.append(
            f"there are more columns ({nodes:,}) than rows ({rows:,}): if rows are nodes, say "
            "--transpose"
        )
