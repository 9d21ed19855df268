"""Columns that have one value in many rows, such as rain: no Gaussian has a density for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files import SignalTable

OFTEN = 0.25  # share of rows with the same value, from which on it is spread
WIDTH = 0.25  # of the standard deviation, to either side
MOST_NAMED = 5
SEED = 20130101


def spread_repeats(signals: SignalTable, values: NDArray[Any]) -> tuple[NDArray[Any], str | None]:
    """Return values (T, N) to learn from, noise added where a value repeats; and a note, or None.

    A state in which a column never moves would be infinitely probable: with a value in a quarter of
    all rows, a dictionary would tell these rows apart and nothing else. Uniform noise, a quarter of
    the standard deviation to either side, makes such states no narrower than that and changes the
    variance by two hundredths.
    """
    found = {}
    for index, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        distinct, counts = np.unique(known, return_counts=True)
        if len(distinct) > 1 and counts.max() >= OFTEN * len(known):
            rows = ~np.isnan(signals.values[:, index])
            repeated = signals.values[rows, index][known == distinct[counts.argmax()]]
            found[index] = float(repeated[0]), counts.max() / len(known)
    if not found:
        return values, None
    rng = np.random.default_rng(SEED)
    spread = np.array(values, dtype=np.float64)
    for index in found:
        size = WIDTH * float(np.nanstd(spread[:, index]))
        spread[:, index] += rng.uniform(-size, size, len(spread))
    often = sorted(found, key=lambda index: -found[index][1])
    named = ", ".join(
        f"{signals.names[index]!r} ({found[index][0]:g} in {found[index][1]:.0%})"
        for index in often[:MOST_NAMED]
    ) + (f" and {len(often) - MOST_NAMED} more" if len(often) > MOST_NAMED else "")
    return spread, (
        f"column(s) that have the same value in many rows, which no graph explains: {named}; noise "
        "of a seventh of their spread is added to learn from them (--ignore leaves columns out)"
    )
