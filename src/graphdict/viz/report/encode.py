"""Arrays in a page: few enough samples to carry, numbers as base64 of their bytes."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_NUMBERS", "Windows", "packed", "windows"]

MOST_NUMBERS = 200_000
"""Coefficients that a page carries one by one; 0.8 MB of them."""

MOST_WINDOWS = 10_000
"""Windows to which more are reduced: several for each pixel of a screen."""


def packed(values: NDArray, dtype: str) -> str:
    """The bytes of an array, little-endian, in base64: what ``decode`` of the page reads."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<{dtype}").tobytes()).decode()


@dataclass(frozen=True)
class Windows:
    """Consecutive samples, merged: where each window starts, its mean, smallest and largest.

    ``low`` and ``high`` are None where every window is a single sample.
    """

    start: NDArray
    size: int
    mean: NDArray
    low: NDArray | None
    high: NDArray | None


def windows(coefficients: NDArray, breaks: NDArray, most: int = MOST_NUMBERS) -> Windows:
    """Coefficients (T, K) as they are, or merged so that at most ``most`` numbers remain.

    A window also ends where one of ``breaks`` begins, unless there are too many of those.
    """
    samples, atoms = coefficients.shape
    if samples * atoms <= most:
        return Windows(np.arange(samples), 1, coefficients, None, None)
    size = -(-samples // max(min(most // (3 * atoms), MOST_WINDOWS), 1))
    start = np.arange(0, samples, size)
    if len(breaks) <= len(start) // 4:
        start = np.union1d(start, breaks)
    counts = np.diff(np.append(start, samples))[:, None]
    total = np.add.reduceat(coefficients, start, axis=0, dtype=np.float64)
    low = np.minimum.reduceat(coefficients, start, axis=0)
    high = np.maximum.reduceat(coefficients, start, axis=0)
    return Windows(start, size, total / counts, low, high)
