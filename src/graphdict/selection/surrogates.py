"""Series that have one graph and otherwise resemble given ones, to compare them with.

A surrogate has the spectrum of every column, the covariance between columns and the loudness of
every sample of the series it is made from, and one graph: its directions are those of a stationary
Gaussian process. It is made by turning the phases of the whitened series, by the same random angle
in all columns at each frequency (Prichard and Theiler). Of several recordings, the phases are those
of a Fourier transform over time and over recordings: the surrogate of each is a mixture of all, and
neither it nor a stretch of time runs on from one recording into the next.

Series and surrogates are compared by how much the covariance of whitened directions varies from one
stretch of time to another, over stretches of several lengths; what serial dependence adds to that,
it adds to surrogates too.
"""

from __future__ import annotations

import numpy as np

from graphdict.core.annotations import Floats, Integers
from graphdict.selection.prewhitening import equal_loudness, whitened

STRETCHES = 4, 8, 16, 32, 64, 128, 256  # samples, each a whole number of those before
FEWEST = 4  # stretches to compare
SURROGATE_ROUNDS = 1  # to equal loudness: surrogates are nearly white


def directions(signals: Floats) -> Floats:
    """Return whitened signals (T, d) whose samples are all of the same loudness."""
    return equal_loudness(whitened(signals))


def surrogate_directions(
    given: Floats, rng: np.random.RandomState, lengths: Integers | None = None
) -> Floats:
    """Return directions (T, d) with the spectra of given ones, of a process with one graph.

    ``lengths`` are the numbers of samples of recordings that stand one after the other; by default
    all are of one.
    """
    own = np.array([len(given)] if lengths is None else lengths)
    total = int(own.max())
    there = np.arange(total) < own[:, None]
    padded = np.zeros((*there.shape, given.shape[1]))
    padded[there] = given
    spectrum = np.fft.fft(np.fft.rfft(padded, axis=1), axis=0)
    turns = np.exp(2j * np.pi * rng.random_sample(spectrum.shape[:2]))
    turns[:, 0] = 1
    if total % 2 == 0:
        turns[:, -1] = 1  # the highest frequency stays real
    turned = np.fft.irfft(np.fft.ifft(spectrum * turns[..., None], axis=0), n=total, axis=1)
    return equal_loudness(turned[there], SURROGATE_ROUNDS)


def covariance_variation(given: Floats, lengths: Integers | None = None) -> float:
    """Return how much the covariance of directions (T, d) varies in time, in standard errors.

    For two independent directions of squared length d, the square of their product is d on average.
    The excess over all pairs within a stretch of time is large where stretches have covariances of
    their own; the largest of several lengths of stretches is returned. No stretch has samples of
    two recordings, whose ``lengths`` are as in :func:`surrogate_directions`.
    """
    dimension = given.shape[1]
    ends = np.cumsum([len(given)] if lengths is None else lengths)
    recordings = np.split(given, ends[:-1])
    variance = max(3 * dimension**3 / (dimension + 2) - dimension**2, 1e-12)
    found: list[float] = []
    moments: list[Floats] = []  # of the stretches of each recording
    before = 0  # samples that each of the moments has
    for length in STRETCHES:
        counts = [len(own) // length for own in recordings]
        count = sum(counts)
        if count < FEWEST:
            break
        if length <= dimension or not moments:
            pieces = [
                own[: number * length].reshape(number, length, dimension)
                for own, number in zip(recordings, counts)
            ]
        if length <= dimension:
            products = [piece @ piece.transpose(0, 2, 1) for piece in pieces]
        else:
            if not moments:
                moments = [piece.transpose(0, 2, 1) @ piece for piece in pieces]
            else:
                times = length // before
                moments = [
                    own[: number * times].reshape(number, times, dimension, dimension).sum(axis=1)
                    for own, number in zip(moments, counts)
                ]
            products, before = moments, length
        pairs = count * length * (length - 1)
        squares = sum(float(np.vdot(own, own)) for own in products)
        excess = squares - count * length * dimension**2 - pairs * dimension
        found.append(float(excess / np.sqrt(2 * pairs * variance)))
    return max(found, default=0.0)
