"""Signals with missing values under the covariance of each pattern.

Signals are known up to a constant, so everything is measured from one observed node (the *origin*)
of each sample. With ``D`` the covariance of these differences under a pattern's graph, observed
nodes ``o`` and missing nodes ``m``,

    x_o - x_origin ~ N(0, D_oo),      x_m | x_o ~ N(D_mo D_oo^-1 x_o, D_mm - D_mo D_oo^-1 D_om).

Matrices are shared by successive samples with the same nodes missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.core import graphs
from graphdict.native import doubles


def observed_log_likelihoods(signals: NDArray, covariances: NDArray) -> NDArray:
    """Return ``log p(x_o | c)`` (T, C): zero where fewer than two nodes were observed."""
    found = np.empty((len(signals), len(covariances)))
    if not signals.size:
        native.observed_log_likelihoods(doubles(signals), doubles(covariances), found)
        return found
    order = np.lexsort(np.isnan(signals).T)  # samples with the same gaps share their matrices
    ordered = np.empty_like(found)
    native.observed_log_likelihoods(doubles(signals[order]), doubles(covariances), ordered)
    found[order] = ordered
    return found


def conditional_moments(
    signals: NDArray, covariances: NDArray, responsibilities: NDArray
) -> NDArray:
    """Return ``sum_t r_tc E[x x' | x_o, c]`` (C, N, N), each sample measured from its origin."""
    moments = np.empty(covariances.shape)
    given = doubles(signals), doubles(covariances), doubles(responsibilities)
    native.conditional_moments(*given, moments)
    return moments


def expected_distances(
    signals: NDArray, covariances: NDArray, patterns: NDArray, responsibilities: NDArray
) -> NDArray:
    """Return ``sum_tc r_tc [k in c] E[(x_i - x_j)^2 | x_o, c]`` (K, E).

    ``patterns`` are (C, K) and responsibilities (T, C).
    """
    moments = conditional_moments(signals, covariances, responsibilities)
    mixed = patterns.T.astype(np.float64) @ moments.reshape(len(patterns), -1)
    square = mixed.reshape(-1, *moments.shape[1:])
    return np.maximum(graphs.laplacian_adjoint(square), 0)


def draw_missing(
    signals: NDArray, covariances: NDArray, patterns: NDArray, noise: NDArray
) -> NDArray:
    """Return signals (T, N) whose missing values are drawn given the observed ones.

    ``patterns`` (T,) are indices into ``covariances`` and ``noise`` (T, N) standard normal numbers.
    """
    filled = np.empty(signals.shape)
    chosen = native.contiguous(patterns, np.intp)
    native.draw_missing(doubles(signals), doubles(covariances), chosen, doubles(noise), filled)
    return filled
