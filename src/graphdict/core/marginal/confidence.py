"""How sure each edge of each atom is, and between which values its weight lies.

On signals that sum to zero, weights of either sign and symmetric matrices are the same thing, so
that under a pattern ``c`` the precision is estimated without any constraint by one Newton step from
the learned one,

    Theta = f(L_c)        estimate = 2 Theta - Theta S_c Theta,

with the second moments ``S_c`` of the pattern's samples; where there are many samples and the
moments have a steady inverse, it is that inverse, which is right however wrong the graph. Its
errors are those of a Wishart matrix: ``var tr(M estimate) = 2 tr(M Theta M Theta) / n_c`` for any
symmetric ``M``. The weights of
the pattern's graph follow through the inverse of the filter, to first order. Those of atoms are
least squares: the weights of a pattern are the sums of those of its active atoms, each pattern
counting by its errors.

Nodes that each vary on their own are, without their mean, a graph that joins all pairs alike. A
weight that all pairs share is therefore no edge: weights are measured from the level of most pairs.

In units of their errors, weights come from two groups: none, which are normal about 0, and edges,
whose sizes have a density that vanishes at 0 (``size^2`` times a normal one, a non-local prior): an
edge so weak that nothing tells it from none is none. The shares of the groups and the size of edges
are learned from all pairs, and the confidence in an edge is the probability that it is of the
second. Edges that may be negative are of either sign alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from graphdict.core import graphs
from graphdict.core.graphs import zero_sum_basis
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_loss import log_filter
from graphdict.core.marginal.filters import divided_differences
from graphdict.core.marginal.spectra import pattern_spectra, reduce_moments

TINY = 1e-12  # of the largest variance: none is smaller
MANY, STEADY = 10, 1e6  # samples for each dimension, and condition, for the inverse itself
CLIP, ROUNDS = 2.0, 50  # errors above the level from which on a pair is no part of it
SMALLEST_SIZE = 3.0  # of edges in units of their errors, root mean square
LARGEST_SIZE = 1e4
LARGEST_SCORE = 1e8  # from which on more would say no more
FIRST_SHARE, PAIRS_WITHOUT = 0.1, 2.0  # of edges at first, and pairs known to be none
INTERVAL = 1.959963984540054  # errors on both sides hold 95 of 100


class EdgeEstimates(NamedTuple):
    """Weights of all pairs in all atoms, of either sign, and their standard errors."""

    weights: NDArray  # (K, E)
    errors: NDArray  # (K, E), inf where nothing is known


def edge_estimates(
    likelihood: FilteredLikelihood, atoms: NDArray, moments: NDArray, counts: NDArray
) -> EdgeEstimates:
    """Return estimates that are free of penalties and of the choice of edges.

    Parameters
    ----------
    likelihood : FilteredLikelihood
    atoms : array (K, E)
    moments : array (C, N, N)
        Gain-weighted mean of ``x x'`` over the samples of each pattern.
    counts : array (C,)
        Effective number of samples of each pattern.
    """
    count, edges = atoms.shape
    normal = np.zeros((edges, count, count))
    right = np.zeros((edges, count))
    dimension = likelihood.dimension
    for index in np.flatnonzero(counts > dimension).tolist():
        activation = likelihood.activations[index]
        if not (activation @ atoms).any():
            continue  # without any edge there is no step from one
        weights, variances = _of_pattern(likelihood, index, atoms, moments[index], counts[index])
        if not variances.any():  # a pattern without edges says nothing of them
            continue
        certainty = counts[index] / np.maximum(variances, TINY * variances.max())
        normal += certainty[:, None, None] * np.outer(activation, activation)
        right += (certainty * weights)[:, None] * activation
    return _solve(normal, right)


def _of_pattern(
    likelihood: FilteredLikelihood, index: int, atoms: NDArray, moments: NDArray, count: float
) -> tuple[NDArray, NDArray]:
    """Return weights (E,) of a pattern's graph, and the variance (E,) that one sample gives."""
    spectra = pattern_spectra(likelihood.activations[index][None], atoms)
    eigenvalues = spectra.eigenvalues[0]
    vectors = spectra.vectors[0]
    logs = log_filter(likelihood.filter, spectra)[0]
    values = np.exp(logs)
    slopes = values * likelihood.filter.log_derivatives(eigenvalues)
    inverse = 1 / divided_differences(eigenvalues[None], values[None], slopes[None])[0]
    seen = np.arange(len(values)) >= likelihood.flat[index]  # where the graph joins nodes
    inverse = np.where(np.outer(seen, seen), inverse, 0.0)
    rotated = vectors.T @ reduce_moments(moments[None])[0] @ vectors
    step = np.diag(values) - values[:, None] * rotated * values
    size = len(values)
    if seen.all() and count > MANY * size and np.linalg.cond(rotated) < STEADY:
        step = np.linalg.inv(rotated) * (count - size - 1) / count - np.diag(values)
    nodal = zero_sum_basis(likelihood.nodes) @ vectors  # (N, d)
    laplacian = nodal @ (np.diag(eigenvalues) + inverse * step) @ nodal.T
    rows, cols = graphs.edge_index(likelihood.nodes)
    spread = inverse**2 * np.outer(values, values)
    squares = nodal**2
    direct = (squares @ spread @ squares.T)[rows, cols]
    products = nodal[rows] * nodal[cols]
    crossed = np.einsum("ea,ea->e", products @ spread, products)
    return -laplacian[rows, cols], direct + crossed


def _solve(normal: NDArray, right: NDArray) -> EdgeEstimates:
    """Return the solution (K, E) of the normal equations of each edge, and its errors.

    Atoms may know a weight very unlike: one in which both nodes are silent has no edge for certain.
    So equations are brought to unit diagonal before it is told which say something.
    """
    scales = np.sqrt(np.einsum("eii->ei", normal))  # (E, K)
    units = 1 / np.where(scales > 0, scales, 1.0)
    values, vectors = np.linalg.eigh(normal * units[:, :, None] * units[:, None, :])
    known = values > 1e-9
    inverse = np.where(known, 1 / np.where(known, values, 1.0), 0.0)
    weights = units * np.einsum("eij,ej,ekj,ek->ei", vectors, inverse, vectors, right * units)
    variances = np.einsum("eij,ej->ei", vectors**2, inverse) * units**2
    unknown = np.einsum("eij,ej->ei", vectors**2, ~known) > 1e-6
    return EdgeEstimates(weights.T, np.where(unknown, np.inf, np.sqrt(variances)).T)


def edge_confidence(estimates: EdgeEstimates, *, signed: bool = False) -> NDArray:
    """Return the probability (K, E) that each pair of each atom is joined by an edge.

    Pairs of which nothing is known have 0. ``signed`` says whether edges may be negative.
    """
    found = np.zeros_like(estimates.weights)
    for atom, (weights, errors) in enumerate(zip(*estimates, strict=True)):
        known = np.isfinite(errors) & (errors > 0)
        if known.any():
            level = _level(weights[known], errors[known], signed)
            with np.errstate(over="ignore"):
                scores = (weights[known] - level) / errors[known]
            scores = np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
            found[atom, known] = _probabilities(scores, signed)
    return found


def _level(weights: NDArray, errors: NDArray, signed: bool) -> float:
    """Return the weight that most pairs share: the mean of those that are not above it.

    Where edges may be negative, it is the mean of those that are neither above nor below.
    """
    kept = np.ones(len(weights), dtype=bool)
    level = float(np.median(weights)) if signed else 0.0
    if signed:
        kept = np.abs(weights - level) <= CLIP * errors
        kept |= ~kept.any()
    for _ in range(ROUNDS):
        certainty = np.square(errors[kept].min() / errors[kept])
        level = float(np.average(weights[kept], weights=certainty))
        above = weights - level
        now = (np.abs(above) if signed else above) <= CLIP * errors
        if (now == kept).all() or not now.any():
            break
        kept = now
    return max(level, 0.0)


def _probabilities(scores: NDArray, signed: bool) -> NDArray:
    """Return the probability of each score to be that of an edge, by two groups of scores.

    Scores of none are standard normal; those of edges are the same plus a size of density
    proportional to ``size^2 exp(-size^2 / 2 spread)``, positive unless edges may be negative.
    """
    share, spread = FIRST_SHARE, 4 * SMALLEST_SIZE**2 / 3
    probabilities = np.zeros_like(scores)
    for _ in range(ROUNDS):
        # Given a score, its size would be normal of this mean and variance, were it not for size^2.
        variance = spread / (1 + spread)
        means = scores * variance
        squares = means**2 + variance
        if not signed:
            units = means / np.sqrt(variance)
            density = np.exp(-0.5 * units**2) / np.sqrt(2 * np.pi)
            squares = 2 * (squares * ndtr(units) + means * np.sqrt(variance) * density)
        ratio = np.maximum(squares, 0) / (spread * np.sqrt(1 + spread))
        with np.errstate(over="ignore"):
            odds = share / (1 - share) * ratio * np.exp(np.minimum(0.5 * scores * means, 600))
        probabilities = odds / (1 + odds)
        total = probabilities.sum()
        share = float(np.clip((total + 0.5) / (len(scores) + PAIRS_WITHOUT), 1e-4, 0.95))
        mean_square = float((probabilities * scores**2).sum() / max(total, 1e-12))
        size = np.clip(np.sqrt(max(mean_square - 1, 0)), SMALLEST_SIZE, LARGEST_SIZE)
        spread = float(size**2) / 3
    return probabilities


def edge_intervals(estimates: EdgeEstimates) -> NDArray:
    """Return limits (K, E, 2) between which weights lie with a probability of 0.95.

    They may be negative: such a pair depends in a way that no nonnegative weight shows.
    """
    reach = INTERVAL * estimates.errors
    return np.stack([estimates.weights - reach, estimates.weights + reach], axis=-1)
