"""Encode arrays for the report: merge samples into windows, numbers as base64."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Floats, Integers

MOST_NUMBERS = 200_000
"""Largest number of coefficients that are not merged into windows (0.8 MB)."""

MOST_WINDOWS = 10_000
"""Largest number of windows: several for each pixel of a screen."""


def packed(values: NDArray[Any], dtype: str) -> str:
    """Return the little-endian bytes of an array in base64, for ``decode`` in data.js."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<{dtype}").tobytes()).decode()


@dataclass(frozen=True)
class Windows:
    """Windows of consecutive samples: the start, mean, minimum and maximum of each.

    ``low`` and ``high`` are None where every window is a single sample.
    """

    start: Integers
    size: int
    mean: Floats
    low: Floats | None
    high: Floats | None


def windows(
    coefficients: Floats, breaks: Integers, most: int = MOST_NUMBERS, firm: Integers | None = None
) -> Windows:
    """Return coefficients (T, K) as they are, or merged into windows of at most ``most`` numbers.

    Windows do not cross the samples ``breaks``, unless there are too many of those, and never the
    ``firm`` ones.
    """
    samples, atoms = coefficients.shape
    if samples * atoms <= most:
        return Windows(np.arange(samples), 1, coefficients, None, None)
    size = -(-samples // max(min(most // (3 * atoms), MOST_WINDOWS), 1))
    start = np.arange(0, samples, size)
    if len(breaks) <= len(start) // 4:
        start = np.union1d(start, breaks)
    if firm is not None:
        start = np.union1d(start, firm)
    counts = np.diff(np.append(start, samples))[:, None]
    total = np.add.reduceat(coefficients, start, axis=0, dtype=np.float64)
    low = np.minimum.reduceat(coefficients, start, axis=0)
    high = np.maximum.reduceat(coefficients, start, axis=0)
    return Windows(start, size, total / counts, low, high)
