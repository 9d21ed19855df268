"""A table as it was read: named columns of numbers, of times or of text, and what to say of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.stored import summary_of

__all__ = ["Column", "SignalTable", "Table", "listed"]


@dataclass
class Column:
    """One column: float64, datetime64 or text (objects, None where a value is missing)."""

    name: str
    values: NDArray
    unit: str | None = None
    clock: Any = (
        False  # its times, unit and remarks, or None: read once, by graphdict.app.files.times
    )
    labels: bool = False  # whether it names the rows, as the index of a data frame does

    @property
    def numeric(self) -> bool:
        return self.values.dtype.kind == "f"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where there is no value."""
        if self.values.dtype.kind == "M":
            return np.isnat(self.values)
        if self.numeric:
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], dtype=bool)


@dataclass
class Table:
    """Columns of equal length; ``lines`` says on which line of the file a row stands."""

    columns: list[Column]
    notes: list[str] = field(default_factory=list)
    lines: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def where(self, row: int) -> str:
        """How to name a row to its owner."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Leave out the other rows."""
        for column in self.columns:
            column.values = column.values[rows]
        if self.lines is not None:
            self.lines = self.lines[rows]


@dataclass
class SignalTable:
    """Signals read from a file, ready for a model.

    Attributes
    ----------
    values : array (T, N)
        One row for each sample; NaN where a value is missing. Of a file larger than memory,
        something that reads slices of rows when they are asked for.
    names : list of N strings
        Names of the nodes.
    times : array (T,) of numbers or datetime64, or None
        When each sample was taken.
    time_unit : str
        Unit of ``times``: "s", "ms", ..., "datetime", or "samples" where there are none.
    positions : array (N, 2) or None
        Where the nodes are, where the file tells it.
    notes : list of str
        What was found, handled or converted, for the owner of the file to know.
    units : dict of name to unit
        Of the nodes whose unit is known.
    time_name : str or None
        The column that holds the times.
    step : float or None
        Median seconds between samples, where times have a known unit.
    """

    values: Any
    names: list[str]
    times: NDArray | None = None
    time_unit: str = "samples"
    positions: NDArray | None = None
    notes: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    time_name: str | None = None
    step: float | None = None

    @property
    def missing(self) -> int:
        """Number of missing values."""
        return int(summary_of(self.values).missing.sum())


def listed(names: list[str], most: int = 5) -> str:
    """Names in a sentence, the first few of many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
