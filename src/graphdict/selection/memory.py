"""Take the memory out of a series, so that samples which resemble their neighbours count once.

A series whose samples resemble their neighbours visits each part of its range for a while, and a
dictionary whose states last takes such visits for graphs. One autoregression, the same for all
nodes, says what a sample repeats of those before it. A filter in time that is common to all nodes
leaves the covariance between them as it is, up to a factor, and with it every graph: what remains,
the innovations, has the graphs of the series and none of its common memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.spectra import zero_sum_basis

__all__ = ["autoregression", "innovations", "whitened"]

LONGEST, SAMPLES_FOR_LAG = 20, 20  # lags at most, and samples that each takes
TINY = 1e-10  # of the largest variance: directions that have none


def whitened(signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return signals (T, N) in coordinates (T, d) of unit variance, without mean of nodes or time.

    Directions without variance are left out.
    """
    centred = (signals - signals.mean(axis=0)) @ zero_sum_basis(signals.shape[1])
    return _white(centred)


def _white(centred: NDArray[np.float64]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    there = values > TINY * max(float(values[-1]), np.finfo(float).tiny)
    white: NDArray[np.float64] = centred @ (vectors[:, there] / np.sqrt(values[there]))
    return white


def autoregression(signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients (q,) of the autoregression that all nodes of signals (T, N) share.

    By the Levinson recursion on the autocorrelation of whitened signals, a mean over directions;
    the order q is that of least Bayesian information criterion, 0 where there is no memory.
    """
    white = whitened(signals)
    total, dimension = white.shape
    longest = min(LONGEST, total // SAMPLES_FOR_LAG)
    if dimension == 0 or longest == 0:
        return np.empty(0)
    correlations = np.array(
        [np.vdot(white[: total - lag], white[lag:]) for lag in range(longest + 1)]
    ) / (total * dimension)
    best = found = np.empty(0)
    variance, least = correlations[0], 0.0
    for order in range(1, longest + 1):
        predicted = found @ correlations[order - 1 : 0 : -1] if order > 1 else 0.0
        reflection = (correlations[order] - predicted) / variance
        found = np.append(found - reflection * found[::-1], reflection)
        variance = max(variance * (1 - reflection**2), TINY)
        criterion = total * dimension * np.log(variance) + order * np.log(total * dimension)
        if criterion < least:
            best, least = found, criterion
    return best


def innovations(
    signals: NDArray[np.float64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what an autoregression (q,) leaves of signals (T, N): (T - q, N), or none."""
    order = len(coefficients)
    left = signals[order:].copy()
    if not len(left):
        return left
    for lag, coefficient in enumerate(coefficients, start=1):
        left -= coefficient * signals[order - lag : len(signals) - lag]
    return left
