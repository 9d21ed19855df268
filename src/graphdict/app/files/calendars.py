"""Join columns of dates, of times of day, and of parts of a date (year, month, ...) to one time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.roles import calendar_part
from graphdict.app.files.table import Column, Table, quote_names
from graphdict.app.files.times import parse_time_of_day, parse_times

CLOCK = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
COMMON_YEAR = 2001  # stands for a year that the table does not have


def join_date_and_time(
    candidates: list[Column], table: Table, nodes: Collection[str]
) -> Column | None:
    """Replace a column of dates and one of times of day, or of hours, by one time; else None.

    Columns in ``nodes`` are signals and stay.
    """
    texts = [c for c in candidates if c.values.dtype.kind in "OM" and not c.missing.any()]
    clocks = [
        c for c in texts if c.values.dtype == object and parse_time_of_day(c.values) is not None
    ]
    dates = [c for c in texts if not any(c is clock for clock in clocks)]
    if len(dates) != 1 or len(clocks) > 1:
        return None
    read = parse_times(dates[0])
    if read is None or read[0].dtype.kind != "M":
        return None
    days, parts = read[0], _parts(table.columns, nodes)
    if (days != days.astype("datetime64[D]")).any():
        return None
    if clocks:
        seconds = parse_time_of_day(clocks[0].values)
        assert seconds is not None
        used, passed = [clocks[0]], np.round(seconds * 1e6)
    elif "hour" in parts and (np.diff(days) == np.timedelta64(0, "us")).any():
        used = [parts[part] for part in CLOCK if part in parts]
        if any(column.missing.any() for column in used):
            return None
        passed = _time_of_day(parts, len(days))
    else:
        return None
    moments = days + passed.astype("timedelta64[us]")
    return _replace(table, [dates[0], *used], moments, read[2])


def join_calendar(table: Table, nodes: Collection[str]) -> Column | None:
    """Replace columns such as year, month, day and hour by one time; None where they are not there.

    Month and day without a year count as days of a year of 365 days. Columns in ``nodes`` are
    signals and stay.
    """
    parts = _parts(table.columns, nodes)
    year = parts.get("year")
    second = next((part for part in ("month", "yearday", "quarter") if part in parts), None)
    if second is None or (year is None and (second != "month" or "day" not in parts)):
        return None
    used = ["year"] * (year is not None) + [second]
    if second == "month" and "day" in parts:
        used.append("day")
    if used[-1] in ("day", "yearday"):
        for part in CLOCK:
            if part not in parts:
                break
            used.append(part)
    columns = [parts[part] for part in used]
    if any(column.missing.any() for column in columns):
        return None
    days = _days({part: parts[part].values.astype(np.int64) for part in used})
    if days is None:
        return None
    clock = {part: parts[part] for part in used if part in CLOCK}
    moments = days + _time_of_day(clock, len(days)).astype("timedelta64[us]")
    if year is not None:
        return _replace(table, columns, moments, [])
    passed = (moments - moments[0]) / np.timedelta64(1, "D")
    return _replace(table, columns, passed, ["the year is unknown: times are days"], "days")


def _parts(columns: list[Column], nodes: Collection[str]) -> dict[str, Column]:
    """Return the first column of each part of a date, but those that are ``nodes``."""
    found: dict[str, Column] = {}
    for column in columns:
        part = None if column.name in nodes else calendar_part(column)
        if part is not None:
            found.setdefault(part, column)
    return found


def _days(parts: dict[str, NDArray[np.int64]]) -> NDArray[Any] | None:
    """Return dates (T,) of years, months, ...; None where some are no dates, like 31 June."""
    years = parts.get("year", np.array(COMMON_YEAR))
    if years.min() < 1000:  # two digits, or years counted from one
        return None
    months = parts.get("month", 3 * (parts.get("quarter", np.array(1)) - 1) + 1)
    start = (12 * (years - 1970) + months - 1).astype("datetime64[M]")
    days = start.astype("datetime64[D]") + (parts.get("day", parts.get("yearday", np.array(1))) - 1)
    if "yearday" not in parts and (days.astype("datetime64[M]") != start).any():
        return None
    return days.astype("datetime64[us]")


def _time_of_day(parts: dict[str, Column], rows: int) -> NDArray[Any]:
    """Return microseconds since midnight (T,)."""
    passed = np.zeros(rows)
    for part, length in CLOCK.items():
        if part in parts:
            passed += parts[part].values * length
    return passed


def _replace(
    table: Table, used: list[Column], times: NDArray[Any], notes: list[str], unit: str | None = None
) -> Column:
    """Put one column of times in the place of those it was made of; add notes."""
    column = Column(" ".join(c.name for c in used), times, unit)
    names = quote_names([c.name for c in used], 8)
    table.notes += [*notes, f"joined {names} to one time"]
    table.columns = [column, *(c for c in table.columns if not any(c is other for other in used))]
    return column
