"""Series that have one graph and otherwise resemble given ones, to compare them with.

A surrogate has the spectrum of every column, the covariance between columns and the loudness of
every sample of the series it is made from, and one graph: its directions are those of a stationary
Gaussian process. It is made by turning the phases of the whitened series, by the same random angle
in all columns at each frequency (Prichard and Theiler).

Series and surrogates are compared by how much the covariance of whitened directions varies from one
stretch of time to another, over stretches of several lengths; what memory adds to that, it adds to
surrogates too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.selection.memory import equal_loudness, sizes_of, whitened

__all__ = ["covariance_variation", "directions", "surrogate_directions", "surrogate_signals"]

STRETCHES = 4, 8, 16, 32, 64, 128, 256  # samples, each a whole number of those before
FEWEST = 4  # stretches to compare
SURROGATE_ROUNDS = 1  # to equal loudness: surrogates are nearly white


def directions(signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return whitened signals (T, d) whose samples are all of the same loudness."""
    return equal_loudness(whitened(signals))


def surrogate_directions(
    given: NDArray[np.float64], rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Return directions (T, d) with the spectra of given ones, of a process with one graph."""
    return _with_other_phases(np.fft.rfft(given, axis=0), len(given), rng)


def _with_other_phases(
    spectrum: NDArray[np.complex128], total: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    turns = np.exp(2j * np.pi * rng.random_sample(len(spectrum)))
    turns[0] = 1
    if total % 2 == 0:
        turns[-1] = 1  # the highest frequency stays real
    turned = np.fft.irfft(spectrum * turns[:, None], n=total, axis=0)
    return equal_loudness(turned, SURROGATE_ROUNDS)


def surrogate_signals(
    signals: NDArray[np.float64], rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Return signals (T, N) with one graph, and covariance, spectra and loudness of given ones.

    The mean over nodes, which no graph explains, is left out.
    """
    centred = signals - signals.mean(axis=1, keepdims=True)
    centred = centred - centred.mean(axis=0)
    white = whitened(signals)
    mixing = np.linalg.lstsq(white, centred, rcond=None)[0]
    drawn: NDArray[np.float64] = surrogate_directions(directions(signals), rng)
    found: NDArray[np.float64] = drawn * sizes_of(white) @ mixing
    return found


def covariance_variation(given: NDArray[np.float64]) -> float:
    """Return how much the covariance of directions (T, d) varies in time, in standard errors.

    For two independent directions of squared length d, the square of their product is d on average.
    The excess over all pairs within a stretch of time is large where stretches have covariances of
    their own; the largest of several lengths of stretches is returned.
    """
    total, dimension = given.shape
    variance = max(3 * dimension**3 / (dimension + 2) - dimension**2, 1e-12)
    found: list[float] = []
    moments: NDArray[np.float64] | None = None
    before = 0  # samples that each of the moments has
    for length in STRETCHES:
        count = total // length
        if count < FEWEST:
            break
        if length <= dimension:
            pieces = given[: count * length].reshape(count, length, dimension)
            products = pieces @ pieces.transpose(0, 2, 1)
        else:
            if moments is None:
                pieces = given[: count * length].reshape(count, length, dimension)
                moments = pieces.transpose(0, 2, 1) @ pieces
            else:
                times = length // before
                moments = moments[: count * times].reshape(count, times, dimension, dimension)
                moments = moments.sum(axis=1)
            products, before = moments, length
        pairs = count * length * (length - 1)
        excess = np.vdot(products, products) - count * length * dimension**2 - pairs * dimension
        found.append(float(excess / np.sqrt(2 * pairs * variance)))
    return max(found, default=0.0)
