"""Preprocess signals for a model: missing values, differences, standardisation.

The settings are stored with the model, so that new files are preprocessed the same way.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files import InputError, SignalTable
from graphdict.app.files.lazy_signals import LazySignals, summarise_columns
from graphdict.app.files.times import format_duration
from graphdict.app.files.units import SECONDS
from graphdict.engine.signals import row_slices
from graphdict.engine.sources import write_rows

SPREAD_RATIO = 10  # of columns, from which it is told
DRIFT_STEP = 0.25  # of the spread: columns whose steps are smaller drift
ZERO_MEAN = 0.2  # of the spread: smaller means count as zero
BLOCKS = 16  # of rows of a file larger than memory, from which settings are chosen
BLOCK_BYTES = 1 << 23
LENGTH = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z\u00b5\u03bc]*)\s*")


@dataclass(frozen=True)
class Scaling:
    """The mean (N,) to subtract and the scale (N,) to divide by, after taking ``changes``."""

    mean: NDArray[Any]
    scale: NDArray[Any]
    changes: str = "none"

    @classmethod
    def learn(cls, signals: SignalTable, standardise: str, changes: str) -> tuple[Scaling, str]:
        """Return the scaling for the signals of a fit, and a note on what is done and why."""
        found = summarise_columns(signals.values)
        spread, level = found.spread, found.mean
        varies = spread > 0
        some = spread[varies].astype(np.float64)
        with np.errstate(over="ignore"):
            ratio = float(some.max() / some.min()) if len(some) else 1.0
        why = "as asked"
        if standardise == "auto" and not signals.recording:
            standardise = "yes"
            why = "columns of different spread would get edges that are not there"
            if ratio > SPREAD_RATIO:
                why += f", and the largest varies {ratio:,.0f} times more than the smallest"
            why += " (--standardise no leaves them)"
        elif standardise == "auto":
            centre = (np.abs(level[varies]) > ZERO_MEAN * spread[varies]).any()
            standardise = "centre" if centre else "no"
            why = "the channels of a recording have one unit, and unlike spreads mean something"
        ones = np.ones_like(level)
        if standardise == "yes":
            made = cls(level, np.where(varies, spread, 1.0), changes)
            return made, f"columns are standardised (mean 0, spread 1): {why}"
        if standardise == "centre":
            return cls(level, ones, changes), f"each column's mean is subtracted, no more: {why}"
        note = "columns are taken as they are"
        return cls(np.zeros_like(level), ones, changes), f"{note}: {why}"

    @property
    def kind(self) -> str:
        """What is done: "yes" (standardised), "centre" (means subtracted) or "no"."""
        if (self.scale != 1).any():
            return "yes"
        return "centre" if self.mean.any() else "no"

    def apply(self, values: Any) -> Any:
        """Return the scaled signals (T, N), lazy where ``values`` are."""
        if isinstance(values, LazySignals):
            return replace(values, mean=self.mean, scale=self.scale)
        return (values - self.mean) / self.scale


def cache_slow_source(values: Any) -> Any:
    """Return signals that are cheap to read many times.

    Lazy signals of a slow file format are written, preprocessed, to a temporary file.
    """
    if not isinstance(values, LazySignals) or values.source.cheap_to_reread:
        return values
    once = np.broadcast_to(np.intp(1), len(values))
    return write_rows(values.blocks(), once, values.shape[1], values.dtype)


def subsample(values: Any) -> NDArray[Any]:
    """Return the signals to choose settings by: all, or some blocks of rows of lazy signals."""
    if not isinstance(values, LazySignals):
        return values
    slices = row_slices(values)
    rows = max(1, min(slices[0].stop, BLOCK_BYTES // (8 * values.shape[1])))
    spaced = np.unique(np.linspace(0, len(slices) - 1, BLOCKS).astype(int))
    return np.concatenate([values[slices[i].start : slices[i].start + rows] for i in spaced])


def drifts(values: Any) -> bool:
    """Return whether most columns drift like prices: by small steps, far from their start."""
    if isinstance(values, LazySignals):
        values = values[row_slices(values)[0]]
    spread = summarise_columns(values).spread
    steps = summarise_columns(np.diff(values, axis=0)).spread
    varies = spread > 0
    return len(values) > 50 and bool(np.mean(steps[varies] < DRIFT_STEP * spread[varies]) > 0.5)


def difference(signals: SignalTable, changes: str) -> None:
    """Replace the signals by their (relative) differences between samples, where asked for."""
    if changes == "none":
        return
    values = signals.values
    if changes == "relative":
        low = summarise_columns(values).least
        if (low <= 0).any():
            name = signals.names[int(np.argmax(low <= 0))]
            raise InputError(
                f"relative changes need positive values, and {name!r} has {low.min():g}"
            )
    if isinstance(values, LazySignals):
        signals.values = replace(values, changes=changes)
    else:
        signals.values = np.diff(np.log(values) if changes == "relative" else values, axis=0)
    if signals.times is not None:
        signals.times = signals.times[1:]
    signals.notes.append(f"took {'relative ' * (changes == 'relative')}changes between samples")


def handle_missing(signals: SignalTable, how: str) -> str | None:
    """Drop rows with missing values or interpolate them; return a note on it, or None."""
    if how == "keep" or not signals.missing:
        return None
    if isinstance(signals.values, LazySignals):
        return _drop_lazily(signals, signals.values, how)
    missing = np.isnan(signals.values)
    if how == "drop":
        rows = ~missing.any(axis=1)
        signals.values = signals.values[rows]
        return _drop_times(signals, rows)
    seconds = np.arange(len(missing), dtype=np.float64)
    if signals.times is not None:
        seconds = (signals.times - signals.times[0]).astype(np.float64)
    values = signals.values.copy()
    for column, gaps in zip(values.T, missing.T):
        column[gaps] = np.interp(seconds[gaps], seconds[~gaps], column[~gaps])
    signals.values = values
    total = int(missing.sum())
    return f"filled in {total:,} missing value(s) by linear interpolation"


def _drop_lazily(signals: SignalTable, values: LazySignals, how: str) -> str:
    """Drop rows with missing values of lazy signals; return the note on it."""
    if how != "drop" or values.changes != "none":
        raise InputError(
            "it has missing values and is larger than --memory: --missing keep or drop, without "
            "--changes, or a larger --memory"
        )
    rows = ~values.rows_where("any")
    signals.values = replace(values, rows=values.row_numbers[rows])
    return _drop_times(signals, rows)


def _drop_times(signals: SignalTable, rows: NDArray[Any]) -> str:
    """Keep the times of ``rows`` (a mask) only; return the note on the dropped rows."""
    if rows.sum() < 2:
        raise InputError(
            f"has {int(rows.sum())} row(s) without a missing value; "
            "--missing interpolate fills gaps"
        )
    signals.times = None if signals.times is None else signals.times[rows]
    return f"left out {int((~rows).sum()):,} row(s) with missing values"


def parse_window(text: str, step: float | None) -> int:
    """Return the samples of a window given as a count (``20``) or a time (``0.5s``, ``5 min``)."""
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
            f"{text!r} is a time, but the times of the samples are unknown: name their column with "
            "--time, or give --rate HZ"
        )
    samples = number * SECONDS[found[2].lower()] / step
    if samples < 0.5:
        raise ValueError(f"{text!r} is shorter than the {format_duration(step)} between samples")
    return max(1, round(samples))


def attach_metadata(model: Any, signals: SignalTable, scaling: Scaling, about: dict) -> None:
    """Store with the model what preprocessing new data and writing the report need."""
    model.feature_names_in_ = np.array(signals.names, dtype=object)
    table: dict[str, NDArray[Any]] = {"mean": scaling.mean, "scale": scaling.scale}
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
         "changes": scaling.changes, "units": signals.units}
    )  # fmt: skip


@dataclass(frozen=True)
class FitMetadata:
    """What `attach_metadata` stored with a model."""

    scaling: Scaling
    times: NDArray[Any] | None
    positions: NDArray[Any] | None
    about: dict[str, Any]


def read_metadata(model: Any) -> FitMetadata:
    """Return what `attach_metadata` stored; defaults for a model that was saved from Python."""
    nodes = model.n_features_in_
    table = getattr(model, "table_", {})
    about = json.loads(getattr(model, "about_", "{}"))
    mean, scale = table.get("mean", np.zeros(nodes)), table.get("scale", np.ones(nodes))
    if mean.shape != (nodes,) or scale.shape != (nodes,) or not (scale > 0).all():
        raise InputError("the model file has a scaling that does not fit its nodes")
    times = table.get("times")
    if times is not None and about.get("times") == "datetime":
        times = times.astype("datetime64[us]")
    return FitMetadata(
        Scaling(mean, scale, about.get("changes", "none")), times, table.get("positions"), about
    )
