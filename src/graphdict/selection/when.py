"""When an atom holds, and for how long, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans, Integers

YEAR = 31557600.0
SECONDS = (
    (2 * YEAR, YEAR, "years"), (86400.0, 86400.0, "days"), (3600.0, 3600.0, "hours"),
    (60.0, 60.0, "minutes"), (1.0, 1.0, "seconds"),
)  # fmt: skip
MONTHS = "January February March April May June July August September October November December"
LONG_DAYS = 14  # of a series, from which on hours are not said
CORE, SHORT = 0.8, 0.5  # of an atom's samples lie in so much of the time: that is when it holds
YEARS_OF_SEASONS = 2  # that a series lasts at least: what happens once is no season
SEASONAL = 0.25  # by how much the mean coefficient of months differs, from which on they are named


def usual_stay(active: Booleans) -> float:
    """Return the length of the stay in which half of an atom's samples lie, or a longer one."""
    ends = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(np.int8), [0]])))
    lengths = np.sort(ends[1::2] - ends[::2])
    if not len(lengths):
        return 0.0
    total = np.cumsum(lengths)
    return float(lengths[np.searchsorted(total, total[-1] / 2)])


def described_duration(samples: float, step: float | None) -> str:
    """Return a number of samples in words, as a time where ``step``, in seconds, is known."""
    if step is None:
        return f"{rounded(samples)} samples"
    seconds = samples * step
    for least, length, name in SECONDS:
        if seconds >= least:
            count = rounded(seconds / length)
            return f"{count} {name if count != '1' else name[:-1]}"
    return f"{seconds:.2g} seconds"


def rounded(value: float) -> str:
    """Return a number to two digits, without powers of ten."""
    return f"{float(f'{value:.2g}'):,.6g}"


def described_times(coefficients: NDArray[Any], times: NDArray[Any] | None) -> str:
    """Return when an atom holds, by months, or by the longest time that it does."""
    if times is None:
        return ""
    times = np.asarray(times)
    if times.dtype.kind == "M":
        months = times.astype("datetime64[M]").astype(int) % 12
        long = times.max() - times.min() > np.timedelta64(365 * YEARS_OF_SEASONS, "D")
        if long and len(np.unique(months)) == 12:
            means = np.array([coefficients[months == month].mean() for month in range(12)])
            if means.max() - means.min() > SEASONAL:
                high = np.flatnonzero(means > (means.max() + means.min()) / 2)
                return f", mostly in {_months(high)}"
    return _period(coefficients, times)


def _period(coefficients: NDArray[Any], times: NDArray[Any]) -> str:
    """Return from when to when an atom holds, where that is not nearly always."""
    total = np.cumsum(coefficients, dtype=np.float64)
    if times.dtype.kind != "M" or not total[-1] > 0 or (times[1:] < times[:-1]).any():
        return ""
    outside = (1 - CORE) / 2 * total[-1]
    first, last = np.searchsorted(total, [outside, total[-1] - outside])
    start, end = times[first], times[min(last, len(times) - 1)]
    if not (end - start) < SHORT * (times[-1] - times[0]):
        return ""
    long = times[-1] - times[0] > np.timedelta64(LONG_DAYS, "D")
    unit = "D" if long else "m"
    shown = [str(t.astype(f"datetime64[{unit}]")).replace("T", " ") for t in (start, end)]
    return f", mostly from {shown[0]} to {shown[1]}"


def _months(which: Integers) -> str:
    """Return months by name, as a span where they follow one another round the year."""
    names = MONTHS.split()
    inside = np.zeros(12, dtype=bool)
    inside[which] = True
    starts = [month for month in which if not inside[month - 1]]
    if len(which) > 1 and len(starts) == 1:
        return f"{names[starts[0]]} to {names[(starts[0] + len(which) - 1) % 12]}"
    return listed([names[month] for month in which])


def listed(words: list[str]) -> str:
    """Return words with commas, and the last with "and"."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
