"""Parse and format times: dates, times of day, seconds since 1970, numbers with a unit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.table import Column
from graphdict.app.files.units import SECONDS, time_unit_of

NAMES = re.compile(
    r"(?:^|[^a-z])(?:date|time|datetime|timestamp|zeit|datum|uhrzeit|zeitstempel|heure|temps|tiempo|"
    r"fecha|hora|data|ora|tijd|epoch|unix|utc|gmt|clock)(?:$|[^a-z])|^(?:t|ts|dt|sec|secs|seconds?|"
    r"msec|ms|millis|minutes?|hours?|days?|month|year|years|s|datetime.*|timestamp.*|time.*|.*_time|"
    r".*date|.*timestamp)$"
)
DIGITS = re.compile(r"\d")
TIME = re.compile(
    r"\s*(?:\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:[T ]\s*\d{1,2}(?::\d{2}.*)?)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?:[T ,]\s*\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}(?:[T ,].*)?|[A-Za-z]{3,9} \d{1,2},? \d{4}.*"
    r"|\d{4}[- ]MONTH|MONTH[- ]\d{2,4}|\d{4}[- :]?(?:Q[1-4]|M\d{1,2})"
    r"|\d{1,3}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?|\d{2}\.\d{2}\.\d{2})\s*".replace(
        "MONTH", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
    )
)
PERIOD = re.compile(r"(\d{4})[- :]?(Q[1-4]|M(?:0?[1-9]|1[0-2]))")
DATES = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d",
         "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%Y", "%d %b %Y", "%d-%b-%y", "%d %B %Y",
         "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%Y-%m-%d", "%Y%m%d", "%b %Y", "%b-%Y", "%b-%y",
         "%B %Y", "%Y %b", "%Y-%b", "%Y %B", "%m/%Y")  # fmt: skip
HOURS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
OF_DAY = re.compile(
    r"(?=\d{1,3}:|\d{1,2}\.\d{2}\.\d{2})(\d{1,3})[:.](\d{2})"
    r"(?:[:.](\d{2}(?:[.,]\d+)?))?(?: ?([AaPp])[Mm])?"
)
EPOCHS = (("s", 1e8, 5e9), ("ms", 1e11, 5e12), ("us", 1e14, 5e15), ("ns", 1e17, 5e18))


def looks_like_time(cell: str) -> bool:
    """Return whether a cell looks like a date or a time of day."""
    return TIME.fullmatch(cell) is not None


def named_like_time(name: str, numeric: bool = False) -> bool:
    """Return whether a column name is one that usually means time.

    For columns of numbers, "data", which is a date in some languages, does not.
    """
    plain = re.sub(r"[\[(].*", "", name).strip().lower()
    if numeric and plain == "data":
        return False
    return NAMES.search(plain) is not None


def parse_times(column: Column) -> tuple[NDArray[Any], str, list[str]] | None:
    """Return the times of a column, their unit and notes; None where it does not hold times.

    Times are datetime64 (unit "datetime") or float64. Numbers stay numbers, in the unit of the
    column's name, unless they count from 1970. The result is cached in the column.
    """
    if column.parsed_times is False:
        column.parsed_times = _parse_column(column)
    return column.parsed_times


def _parse_column(column: Column) -> tuple[NDArray[Any], str, list[str]] | None:
    if column.values.dtype.kind == "M":
        return column.values.astype("datetime64[us]"), "datetime", []
    if not column.numeric:
        return _parse_time_text(column.values)
    values, unit = column.values, column.unit or time_unit_of(column.name)
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    for name, low, high in EPOCHS:
        if low <= known.min() and known.max() <= high and named_like_time(column.name):
            whole = np.where(np.isfinite(values), values, 0) * (1e6 * SECONDS[name])
            times = np.round(whole).astype("datetime64[us]")
            times[~np.isfinite(values)] = np.datetime64("NaT", "us")
            return times, "datetime", [f"its numbers count {name} since 1970: read as dates"]
    if "date" in column.name.lower() and (known % 1 == 0).all() and 19e6 < known.min() < 22e6:
        return _parse_time_text(np.array([f"{value:.0f}" for value in values], dtype=object))
    unit = None if unit is None else unit.lower() if unit.lower() in SECONDS else unit
    if unit is None:
        return values, "s", ["its unit is unknown: taken as seconds"]
    return values, unit, []


def _parse_time_text(cells: Any) -> tuple[NDArray[Any], str, list[str]] | None:
    """Return the times written in text, as `parse_times` does; None where some cell is no time."""
    present = [cell for cell in cells if cell is not None]
    if not present or not all(map(DIGITS.search, present[:100])):
        return None
    for parse in (_iso, _numpy, _periods, _formats):
        try:
            found, notes = parse(present)
        except (ValueError, OverflowError):
            continue
        return _spread(found, cells), "datetime", notes
    seconds = parse_time_of_day(present)
    if seconds is None:
        return None
    turns = np.cumsum(np.concatenate([[False], np.diff(seconds) < -43200]))
    notes = ["times of day are read as seconds since midnight"]
    if turns.any():
        notes[0] += f", over {int(turns[-1])} midnight(s)"
    return _spread(seconds + 86400.0 * turns, cells), "s", notes


def parse_time_of_day(cells: Any) -> NDArray[Any] | None:
    """Return seconds since midnight (T,); None where some cell is no time of day."""
    found = [OF_DAY.fullmatch(cell.strip()) for cell in cells]
    if not all(found):
        return None
    values = []
    for match in found:
        assert match is not None
        hour = int(match[1])
        if match[4]:
            hour = hour % 12 + (12 if match[4] in "Pp" else 0)
        second = float((match[3] or "0").replace(",", "."))
        values.append(3600.0 * hour + 60 * int(match[2]) + second)
    return np.array(values)


def _spread(found: NDArray[Any], cells: Sequence) -> NDArray[Any]:
    """Return ``found`` at the rows that have a cell, NaT or NaN at the others."""
    if len(found) == len(cells):
        return found
    blank = np.datetime64("NaT", "us") if found.dtype.kind == "M" else np.nan
    times = np.full(len(cells), blank, dtype=found.dtype)
    times[[cell is not None for cell in cells]] = found
    return times


def _iso(cells: Sequence[str]) -> tuple[NDArray[Any], list[str]]:
    """Parse ISO 8601; times with a time zone become UTC."""
    if not all("-" in cell for cell in cells[:100]):
        raise ValueError
    moments = [datetime.fromisoformat(cell.strip().replace(",", ".")) for cell in cells]
    aware = sum(moment.tzinfo is not None for moment in moments)
    if not aware:
        return np.array(moments, dtype="datetime64[us]"), []
    if aware < len(moments):
        raise ValueError
    naive = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
    return np.array(naive, dtype="datetime64[us]"), ["times have a time zone: read as UTC"]


def _numpy(cells: Sequence[str]) -> tuple[NDArray[Any], list[str]]:
    """Parse months like 2020-01, and years that Python's datetime does not have."""
    if not all(re.match(r"\s*-?\d{4,}-\d{2}", cell) for cell in cells):
        raise ValueError
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.array([cell.strip() for cell in cells], dtype="datetime64[us]"), []
        except (UserWarning, DeprecationWarning):
            raise ValueError from None


def _periods(cells: Sequence[str]) -> tuple[NDArray[Any], list[str]]:
    """Parse quarters like 1970 Q1 and months like 1970M01, as their first days."""
    months = []
    for cell in cells:
        found = PERIOD.fullmatch(cell.strip())
        if found is None:
            raise ValueError
        number = int(found[2][1:]) - 1
        month = 3 * number if found[2][0] == "Q" else number
        months.append(12 * (int(found[1]) - 1970) + month)
    return np.array(months).astype("datetime64[M]").astype("datetime64[us]"), []


def _formats(cells: Sequence[str]) -> tuple[NDArray[Any], list[str]]:
    """Parse by the format that reads every cell; of several, by one that puts them in order."""
    texts = [" ".join(cell.split()) for cell in cells]
    step = max(1, len(texts) // 500)
    sample = texts[::step]
    formats = [
        date + hours for date in DATES for hours in HOURS if _reads(sample, date + hours)
    ]  # fmt: skip
    readings = []
    for pattern in formats:
        try:
            found = np.array([datetime.strptime(t, pattern) for t in texts], dtype="datetime64[us]")
        except ValueError:
            continue
        readings.append((bool((np.diff(found) >= np.timedelta64(0, "us")).all()), pattern, found))
    if not readings:
        raise ValueError
    _, pattern, found = max(readings, key=lambda reading: reading[0])
    names = {"%d": "day", "%m": "month", "%Y": "year", "%y": "year", "%b": "month", "%B": "month"}
    order = "/".join(names[part] for part in re.findall(r"%[dmYybB]", pattern))
    doubt = ", though another order would do too" if len(readings) > 1 else ""
    return found, [f"dates are read as {order}{doubt}"]


def _reads(cells: Sequence[str], pattern: str) -> bool:
    try:
        for cell in cells:
            datetime.strptime(cell, pattern)
    except ValueError:
        return False
    return True


def is_evenly_spaced(values: NDArray[Any]) -> bool:
    """Return whether numbers rise in equal steps, as times do and signals do not."""
    if len(values) < 3 or not np.isfinite(values).all():
        return False
    steps = np.diff(values)
    typical = np.median(steps)
    return bool(
        typical > 0 and (np.abs(steps - typical) < 0.01 * typical + 1e-9 * np.abs(values[1:])).all()
    )


def seconds_between(times: NDArray[Any], unit: str) -> NDArray[Any] | None:
    """Return the seconds (T - 1,) between samples; None where the unit is no unit of time."""
    if times.dtype.kind == "M":
        return np.diff(times) / np.timedelta64(1, "s")
    if unit.lower() not in SECONDS:
        return None
    return np.diff(times) * SECONDS[unit.lower()]


def format_time(time: Any) -> str:
    """Return a time as text without needless zeros."""
    text = str(time) if isinstance(time, np.datetime64) else f"{time:.12g}"
    return text.removesuffix(".000000").removesuffix("T00:00:00")


def format_duration(seconds: float) -> str:
    """Return a duration with a suitable unit, such as "5 min"."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if seconds >= (2 * length if unit == "days" else length):
            return f"{seconds / length:.4g} {unit}"
    return f"{seconds:.3g} s"
