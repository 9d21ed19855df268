"""Priors on the coefficients ``Delta`` (T, K) that tie samples together in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict.core.annotations import Floats, Integers
from graphdict.native.proxes import total_variation_prox


@dataclass(frozen=True)
class TotalVariation:
    """``alpha sum_t |delta_{t+1} - delta_t|_1``: coefficients stay put, or jump.

    Parameters
    ----------
    alpha : float
        Strength, not negative.
    starts : tuple of int, optional
        Samples at which a recording begins: changes from the sample before them do not count.
    """

    alpha: float
    starts: tuple[int, ...] = ()
    precedes_elementwise = True

    def value(self, coefficients: Floats) -> float:
        """Return the term at coefficients (T, K)."""
        jumps = np.abs(np.diff(coefficients, axis=0))
        jumps[np.array(self.starts, dtype=np.intp) - 1] = 0
        return self.alpha * float(jumps.sum(dtype=np.float64))

    def prox(self, coefficients: Floats, step: float) -> Floats:
        """Return the exact prox (T, K), in O(T K)."""
        parts = np.split(coefficients, self.starts)
        return np.concatenate([total_variation_prox(part, self.alpha * step) for part in parts])


@dataclass(frozen=True)
class ConstantOverWindows:
    """The constraint that rows are equal within each window of ``size`` samples.

    Parameters
    ----------
    size : int
        Number of samples in a window; the last one may be shorter.
    """

    size: int
    precedes_elementwise = True

    def value(self, coefficients: Floats) -> float:
        """Return 0 where coefficients (T, K) are constant over each window, else ``inf``."""
        return 0.0 if np.allclose(coefficients, self.prox(coefficients, 1.0)) else float("inf")

    def prox(self, coefficients: Floats, step: float) -> Floats:
        """Return the mean (T, K) over the window of each sample, whatever the ``step``."""
        counts = window_counts(len(coefficients), self.size)
        return np.repeat(window_means(coefficients, counts), counts, axis=0)


def window_counts(samples: int, size: int) -> Integers:
    """Return the number of samples in each window of ``size``; the last one may be shorter."""
    size = min(size, max(samples, 1))
    if size == 1:
        return np.broadcast_to(np.intp(1), samples)  # no memory of its own
    counts = np.full(-(-samples // size), size, dtype=np.intp)
    counts[-1:] = samples - size * (len(counts) - 1)
    return counts


def window_means(rows: Floats, counts: Integers) -> Floats:
    """Return the mean of ``rows`` (T, ...) within consecutive windows of the given lengths."""
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    sums = np.add.reduceat(rows, starts, axis=0)
    return sums / counts.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
