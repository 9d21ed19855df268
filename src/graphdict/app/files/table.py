"""Tables as they were read (`Table`) and signals ready for a model (`SignalTable`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.lazy_signals import summarise_columns
from graphdict.core.annotations import Booleans, Floats
from graphdict.core.recordings import Recordings


@dataclass
class Column:
    """One column: float64, datetime64, or text (objects, None where a value is missing).

    ``parsed_times`` caches the result of :func:`graphdict.app.files.times.parse_times` and is False
    before it was called. ``labels`` marks the row labels (index) of a data frame; ``position`` (2,)
    is where the node of this column lies.
    """

    name: str
    values: Floats
    unit: str | None = None
    parsed_times: Any = False
    labels: bool = False
    position: Floats | None = None

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.values.dtype.kind == "f"

    @property
    def missing(self) -> Booleans:
        """Boolean array (T,), true where a value is missing."""
        if self.values.dtype.kind == "M":
            return np.isnat(self.values)
        if self.numeric:
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], dtype=bool)


@dataclass
class Table:
    """Columns of equal length; ``lines`` (T,) are the line numbers of the rows in a text file.

    ``ignored`` are the names and patterns of columns that the reader has left out already.
    """

    columns: list[Column]
    notes: list[str] = field(default_factory=list)
    lines: NDArray[np.int64] | None = None
    ignored: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def locate(self, row: int) -> str:
        """Return the name of a row for messages: its line in the file, or its number from 1."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def take_infinities_as_missing(self) -> None:
        """Put NaN in the place of infinite values, and note how many there were."""
        count = 0
        for column in self.columns:
            if column.numeric and (infinite := np.isinf(column.values)).any():
                column.values = np.where(infinite, np.nan, column.values)
                count += int(infinite.sum())
        if count:
            self.notes.append(f"{count:,} infinite value(s), read as missing")

    def keep_rows(self, rows: Booleans) -> None:
        """Drop the rows where the mask ``rows`` (T,) is false."""
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
        One row for each sample; NaN where a value is missing. For a file larger than memory, a
        lazy array that reads slices of rows on demand.
    names : list of N strings
        Names of the nodes.
    times : array (T,) of numbers or datetime64, or None
        When each sample was taken.
    time_unit : str
        Unit of ``times``: "s", "ms", ..., "datetime", or "samples" where there are none.
    positions : array (N, 2) or None
        Positions of the nodes, where the file has them.
    notes : list of str
        What was found, converted or left out, in plain English.
    units : dict of name to unit
        Units of the nodes, where they are known.
    time_name : str or None
        Name of the column of times.
    step : float or None
        Median seconds between samples, where times have a known unit.
    recording : bool
        Whether the file is an EEG or MEG recording, whose channels have one common unit.
    recordings : Recordings or None
        Which samples are of which recording, where several files were read.
    about : dict of name to array (R,), or None
        What is known of each recording, such as subject and age; "recording" is its name.
    """

    values: Any  # an array, or what reads one part by part
    names: list[str]
    times: NDArray[Any] | None = None
    time_unit: str = "samples"
    positions: Floats | None = None
    notes: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    time_name: str | None = None
    step: float | None = None
    recording: bool = False
    recordings: Recordings | None = None
    about: dict[str, NDArray[Any]] | None = None

    @property
    def missing(self) -> int:
        """Number of missing values."""
        return int(summarise_columns(self.values).missing.sum())


def quote_names(names: list[str], most: int = 5) -> str:
    """Return names quoted and separated by commas, at most ``most`` of them."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
