"""Between a table and a model: missing values, changes instead of levels, one scale for all.

What was done is kept inside the model, so that new files are treated the same way.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files import InputError, SignalTable
from graphdict.app.files.stored import Stored, summary_of
from graphdict.app.files.times import describe_span
from graphdict.app.files.units import SECONDS
from graphdict.engine.signals import row_slices
from graphdict.engine.sources import put_together

__all__ = [
    "Preparation",
    "fill",
    "parse_window",
    "remember",
    "remembered",
    "settled",
    "some_of",
    "take_changes",
    "wanders",
]

APART = 10  # ratio of spreads from which columns are taken to have different units
WANDERING = 0.25  # of the spread: steps from sample to sample below it are those of levels
NEAR = 0.2  # of the spread: a mean within it is as good as zero
STRETCHES = 16  # of a file larger than memory, which stand for all of it where settings are chosen
STRETCH_BYTES = 1 << 23
LENGTH = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z\u00b5\u03bc]*)\s*")


@dataclass(frozen=True)
class Preparation:
    """What to subtract from each column and to divide it by."""

    mean: NDArray
    scale: NDArray
    changes: str = "none"

    @classmethod
    def learn(cls, signals: SignalTable, standardise: str, changes: str) -> tuple[Preparation, str]:
        """From the signals of a fit, and in words what is done and why."""
        found = summary_of(signals.values)
        spread, level = found.spread, found.mean
        varies = spread > 0
        some = spread[varies].astype(np.float64)
        with np.errstate(over="ignore"):
            ratio = float(some.max() / some.min()) if len(some) else 1.0
        units = sorted({signals.units.get(name, "") for name in signals.names} - {""})
        why = "as asked"
        if standardise == "auto":
            if len(units) > 1:
                standardise, why = "yes", f"they have different units ({_listed(units)})"
            elif ratio > APART:
                standardise = "yes"
                why = f"the largest varies {ratio:,.0f} times more than the smallest"
            elif (np.abs(level[varies]) > NEAR * spread[varies]).any():
                standardise, why = "centre", "they vary about equally"
            else:
                standardise, why = "no", "no need"
        ones = np.ones_like(level)
        if standardise == "yes":
            made = cls(level, np.where(varies, spread, 1.0), changes)
            return made, f"columns are standardised (mean 0, spread 1): {why}"
        if standardise == "centre":
            return cls(level, ones, changes), f"each column's mean is subtracted, no more: {why}"
        said = "columns are taken as they are"
        if why != "as asked":
            said += ": their means are near zero, and they vary about equally"
        return cls(np.zeros_like(level), ones, changes), said

    def apply(self, values: Any) -> Any:
        if isinstance(values, Stored):
            return replace(values, mean=self.mean, scale=self.scale)
        return (values - self.mean) / self.scale


def settled(values: Any) -> Any:
    """Signals as a fit passes over them again and again.

    What is slow to read is written once, as it is prepared, to a file without a name.
    """
    if not isinstance(values, Stored) or values.source.again:
        return values
    once = np.broadcast_to(np.intp(1), len(values))
    return put_together(values.blocks(), once, values.shape[1], values.dtype)


def some_of(values: Any) -> NDArray:
    """Signals to choose settings by: all, or stretches of those that are in a file."""
    if not isinstance(values, Stored):
        return values
    slices = row_slices(values)
    rows = max(1, min(slices[0].stop, STRETCH_BYTES // (8 * values.shape[1])))
    spaced = np.unique(np.linspace(0, len(slices) - 1, STRETCHES).astype(int))
    return np.concatenate([values[slices[i].start : slices[i].start + rows] for i in spaced])


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def wanders(values: Any) -> bool:
    """Whether most columns move like prices: by small steps, far from where they began."""
    if isinstance(values, Stored):
        values = values[row_slices(values)[0]]
    spread = summary_of(values).spread
    steps = summary_of(np.diff(values, axis=0)).spread
    varies = spread > 0
    return len(values) > 50 and bool(np.mean(steps[varies] < WANDERING * spread[varies]) > 0.5)


def take_changes(signals: SignalTable, changes: str) -> None:
    """Replace levels by their changes from one sample to the next."""
    if changes == "none":
        return
    values = signals.values
    if changes == "relative":
        low = summary_of(values).least
        if (low <= 0).any():
            name = signals.names[int(np.argmax(low <= 0))]
            raise InputError(
                f"relative changes need positive values, and {name!r} has {low.min():g}"
            )
    if isinstance(values, Stored):
        signals.values = replace(values, changes=changes)
    else:
        signals.values = np.diff(np.log(values) if changes == "relative" else values, axis=0)
    if signals.times is not None:
        signals.times = signals.times[1:]
    signals.notes.append(f"took {'relative ' * (changes == 'relative')}changes between samples")


def fill(signals: SignalTable, how: str) -> str | None:
    """Drop or fill in missing values; says what was done."""
    if how == "keep" or not signals.missing:
        return None
    if isinstance(signals.values, Stored):
        return _leave_out(signals, signals.values, how)
    missing = np.isnan(signals.values)
    if how == "drop":
        rows = ~missing.any(axis=1)
        signals.values = signals.values[rows]
        return _left_out(signals, rows)
    clock = np.arange(len(missing), dtype=np.float64)
    if signals.times is not None:
        clock = (signals.times - signals.times[0]).astype(np.float64)
    values = signals.values.copy()
    for column, gaps in zip(values.T, missing.T):
        column[gaps] = np.interp(clock[gaps], clock[~gaps], column[~gaps])
    signals.values = values
    total = int(missing.sum())
    return f"filled in {total:,} missing value(s) on straight lines between their neighbours"


def _leave_out(signals: SignalTable, values: Stored, how: str) -> str:
    """The same for signals that stay in their file."""
    if how != "drop" or values.changes != "none":
        raise InputError(
            "it has missing values and is larger than --memory: --missing keep or drop, without "
            "--changes, or a larger --memory"
        )
    rows = ~values.rows_where("any")
    kept = np.arange(values.source.length) if values.rows is None else values.rows
    signals.values = replace(values, rows=kept[rows])
    return _left_out(signals, rows)


def _left_out(signals: SignalTable, rows: NDArray) -> str:
    if rows.sum() < 2:
        raise InputError(
            f"has {int(rows.sum())} row(s) without a missing value; "
            "--missing interpolate fills gaps"
        )
    signals.times = None if signals.times is None else signals.times[rows]
    return f"left out {int((~rows).sum()):,} row(s) with missing values"


def parse_window(text: str, step: float | None) -> int:
    """Samples of a window given as a count (``20``) or a length of time (``0.5s``, ``5 min``)."""
    found = LENGTH.fullmatch(text)
    if found is None or (found[2] and found[2].lower() not in SECONDS):
        raise ValueError(f"expected samples like 20 or time like 0.5s, 200ms, 5min, got {text!r}")
    number = float(found[1])
    if not found[2]:
        if number < 1 or number % 1:
            raise ValueError(f"expected a whole number of samples, or a unit of time, got {text!r}")
        return int(number)
    if step is None:
        raise ValueError(
            f"{text!r} is a time, and the file does not tell when samples were taken: name the "
            "column with --time, or say --rate HZ"
        )
    samples = number * SECONDS[found[2].lower()] / step
    if samples < 0.5:
        raise ValueError(f"{text!r} is shorter than the {describe_span(step)} between samples")
    return max(1, round(samples))


def remember(model: Any, signals: SignalTable, preparation: Preparation, about: dict) -> None:
    """Keep with the model what new data and the report need."""
    model.feature_names_in_ = np.array(signals.names, dtype=object)
    table: dict[str, NDArray] = {"mean": preparation.mean, "scale": preparation.scale}
    if signals.positions is not None:
        table["positions"] = signals.positions
    kind = "count"
    if signals.times is not None:
        kind = "datetime" if signals.times.dtype.kind == "M" else "number"
        table["times"] = (
            signals.times.astype("datetime64[us]").astype(np.int64)
            if kind == "datetime" else np.asarray(signals.times, dtype=np.float64)
        )  # fmt: skip
    model.table_ = table
    model.about_ = json.dumps(
        {**about, "times": kind, "time_unit": signals.time_unit, "time_name": signals.time_name,
         "step": signals.step, "notes": signals.notes,
         "changes": preparation.changes, "units": signals.units}
    )  # fmt: skip


@dataclass(frozen=True)
class Remembered:
    """What a model file tells beyond the model."""

    preparation: Preparation
    times: NDArray | None
    positions: NDArray | None
    about: dict[str, Any]


def remembered(model: Any) -> Remembered:
    """What was kept by :func:`remember`; nothing for a model that was saved from Python."""
    nodes = model.n_features_in_
    table = getattr(model, "table_", {})
    about = json.loads(getattr(model, "about_", "{}"))
    mean, scale = table.get("mean", np.zeros(nodes)), table.get("scale", np.ones(nodes))
    if mean.shape != (nodes,) or scale.shape != (nodes,) or not (scale > 0).all():
        raise InputError("the model file has a preparation that does not fit its nodes")
    times = table.get("times")
    if times is not None and about.get("times") == "datetime":
        times = times.astype("datetime64[us]")
    return Remembered(
        Preparation(mean, scale, about.get("changes", "none")), times, table.get("positions"), about
    )
