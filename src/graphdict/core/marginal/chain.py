"""Posterior of hidden patterns: for samples alone, for a Markov chain, or known.

The chain stays with probability ``rho`` and otherwise draws its next pattern from ``pi``,

    p(c_1) = pi_c      p(c_t | c_{t-1}) = rho [c_t = c_{t-1}] + (1 - rho) pi_{c_t},

so that every recursion costs O(T C), not O(T C^2), and what was drawn anew (the first pattern
included) is all that ``pi`` is learned from. A chain may come in blocks, which exchange messages
(C,): the *forward* message of a block is the distribution of its last pattern given the block and
all before it; the *backward* message of a block is, for each pattern of the sample before it and up
to a factor, the likelihood of the block and all after it.

Several chains may stand one after the other: ``starts`` are the rows of a block at which one
begins, and no message goes past them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import doubles


class Posterior(NamedTuple):
    """The posterior of T samples or windows."""

    responsibilities: NDArray  # (T, C) posterior probability of each pattern
    log_evidence: NDArray  # (T,) log p(x_t), given the past where there is a chain
    draws: NDArray  # (C,) expected number of times each pattern was drawn from pi
    stays: float  # expected number of times the chain stayed without drawing


class ScaledLikelihoods(NamedTuple):
    """Likelihoods of rows, each divided by its largest."""

    likelihoods: NDArray  # (T, C), at most 1
    log_scales: NDArray  # (T,) the logarithm of what they were divided by
    kept: dict[str, Any] | None = None  # of the block of samples that they are of

    def part(self, rows: slice) -> ScaledLikelihoods:
        """Return those of some rows."""
        return ScaledLikelihoods(self.likelihoods[rows], self.log_scales[rows])


def scale_likelihoods(log_likelihoods: NDArray) -> ScaledLikelihoods:
    """Return likelihoods (T, C) that can be multiplied without overflow."""
    largest = _row_maxima(log_likelihoods)
    return ScaledLikelihoods(np.exp(log_likelihoods - largest), largest[:, 0])


def _row_maxima(values: NDArray) -> NDArray:
    """Return the largest entry of each row, (T, 1); of short rows by columns, which is faster."""
    if values.shape[1] > 32:
        return values.max(axis=1, keepdims=True)
    largest = values[:, :1].copy()
    for column in range(1, values.shape[1]):
        np.maximum(largest, values[:, column : column + 1], out=largest)
    return largest


def independent_posterior(log_likelihoods: NDArray, probabilities: NDArray) -> Posterior:
    """Return the posterior where every row of ``log_likelihoods`` (T, C) stands alone."""
    joint = log_likelihoods + np.log(probabilities)
    largest = _row_maxima(joint)
    np.subtract(joint, largest, out=joint)
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    log_evidence = (np.log(total) + largest)[:, 0]
    return Posterior(joint, log_evidence, joint.sum(axis=0), 0.0)


def known_posterior(log_likelihoods: NDArray, known: NDArray) -> Posterior:
    """Return the posterior where the pattern of each row is given by its index (T,)."""
    posterior = np.zeros_like(log_likelihoods)
    row = np.arange(len(known))
    posterior[row, known] = 1
    return Posterior(posterior, log_likelihoods[row, known], posterior.sum(axis=0), 0.0)


def chain_posterior(
    rows: ScaledLikelihoods,
    probabilities: NDArray,
    stay: float,
    forward: NDArray | None = None,
    backward: NDArray | None = None,
    *,
    starts: Sequence[int] = (),
) -> Posterior:
    """Return the posterior by forward-backward recursions, each step scaled to sum to one.

    ``forward`` (C,) is the :func:`forward_message` of the block before these rows, and ``backward``
    (C,) the :func:`backward_message` of the block after them; None at the ends of the chain.
    """
    pieces = _chains(len(rows.likelihoods), starts)
    if len(pieces) > 1:
        found = [
            chain_posterior(
                rows.part(piece), probabilities, stay,
                None if piece.start in starts else forward,
                backward if piece is pieces[-1] else None,
            )
            for piece in pieces
        ]  # fmt: skip
        return Posterior(
            np.concatenate([each.responsibilities for each in found]),
            np.concatenate([each.log_evidence for each in found]),
            np.sum([each.draws for each in found], axis=0),
            sum(each.stays for each in found),
        )
    forward = None if len(starts) else forward
    likelihoods, probabilities = doubles(rows.likelihoods), doubles(probabilities)
    first = probabilities if forward is None else doubles(forward)
    last = np.ones(len(probabilities)) if backward is None else doubles(backward)
    posterior, scales = np.empty_like(likelihoods), np.empty(len(likelihoods))
    draws = np.empty(len(probabilities))
    stays = native.chain_posterior(
        likelihoods, (probabilities, stay, forward is None), (first, last),
        (posterior, scales, draws),
    )  # fmt: skip
    return Posterior(posterior, np.log(scales) + rows.log_scales, draws, stays)


def forward_message(
    rows: ScaledLikelihoods,
    probabilities: NDArray,
    stay: float,
    forward: NDArray | None = None,
    *,
    starts: Sequence[int] = (),
) -> NDArray:
    """Return the distribution (C,) of the last pattern of a block given it and all before it.

    ``forward`` is the message of the block before.
    """
    if len(starts):
        rows, forward = rows.part(slice(starts[-1], None)), None
    likelihoods, probabilities = doubles(rows.likelihoods), doubles(probabilities)
    message = np.array(probabilities if forward is None else forward, dtype=np.float64)
    native.chain_forward(likelihoods, probabilities, stay, forward is None, message)
    return message


def backward_message(
    rows: ScaledLikelihoods,
    probabilities: NDArray,
    stay: float,
    backward: NDArray | None = None,
    *,
    starts: Sequence[int] = (),
) -> NDArray | None:
    """Return the likelihood (C,) of a block and all after it given the pattern before it.

    It is scaled to be at most 1, and None where the block begins a chain. ``backward`` is the
    message of the block after.
    """
    if len(starts):
        if starts[0] == 0:
            return None
        rows, backward = rows.part(slice(0, starts[0])), None
    likelihoods, probabilities = doubles(rows.likelihoods), doubles(probabilities)
    message = (
        np.ones(len(probabilities)) if backward is None else np.array(backward, dtype=np.float64)
    )
    native.chain_backward(likelihoods, probabilities, stay, message)
    return message


def viterbi_message(
    log_likelihoods: NDArray,
    probabilities: NDArray,
    stay: float,
    forward: NDArray | None = None,
    *,
    starts: Sequence[int] = (),
) -> NDArray:
    """Return the log-probability (C,) of the best path to each last pattern of a block.

    It is shifted to be at most 0. ``forward`` is the message of the block before.
    """
    if len(starts):
        log_likelihoods, forward = log_likelihoods[starts[-1] :], None
    best, _ = _best_paths(log_likelihoods, probabilities, stay, forward)
    return best - best.max()


def most_probable_path(
    log_likelihoods: NDArray,
    probabilities: NDArray,
    stay: float,
    forward: NDArray | None = None,
    last: int | None = None,
    *,
    starts: Sequence[int] = (),
) -> tuple[NDArray, int | None]:
    """Return the indices (T,) of the patterns of highest joint posterior probability (Viterbi).

    For a block of a chain, ``forward`` is the :func:`viterbi_message` of the block before it and
    ``last`` the pattern that it ends with. Also return the pattern that the block before ends with,
    None where this one begins a chain.
    """
    if len(starts):
        found = [
            most_probable_path(
                log_likelihoods[piece], probabilities, stay,
                None if piece.start in starts else forward,
                last if piece.stop == len(log_likelihoods) else None,
            )
            for piece in _chains(len(log_likelihoods), starts)
        ]  # fmt: skip
        path = np.concatenate([each for each, _ in found])
        return path, None if starts[0] == 0 else found[0][1]
    best, came_from = _best_paths(log_likelihoods, probabilities, stay, forward)
    path = np.empty(len(came_from), dtype=np.int64)
    previous = native.trace_path(came_from, int(best.argmax()) if last is None else last, path)
    return path, previous


def _chains(rows: int, starts: Sequence[int]) -> list[slice]:
    """Return the rows of each chain of a block, of which some begin at ``starts``."""
    edges = [0, *(start for start in starts if start), rows]
    return [slice(a, b) for a, b in pairwise(edges)]


def _best_paths(
    log_likelihoods: NDArray, probabilities: NDArray, stay: float, forward: NDArray | None
) -> tuple[NDArray, NDArray]:
    """Return log-probabilities (C,) of the best path to each last pattern, backpointers (T, C)."""
    values, probabilities = doubles(log_likelihoods), doubles(probabilities)
    with np.errstate(divide="ignore"):
        draw = np.log1p(-stay) + np.log(probabilities)
        same = np.log(stay + (1 - stay) * probabilities)
        best = np.array(np.log(probabilities) if forward is None else forward, dtype=np.float64)
    came_from = np.empty(values.shape, dtype=np.int32)
    native.best_paths(values, draw, same, forward is None, best, came_from)
    return best, came_from
