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
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import doubles

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
    likelihoods, probabilities = doubles(rows.likelihoods), doubles(probabilities)
    first = probabilities if before is None else doubles(before)
    last = np.ones(len(probabilities)) if after is None else doubles(after)
    posterior, scales = np.empty_like(likelihoods), np.empty(len(likelihoods))
    draws = np.empty(len(probabilities))
    stays = native.chain_posterior(
        likelihoods, probabilities, stay, before is None, first, last, posterior, scales, draws
    )
    return Posterior(posterior, np.log(scales) + rows.largest, draws, stays)


def forward_message(
    rows: Scaled, probabilities: NDArray, stay: float, before: NDArray | None = None
) -> NDArray:
    """Distribution (C,) of the last pattern of a block given it and what came before."""
    likelihoods, probabilities = doubles(rows.likelihoods), doubles(probabilities)
    message = np.array(probabilities if before is None else before, dtype=np.float64)
    native.chain_forward(likelihoods, probabilities, stay, before is None, message)
    return message


def backward_message(
    rows: Scaled, probabilities: NDArray, stay: float, after: NDArray | None = None
) -> NDArray:
    """How probable (C,) each pattern before a block makes it and what comes after, at most 1."""
    likelihoods, probabilities = doubles(rows.likelihoods), doubles(probabilities)
    message = np.ones(len(probabilities)) if after is None else np.array(after, dtype=np.float64)
    native.chain_backward(likelihoods, probabilities, stay, message)
    return message


def best_message(
    log_likelihoods: NDArray, probabilities: NDArray, stay: float, before: NDArray | None = None
) -> NDArray:
    """Log-probability (C,) of the best path to each last pattern of a block, at most 0."""
    best, _ = _best_paths(log_likelihoods, probabilities, stay, before)
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
    best, came_from = _best_paths(log_likelihoods, probabilities, stay, before)
    path = np.empty(len(came_from), dtype=np.int64)
    previous = native.trace_path(came_from, int(best.argmax()) if last is None else last, path)
    return path, previous


def _best_paths(
    log_likelihoods: NDArray, probabilities: NDArray, stay: float, before: NDArray | None
) -> tuple[NDArray, NDArray]:
    """Log-probabilities (C,) of the best paths to each last pattern, and (T, C) how they went."""
    values, probabilities = doubles(log_likelihoods), doubles(probabilities)
    with np.errstate(divide="ignore"):
        draw = np.log1p(-stay) + np.log(probabilities)
        same = np.log(stay + (1 - stay) * probabilities)
        best = np.array(np.log(probabilities) if before is None else before, dtype=np.float64)
    came_from = np.empty(values.shape, dtype=np.int32)
    native.best_paths(values, draw, same, before is None, best, came_from)
    return best, came_from
