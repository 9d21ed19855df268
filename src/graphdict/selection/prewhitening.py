"""Take serial dependence and loudness out of a series, so that states differ by graphs alone.

A series whose samples resemble their neighbours visits each part of its range for a while, and a
dictionary whose states last takes such visits for graphs. One autoregression, the same for all
nodes, says what a sample repeats of those before it. A filter in time that is common to all nodes
leaves the covariance between them as it is, up to a factor, and with it every graph: what remains,
the innovations, has the graphs of the series and none of its serial dependence.

Neither is loudness a graph. It may last, as volatility does, and states that last would follow it:
so every sample is divided by its own.
"""

from __future__ import annotations

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.marginal.spectra import zero_sum_basis

LONGEST, SAMPLES_FOR_LAG = 20, 20  # lags at most, and samples that each takes
TINY = 1e-10  # of the largest variance: directions that have none
ROUNDS = 3  # to find a covariance to which all samples count alike
QUIETEST = 1e-3  # of the mean loudness: what is quieter is not made as loud as the others


def whitened(signals: Floats) -> Floats:
    """Return signals (T, N) in coordinates (T, d) of unit variance, without mean of nodes or time.

    Directions without variance are left out.
    """
    centred = (signals - signals.mean(axis=0)) @ zero_sum_basis(signals.shape[1])
    return _white(centred)


def _white(centred: Floats) -> Floats:
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    there = values > TINY * max(float(values[-1]), np.finfo(float).tiny)
    white: Floats = centred @ (vectors[:, there] / np.sqrt(values[there]))
    return white


def equal_loudness(white: Floats, rounds: int = ROUNDS) -> Floats:
    """Return whitened signals (T, d), white again after each sample was brought to one size."""
    for _ in range(rounds):
        white = _white(white / sizes_of(white))
    same: Floats = white / sizes_of(white)
    return same


def sizes_of(white: Floats) -> Floats:
    """Return the root mean square of each whitened sample (T, 1), never 0."""
    sizes: Floats = np.sqrt(np.square(white).mean(axis=1, keepdims=True))
    return np.maximum(sizes, 1e-12)


def with_equal_loudness(signals: Floats) -> Floats:
    """Return signals (T, N), each sample divided by how loud it is.

    That is its size where signals are white, by a covariance to which all samples count alike
    (Tyler's). Loudness that comes and goes is then no sign of states, and what is left has the
    graphs of the signals: a factor for each sample is all that has changed.
    """
    white = _white(signals @ zero_sum_basis(signals.shape[1]))
    total = np.ones((len(white), 1))
    for _ in range(ROUNDS if white.shape[1] else 0):
        sizes = sizes_of(white)
        sizes = np.maximum(sizes, QUIETEST * sizes.mean())
        white = _white(white / sizes)
        total *= sizes
    even: Floats = signals / total
    return even


def autoregression(*recordings: Floats) -> Floats:
    """Return the coefficients (q,) of the autoregression that all nodes of signals (T, N) share.

    Of several recordings, none of which remembers another, it is the same in all. By the Levinson
    recursion on the autocorrelation of whitened signals, a mean over directions; the order q is
    that of least Bayesian information criterion, 0 where samples do not depend on earlier ones.
    """
    white = whitened(np.concatenate(recordings))
    total, dimension = white.shape
    pieces = np.split(white, np.cumsum([len(one) for one in recordings])[:-1])
    longest = min(LONGEST, total // SAMPLES_FOR_LAG)
    if dimension == 0 or longest == 0:
        return np.empty(0)
    correlations = np.array(
        [
            sum(
                np.vdot(piece[: len(piece) - lag], piece[lag:])
                for piece in pieces
                if len(piece) > lag
            )
            for lag in range(longest + 1)
        ]
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


def innovations(signals: Floats, coefficients: Floats) -> Floats:
    """Return what an autoregression (q,) leaves of signals (T, N): (T - q, N), or none."""
    order = len(coefficients)
    left = signals[order:].copy()
    if not len(left):
        return left
    for lag, coefficient in enumerate(coefficients, start=1):
        left -= coefficient * signals[order - lag : len(signals) - lag]
    return left
