"""Recognise columns of numbers that are no signals: calendars, row numbers, labels, flags."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.table import Column, Table, quote_names

INDEX_NAMES = ("", "index", "idx", "id", "row", "rownames", "row.names", "no", "no.", "nr", "n",
               "#", "record", "sample", "samples", "obs", "unnamed: 0")  # fmt: skip
IDENTIFIERS = ("id", "ids", "uid", "uuid", "guid", "zip", "zipcode", "postcode", "fips", "barcode")
LABELS = ("label", "labels", "class", "target", "category", "cluster", "group", "fold", "split",
          "species", "sex", "gender", "race", "flag", "status", "segment", "batch", "type", "kind",
          "anomaly", "outlier", "annotation", "event", "stage", "phase", "code")  # fmt: skip
CALENDAR = {
    "year": ("year", "yr", "yyyy", "jahr", "annee", "ano"),
    "quarter": ("quarter", "qtr"),
    "month": ("month", "mon", "mnth", "mo", "monat", "mois", "mes"),
    "week": ("week", "weekofyear", "isoweek"),
    "day": ("day", "dayofmonth", "mday", "dom", "tag", "jour", "dia"),
    "weekday": ("weekday", "dayofweek", "wday", "dow"),
    "yearday": ("dayofyear", "doy", "yday", "julianday"),
    "hour": ("hour", "hr", "hh", "hourofday", "stunde", "heure", "hora"),
    "minute": ("minute",),
    "second": ("second",),
}
RANGES = {"year": (0, 3000), "quarter": (1, 4), "month": (1, 12), "week": (0, 53), "day": (1, 31),
          "weekday": (0, 7), "yearday": (1, 366), "hour": (0, 24), "minute": (0, 60),
          "second": (0, 60)}  # fmt: skip
PART = {name: part for part, names in CALENDAR.items() for name in names}
MOST_LABELS = 50


def calendar_part(column: Column) -> str | None:
    """Return which part of a date a column of whole numbers counts ("month"), or None."""
    part = PART.get(re.sub(r"[^a-z]", "", column.name.lower()))
    if part is None or not column.numeric:
        return None
    known = column.values[~np.isnan(column.values)]
    low, high = RANGES[part]
    whole = len(known) and (known % 1 == 0).all() and low <= known.min() and known.max() <= high
    return part if whole else None


def role_of(column: Column) -> str | None:
    """Return what a column of numbers is, in the plural, by name and values; None for a signal."""
    if not column.numeric:
        return None
    if calendar_part(column) is not None:
        return "parts of a date"
    words = _words(column.name)
    known = column.values[~np.isnan(column.values)]
    if not words or not len(known) or (known % 1 != 0).any():
        return None
    if words[-1] in IDENTIFIERS and known.min() >= 0:
        return "identifiers"
    few = min(MOST_LABELS, max(2, len(known) // 4))
    if words[-1] in LABELS and len(np.unique(known)) <= few:
        return "labels"
    return None


def leave_out_roles(
    columns: list[Column], table: Table, explicit: Iterable[str], least: int = 2
) -> list[Column]:
    """Return the columns of numbers that are signals; add notes on those that are not.

    Columns in ``explicit`` are kept. Nothing is left out by name or as a flag where fewer than
    ``least`` columns that vary would remain.
    """
    named = set(explicit)
    kept, index = [], []
    for column in columns:
        counts = is_index_name(column.name) and _counts_rows(column.values, not column.name.strip())
        if (counts or column.labels) and column.name not in named:
            index.append((column.name, "numbers" if counts else "labels"))
        else:
            kept.append(column)
    table.notes += [f"left out the row {kind} in column {name!r}" for name, kind in index]
    roles = {
        id(column): role for column in kept
        if column.name not in named and (role := role_of(column)) is not None
    }  # fmt: skip
    roles |= _flags([c for c in kept if id(c) not in roles], named)
    if sum(id(column) not in roles and _varies(column) for column in kept) < least:
        return kept
    for role in dict.fromkeys(roles.values()):
        names = [column.name for column in kept if roles.get(id(column)) == role]
        table.notes.append(
            f"left out column(s) of {role}: {quote_names(names)} (columns=['*'] takes all)"
        )
    return [column for column in kept if id(column) not in roles]


def _flags(columns: list[Column], named: set[str]) -> dict[int, str]:
    """Return the columns of zeros and ones, by identity, unless most columns are such."""
    flags = [column for column in columns if column.name not in named and _is_flag(column)]
    return {} if 2 * len(flags) > len(columns) else {id(c): "flags (0 or 1)" for c in flags}


def _is_flag(column: Column) -> bool:
    known = column.values[~np.isnan(column.values)]
    return bool(((known == 0) | (known == 1)).all() and (known == 0).any() and (known == 1).any())


def is_index_name(name: str) -> bool:
    """Return whether a name is one that columns of row numbers have."""
    plain = name.strip().lower()
    return plain in INDEX_NAMES or plain.startswith("unnamed:")


def _varies(column: Column) -> bool:
    known = column.values[~np.isnan(column.values)]
    return bool(len(known) and (known != known[0]).any())


def _counts_rows(values: NDArray[Any], any_order: bool = False) -> bool:
    """Return whether these are row numbers: rising whole numbers, perhaps with gaps.

    In ``any_order`` they may have been shuffled.
    """
    if not (np.isfinite(values).all() and (values % 1 == 0).all()):
        return False
    return bool((np.diff(np.sort(values) if any_order else values) > 0).all())


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters: ``SubjectID`` has two."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return re.findall(r"[a-z]+", apart.lower())
