"""Posterior of hidden patterns: for samples alone, for a Markov chain, or known.

The chain stays with probability ``rho`` and otherwise draws its next pattern from ``pi``,

    p(c_1) = pi_c      p(c_t | c_{t-1}) = rho [c_t = c_{t-1}] + (1 - rho) pi_{c_t},

so that every recursion costs O(T C), not O(T C^2), and what was drawn anew (the first pattern
included) is all that ``pi`` is learned from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "Posterior",
    "chain_posterior",
    "independent_posterior",
    "known_posterior",
    "most_probable_path",
]


class Posterior(NamedTuple):
    """What an E-step knows: rows are samples or windows."""

    probabilities: NDArray  # (T, C) of each pattern
    evidence: NDArray  # (T,) log p(x_t), given the past where there is a chain
    draws: NDArray  # (C,) expected number of times each pattern was drawn from pi
    stays: float  # expected number of times the chain stayed without drawing


def independent_posterior(log_likelihoods: NDArray, probabilities: NDArray) -> Posterior:
    """Posterior (T, C) where every row of ``log_likelihoods`` (T, C) stands alone."""
    joint = log_likelihoods + np.log(probabilities)
    largest = joint.max(axis=1, keepdims=True)
    np.subtract(joint, largest, out=joint)
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    evidence = (np.log(total) + largest)[:, 0]
    return Posterior(joint, evidence, joint.sum(axis=0), 0.0)


def known_posterior(log_likelihoods: NDArray, known: NDArray) -> Posterior:
    """Posterior (T, C) where the pattern of each row is given by its index (T,)."""
    posterior = np.zeros_like(log_likelihoods)
    row = np.arange(len(known))
    posterior[row, known] = 1
    return Posterior(posterior, log_likelihoods[row, known], posterior.sum(axis=0), 0.0)


def chain_posterior(log_likelihoods: NDArray, probabilities: NDArray, stay: float) -> Posterior:
    """Posterior (T, C) by forward-backward recursions, each step scaled to sum to one."""
    largest = log_likelihoods.max(axis=1, keepdims=True)
    likelihoods = np.exp(log_likelihoods - largest)
    posterior, scales, draws, stays = _forward_backward(likelihoods, probabilities, stay)
    return Posterior(posterior, np.log(scales) + largest[:, 0], draws, float(stays))


def most_probable_path(log_likelihoods: NDArray, probabilities: NDArray, stay: float) -> NDArray:
    """The sequence of patterns (T,) of highest posterior probability (Viterbi)."""
    with np.errstate(divide="ignore"):
        log_draw = np.log1p(-stay) + np.log(probabilities)
        log_same = np.log(stay + (1 - stay) * probabilities)
    return _viterbi(log_likelihoods, np.log(probabilities), log_draw, log_same)


@njit(cache=True)
def _forward_backward(likelihoods, probabilities, stay):  # pragma: no cover - compiled
    steps, count = likelihoods.shape
    forward = np.empty((steps, count))
    scales = np.empty(steps)
    for t in range(steps):
        scale = 0.0
        for c in range(count):
            prior = probabilities[c]
            if t > 0:
                prior = stay * forward[t - 1, c] + (1 - stay) * prior
            forward[t, c] = prior * likelihoods[t, c]
            scale += forward[t, c]
        scales[t] = scale
        for c in range(count):
            forward[t, c] /= scale
    backward = np.ones(count)
    draws = np.zeros(count)
    stays = 0.0
    for t in range(steps - 1, -1, -1):
        # weighted[c] = likelihood * backward / scale: what both sums of this step share
        drawn = 0.0
        for c in range(count):
            weighted = likelihoods[t, c] * backward[c] / scales[t]
            fresh = probabilities[c] * weighted
            if t > 0:
                fresh *= 1 - stay
                stays += stay * forward[t - 1, c] * weighted
            draws[c] += fresh
            drawn += fresh
            forward[t, c] *= backward[c]
            backward[c] = stay * weighted
        for c in range(count):
            backward[c] += drawn
    return forward, scales, draws, stays


@njit(cache=True)
def _viterbi(log_likelihoods, log_first, log_draw, log_same):  # pragma: no cover - compiled
    steps, count = log_likelihoods.shape
    came_from = np.empty((steps, count), dtype=np.int32)
    best = log_first + log_likelihoods[0]
    for t in range(1, steps):
        top = np.argmax(best)
        height = best[top]
        for c in range(count):
            moved = height + log_draw[c]
            stayed = best[c] + log_same[c]
            if stayed >= moved:
                came_from[t, c] = c
                best[c] = stayed + log_likelihoods[t, c]
            else:
                came_from[t, c] = top
                best[c] = moved + log_likelihoods[t, c]
    path = np.empty(steps, dtype=np.int64)
    path[-1] = np.argmax(best)
    for t in range(steps - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path
