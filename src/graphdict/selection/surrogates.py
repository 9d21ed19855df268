"""Series that have one graph and otherwise resemble given ones, to compare a gain with.

A surrogate has the spectrum of every column, the covariance between columns and the loudness of
every sample of the series it is made from, and one graph: its directions are those of a stationary
Gaussian process. It is made by turning the phases of the whitened series, by the same random angle
in all columns at each frequency (Prichard and Theiler).

Series and surrogates are compared by what several states gain over one in predicting the direction
of a sample. States are covariances of whitened directions that last, learned by a few iterations of
expectation-maximisation; whatever memory or tails gain, they gain for surrogates too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import chain_posterior, scale_likelihoods
from graphdict.selection.memory import _white, whitened

__all__ = ["directions", "state_gain", "surrogate_directions", "surrogate_signals"]

SPHERE_ROUNDS = 3
STEPS, COLDEST = 15, 0.2  # iterations, of which the first half is annealed
SEGMENT = 20  # samples that start with the same memberships
FIRST_STAY, LONGEST_STAY = 0.8, 0.999


def directions(signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return whitened signals (T, d) whose samples are all of the same loudness."""
    return _same_loudness(whitened(signals))


def _same_loudness(white: NDArray[np.float64]) -> NDArray[np.float64]:
    for _ in range(SPHERE_ROUNDS):
        white = _white(white / _loudness(white))
    same: NDArray[np.float64] = white / _loudness(white)
    return same


def _loudness(white: NDArray[np.float64]) -> NDArray[np.float64]:
    sizes: NDArray[np.float64] = np.sqrt(np.square(white).mean(axis=1, keepdims=True))
    return np.maximum(sizes, 1e-12)


def surrogate_directions(
    given: NDArray[np.float64], rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Return directions (T, d) with the spectra of given ones, of a process with one graph."""
    spectrum = np.fft.rfft(given, axis=0)
    turns = np.exp(2j * np.pi * rng.random_sample(len(spectrum)))
    turns[0] = 1
    if len(given) % 2 == 0:
        turns[-1] = 1  # the highest frequency stays real
    return _same_loudness(np.fft.irfft(spectrum * turns[:, None], n=len(given), axis=0))


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
    found: NDArray[np.float64] = drawn * _loudness(white) @ mixing
    return found


def state_gain(
    given: NDArray[np.float64],
    states: int,
    rng: np.random.RandomState,
    starts: Sequence[int] = (),
) -> float:
    """Return what lasting states gain over one, in nats a sample, on directions (T, d).

    States begin anew at the samples ``starts``.
    The gain is that on the samples learned from: it is to be compared with that of surrogates.
    """
    total, dimension = given.shape
    segments = -(-total // SEGMENT)
    memberships = rng.dirichlet(np.ones(states), size=segments).repeat(SEGMENT, axis=0)[:total]
    odds, stay = np.full(states, 1 / states), FIRST_STAY
    schedule = np.append(np.linspace(COLDEST, 1, STEPS // 2), np.ones(STEPS - STEPS // 2))
    prior = dimension + 1.0  # samples that each state has of the one covariance
    values = np.empty((total, states))
    for inverse_temperature in schedule:
        for state, share in enumerate(memberships.T):
            weighted = given * np.sqrt(share)[:, None]
            moments = weighted.T @ weighted + prior * np.eye(dimension)
            root = np.linalg.inv(np.linalg.cholesky(moments / (share.sum() + prior)))
            scaled = given @ root.T
            values[:, state] = -0.5 * np.einsum("td,td->t", scaled, scaled)
            values[:, state] += np.log(np.diagonal(root)).sum()
        likelihoods = scale_likelihoods(inverse_temperature * values)
        posterior = chain_posterior(likelihoods, odds, stay, starts=starts)
        memberships = posterior.responsibilities
        odds = (posterior.draws + 1) / (posterior.draws.sum() + states)
        stay = min((posterior.stays + 1) / (total + 2), LONGEST_STAY)
    one = -0.5 * np.square(given).sum(axis=1)
    return float((posterior.log_evidence - one).mean())
