"""Parse cells of text as numbers: missing values, decimal commas, thousands, units in cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.units import is_unit

MISSING = frozenset({
    "", "na", "n/a", "n.a.", "n.a", "nan", "-nan", "+nan", "nan()", "null", "none", "nil", "nat",
    "<na>", "<null>", "missing", "nodata", "no data", "-", "--", "---", "\u2013", "\u2014", ".",
    "..", "...", "?", "*", "\\n", "#n/a", "#na", "#n/a n/a", "#value!", "#div/0!", "#ref!",
    "#name?", "#num!", "#null!", "1.#qnan", "-1.#ind", "1.#ind", "nd", "n.d.",
})  # fmt: skip
WITH_UNIT = re.compile(
    r"([+-]?[\d.,\u00a0 ]*\d[.,]?(?:[eE][+-]?\d+)?)\s*([^\d\s.,:/\\+-][^\d]{0,10})"
)
CURRENCY = re.compile(
    r"([+-]?)\s*([$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9\u20ba\u20bf]|R\$|US\$|USD|EUR|GBP|JPY|CHF|CNY|INR)\s*"
    r"([+-]?)\s*(\d.*|\.\d+)"
)
BRACKETED = re.compile(r"\((.*\d.*)\)")  # how accounts write negative numbers
GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}(?:[,'\u2019\u00a0\u202f ]\d{3})+(?:\.\d*)?"),
    ",": re.compile(r"[+-]?\d{1,3}(?:[.'\u2019\u00a0\u202f ]\d{3})+(?:,\d*)?"),
}


@dataclass
class CellParser:
    """Parser of the cells of one column, which counts the unusual ones for the notes.

    ``also_missing`` are texts that mean a missing value, besides those of ``MISSING``.
    """

    decimal: str = "."
    also_missing: frozenset[str] = frozenset()
    written: Counter = field(default_factory=Counter)  # how missing values were written
    units: Counter = field(default_factory=Counter)  # units found in cells
    grouped: int = 0
    bracketed: int = 0
    infinite: int = 0

    def __post_init__(self) -> None:
        self.codes = [value for value in map(_plain, self.also_missing) if value is not None]

    def read(self, cells: Sequence[str]) -> tuple[NDArray[Any], list[int]]:
        """Return float64 values, NaN where missing, and the indices of cells of other text."""
        try:
            if self.decimal == ",":
                values = np.fromiter(map(_comma, cells), np.float64, len(cells))
            else:
                values = np.fromiter(map(float, cells), np.float64, len(cells))
            wrong = _underscored(cells)
        except ValueError:
            values, wrong = self._one_by_one(cells)
        gaps = np.isnan(values)
        if gaps.any():
            odd = set(wrong)
            self.written.update(
                cells[i].strip() for i in np.flatnonzero(gaps).tolist() if i not in odd
            )
        return self.mark_missing(values), wrong

    def mark_missing(self, values: NDArray[Any]) -> NDArray[Any]:
        """Replace infinite values, and numbers that mean a missing value, by NaN, in place."""
        for code in self.codes:
            hit = values == code
            if hit.any():
                self.written[f"{code:g}"] += int(hit.sum())
                values[hit] = np.nan
        infinite = np.isinf(values)
        if infinite.any():
            self.infinite += int(infinite.sum())
            values[infinite] = np.nan
        return values

    def _one_by_one(self, cells: Iterable[str]) -> tuple[NDArray[Any], list[int]]:
        values, wrong = [], []
        for index, cell in enumerate(cells):
            value = self.number(cell)
            if value is None:
                wrong.append(index)
                value = np.nan
            values.append(value)
        return np.array(values, dtype=np.float64), wrong

    def number(self, cell: str) -> float | None:
        """Return the value of a cell, NaN where missing, None where it is no number."""
        text = cell.strip()
        if self.is_missing(text):
            return np.nan
        value = self._value(text)
        if value is not None:
            return value
        if negative := BRACKETED.fullmatch(text):
            inside = self.number(negative[1])
            if inside is None or not inside > 0:
                return None
            self.bracketed += 1
            return -inside
        if money := CURRENCY.fullmatch(text):
            value = self._value(money[1] + money[3] + money[4].strip())
            unit = money[2]
        elif measured := WITH_UNIT.fullmatch(text):
            value, unit = self._value(measured[1].strip()), measured[2].strip()
        if value is not None:
            self.units[unit] += 1
        return value

    def labels(self, cells: Sequence[str]) -> list[int]:
        """Return the indices of cells whose text is no unit but part of a label, as in 4th or 12B.

        Units are the usual ones, or one that all cells have; several single letters are none.
        """
        several = len(self.units) > 1
        odd = {u for u in self.units if not is_unit(u) or (several and len(u) == 1 and u.isalpha())}
        found = [i for i, cell in enumerate(cells) if odd and _unit(cell.strip()) in odd]
        present = sum(not self.is_missing(cell) for cell in cells) if found else 0
        return found if len(odd) > 1 or len(found) < present else []

    def is_missing(self, text: str) -> bool:
        """Return whether a cell means a missing value."""
        return (len(text) < 12 and text.strip().lower() in MISSING) or text in self.also_missing

    def _value(self, text: str) -> float | None:
        plain = text.replace("\u2212", "-")  # a typographic minus
        if GROUPED[self.decimal].fullmatch(plain):
            self.grouped += 1
            plain = re.sub(r"[.'\u2019\u00a0\u202f ]" if self.decimal == "," else
                           r"[,'\u2019\u00a0\u202f ]", "", plain)  # fmt: skip
        return _plain(plain.replace(",", ".") if self.decimal == "," else plain)


def _unit(text: str) -> str | None:
    found = WITH_UNIT.fullmatch(text)
    return found and found[2].strip()


def _comma(cell: str) -> float:
    if "." in cell:  # perhaps thousands: `_one_by_one` decides
        raise ValueError(cell)
    return float(cell.replace(",", "."))


def _plain(text: str) -> float | None:
    """Return ``float(text)``, or None where it is no number or has an underscore."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _underscored(cells: Sequence[str]) -> list[int]:
    """Return the indices of cells with underscores, such as 1_000, which `float` would accept."""
    if "_" not in "".join(cells):
        return []
    return [index for index, cell in enumerate(cells) if "_" in cell]
