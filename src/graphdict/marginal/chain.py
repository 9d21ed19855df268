"""Posterior of hidden patterns: for samples alone, for a Markov chain, or known.

The chain stays with probability ``rho`` and otherwise draws its next pattern from ``pi``,

    p(c_1) = pi_c      p(c_t | c_{t-1}) = rho [c_t = c_{t-1}] + (1 - rho) pi_{c_t},

so that every recursion costs O(T C), not O(T C^2), and what was drawn anew (the first pattern
included) is all that ``pi`` is learned from. A chain may come in blocks: all that one block needs
of those before it is the distribution of their last pattern, and of those after it, up to a factor,
how probable each last pattern of its own makes them. Both are messages of the size C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "Posterior",
    "Scaled",
    "backward_message",
    "best_message",
    "chain_posterior",
    "forward_message",
    "independent_posterior",
    "known_posterior",
    "most_probable_path",
    "scaled",
]


class Posterior(NamedTuple):
    """What an E-step knows: rows are samples or windows."""

    probabilities: NDArray  # (T, C) of each pattern
    evidence: NDArray  # (T,) log p(x_t), given the past where there is a chain
    draws: NDArray  # (C,) expected number of times each pattern was drawn from pi
    stays: float  # expected number of times the chain stayed without drawing


class Scaled(NamedTuple):
    """Likelihoods of rows, each divided by its largest."""

    likelihoods: NDArray  # (T, C), at most 1
    largest: NDArray  # (T,) the logarithm of what they were divided by


def scaled(log_likelihoods: NDArray) -> Scaled:
    """Likelihoods that can be multiplied without overflow."""
    largest = log_likelihoods.max(axis=1, keepdims=True)
    return Scaled(np.exp(log_likelihoods - largest), largest[:, 0])


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


def chain_posterior(
    rows: Scaled,
    probabilities: NDArray,
    stay: float,
    before: NDArray | None = None,
    after: NDArray | None = None,
) -> Posterior:
    """Posterior (T, C) by forward-backward recursions, each step scaled to sum to one.

    For a block of a chain, ``before`` is the :func:`forward_message` of what comes before it and
    ``after`` the :func:`backward_message` of what comes after.
    """
    posterior, scales, draws, stays = _forward_backward(
        rows.likelihoods, probabilities, stay,
        np.array(probabilities if before is None else before), before is None,
        np.ones(len(probabilities)) if after is None else np.array(after),
    )  # fmt: skip
    return Posterior(posterior, np.log(scales) + rows.largest, draws, float(stays))


def forward_message(
    rows: Scaled, probabilities: NDArray, stay: float, before: NDArray | None = None
) -> NDArray:
    """Distribution (C,) of the last pattern of a block given it and what came before."""
    first = np.array(probabilities if before is None else before)
    return _forward(rows.likelihoods, probabilities, stay, first, before is None)


def backward_message(
    rows: Scaled, probabilities: NDArray, stay: float, after: NDArray | None = None
) -> NDArray:
    """How probable (C,) each pattern before a block makes it and what comes after, at most 1."""
    last = np.ones(len(probabilities)) if after is None else np.array(after)
    return _backward(rows.likelihoods, probabilities, stay, last)


def best_message(
    log_likelihoods: NDArray, probabilities: NDArray, stay: float, before: NDArray | None = None
) -> NDArray:
    """Log-probability (C,) of the best path to each last pattern of a block, at most 0."""
    best, _ = _best_paths(log_likelihoods, *_log_steps(probabilities, stay, before))
    return best - best.max()


def most_probable_path(
    log_likelihoods: NDArray,
    probabilities: NDArray,
    stay: float,
    before: NDArray | None = None,
    last: int | None = None,
) -> tuple[NDArray, int]:
    """The sequence of patterns (T,) of highest posterior probability (Viterbi).

    Of a block, where ``before`` is the :func:`best_message` of what comes before it and ``last``
    the pattern that it ends with. Also returned is the pattern that the block before ends with.
    """
    best, came_from = _best_paths(log_likelihoods, *_log_steps(probabilities, stay, before))
    path, previous = _trace(came_from, int(best.argmax()) if last is None else last)
    return path, int(previous)


def _log_steps(
    probabilities: NDArray, stay: float, before: NDArray | None
) -> tuple[NDArray, NDArray, NDArray, bool]:
    """Logarithms of the first pattern, of drawing and of keeping a pattern; whether it begins."""
    with np.errstate(divide="ignore"):
        draw = np.log1p(-stay) + np.log(probabilities)
        same = np.log(stay + (1 - stay) * probabilities)
    if before is None:
        return np.log(probabilities), draw, same, True
    return np.array(before), draw, same, False


@njit(cache=True, nogil=True)
def _step(before, likelihoods, probabilities, stay, opens, after):  # pragma: no cover - compiled
    """Distribution ``after`` one more sample, whose scaled likelihood is returned."""
    scale = 0.0
    for c in range(len(after)):
        prior = probabilities[c]
        if not opens:
            prior = stay * before[c] + (1 - stay) * prior
        after[c] = prior * likelihoods[c]
        scale += after[c]
    for c in range(len(after)):
        after[c] /= scale
    return scale


@njit(cache=True, nogil=True)
def _forward(likelihoods, probabilities, stay, before, opens):  # pragma: no cover - compiled
    current = before.copy()
    for t in range(len(likelihoods)):
        _step(current, likelihoods[t], probabilities, stay, opens and t == 0, current)
    return current


@njit(cache=True, nogil=True)
def _backward(likelihoods, probabilities, stay, after):  # pragma: no cover - compiled
    steps, count = likelihoods.shape
    backward = after.copy()
    for t in range(steps - 1, -1, -1):
        drawn, largest = 0.0, 0.0
        for c in range(count):
            weighted = likelihoods[t, c] * backward[c]
            drawn += (1 - stay) * probabilities[c] * weighted
            backward[c] = stay * weighted
            largest = max(largest, backward[c])
        for c in range(count):
            backward[c] = (backward[c] + drawn) / (largest + drawn)
    return backward


@njit(cache=True, nogil=True)
def _forward_backward(
    likelihoods, probabilities, stay, before, opens, after
):  # pragma: no cover - compiled
    steps, count = likelihoods.shape
    forward = np.empty((steps, count))
    scales = np.empty(steps)
    for t in range(steps):
        previous = forward[t - 1] if t > 0 else before
        scales[t] = _step(
            previous, likelihoods[t], probabilities, stay, opens and t == 0, forward[t]
        )
    total = 0.0
    for c in range(count):
        total += forward[steps - 1, c] * after[c]
    backward = after / total
    draws = np.zeros(count)
    stays = 0.0
    for t in range(steps - 1, -1, -1):
        # weighted[c] = likelihood * backward / scale: what both sums of this step share
        previous = forward[t - 1] if t > 0 else before
        drawn = 0.0
        for c in range(count):
            weighted = likelihoods[t, c] * backward[c] / scales[t]
            fresh = probabilities[c] * weighted
            if t > 0 or not opens:
                fresh *= 1 - stay
                stays += stay * previous[c] * weighted
            draws[c] += fresh
            drawn += fresh
            forward[t, c] *= backward[c]
            backward[c] = stay * weighted
        for c in range(count):
            backward[c] += drawn
    return forward, scales, draws, stays


@njit(cache=True, nogil=True)
def _best_paths(log_likelihoods, before, log_draw, log_same, opens):  # pragma: no cover - compiled
    """Log-probabilities (C,) of the best paths to their last patterns, and where they came from."""
    steps, count = log_likelihoods.shape
    came_from = np.empty((steps, count), dtype=np.int32)
    best = before.copy()
    for t in range(steps):
        top = np.argmax(best)
        height = best[top]
        for c in range(count):
            moved = height + log_draw[c]
            stayed = best[c] + log_same[c]
            if opens and t == 0:
                came_from[t, c] = c
                best[c] += log_likelihoods[t, c]
            elif stayed >= moved:
                came_from[t, c] = c
                best[c] = stayed + log_likelihoods[t, c]
            else:
                came_from[t, c] = top
                best[c] = moved + log_likelihoods[t, c]
    return best, came_from


@njit(cache=True, nogil=True)
def _trace(came_from, pattern):  # pragma: no cover - compiled
    """The path that ends with a pattern, and the pattern before it."""
    path = np.empty(len(came_from), dtype=np.int64)
    for t in range(len(path) - 1, -1, -1):
        path[t] = pattern
        pattern = came_from[t, pattern]
    return path, pattern
