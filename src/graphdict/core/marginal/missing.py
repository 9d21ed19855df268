"""Signals with gaps in the marginal model: what is missing is summed over, like activations.

A Gaussian of which some nodes are observed is Gaussian, with the covariance of those nodes: the
likelihood of each pattern is exact whatever is missing, and a sample of which nothing was observed
leaves the prior as it is. In place of squared differences, the M-step takes those expected given
what was observed and the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.marginal.chance import Chance, normals
from graphdict.core.marginal.gaps import conditional_moments, draw_missing, observed_log_likelihoods
from graphdict.core.marginal.likelihood import PatternGraphs
from graphdict.core.terms.missing import Gaps

__all__ = ["Filling", "expected_distances", "observed_likelihoods", "pattern_covariances"]

BLOCK_BYTES = 1 << 26
LOOKED_AT, LOOKS = 1 << 16, 16  # samples that say how nodes vary together, and their stretches
FLOOR = 1e-3  # least eigenvalue of the covariance for all, relative to their mean


def pattern_covariances(pattern_graphs: PatternGraphs, atoms: NDArray) -> NDArray:
    """Covariance (C, N, N) of signals of zero mean under each pattern's graph."""
    nodes = pattern_graphs.nodes
    found = np.empty((len(pattern_graphs.patterns), nodes, nodes))
    for rows, matrices in pattern_graphs.precisions(atoms):
        found[rows] = np.linalg.inv(matrices) - 1 / nodes
    for index, basis in pattern_graphs.components.items():
        # What the graph is blind to has the variance ``noise``; in the inverse it has one.
        found[index] += (pattern_graphs.noise - 1) * (basis @ basis.T - 1 / nodes)
    return found


def observed_likelihoods(signals: NDArray, covariances: NDArray) -> NDArray:
    """``log p(x | c)`` (T, C) of what was observed of signals with NaN, on its own mean."""
    order = np.lexsort(np.isnan(signals).T)  # samples with the same gaps share their matrices
    found = np.empty((len(signals), len(covariances)))
    found[order] = observed_log_likelihoods(signals[order], covariances)
    return found


def expected_distances(
    signals: NDArray, covariances: NDArray, patterns: NDArray, posterior: NDArray
) -> NDArray:
    """``sum_tc p_tc [k in c] E[(x_i - x_j)^2 | observed, c]`` (K, E) for a posterior (T, C)."""
    moments = conditional_moments(signals, covariances, posterior)
    mixed = patterns.T.astype(np.float64) @ moments.reshape(len(patterns), -1)
    square = mixed.reshape(-1, *moments.shape[1:])
    return np.maximum(graphs.laplacian_adjoint(square), 0)


@dataclass(frozen=True)
class Filling:
    """Draws what is missing given the rest, as if all samples were of one graph.

    For what need not be exact: where to start, how large signals are.
    """

    covariance: NDArray
    chance: Chance

    @classmethod
    def learn(cls, signals: Any, rng: np.random.RandomState) -> Filling:
        """For prepared signals (T, N) with NaN; of very many, some are looked at."""
        chance = Chance.take(rng, len(signals), normals, signals.shape[1])
        if len(signals) <= LOOKED_AT:
            return cls(_overall_covariance(signals[: len(signals)]), chance)
        size = LOOKED_AT // LOOKS
        starts = np.linspace(0, len(signals) - size, LOOKS).astype(int)
        some = np.concatenate([signals[start : start + size] for start in starts])
        return cls(_overall_covariance(some), chance)

    def apply(self, signals: NDArray, first: int) -> NDArray:
        """Complete signals of zero mean for those of the samples from ``first`` on."""
        noise = self.chance.rows(slice(first, first + len(signals)), normals, signals.shape[1])
        chosen = np.zeros(len(signals), dtype=np.intp)
        filled = draw_missing(signals, self.covariance[None], chosen, noise)
        return (filled - filled.mean(axis=1, keepdims=True)).astype(signals.dtype)


def _overall_covariance(signals: NDArray) -> NDArray:
    """Covariance of all samples from the distances of observed pairs, made positive."""
    counts = np.ones(len(signals), dtype=np.intp)
    gaps = Gaps.learn(signals, counts)
    size = max(1, BLOCK_BYTES // (8 * len(gaps.pairs)))
    total = np.zeros(len(gaps.pairs))
    for first in range(0, len(signals), size):
        some = slice(first, first + size)
        total += gaps.distances(signals[some], counts[some]).sum(axis=0, dtype=np.float64)
    distances = graphs.adjacency(total / len(signals))
    centre = np.eye(len(distances)) - 1 / len(distances)
    values, vectors = np.linalg.eigh(-centre @ distances @ centre / 2)
    values = np.maximum(values, FLOOR * max(float(values.mean()), 1e-300))
    return (vectors * values) @ vectors.T
