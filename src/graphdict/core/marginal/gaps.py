"""Samples with gaps: what was observed, and what is missing, under the graph of each pattern.

Signals are known up to a constant, so everything is measured from one observed node ("origin") of
each sample. With ``D`` the covariance of these differences under a pattern's graph, observed nodes
``o`` and missing nodes ``m``,

    x_o - x_origin ~ N(0, D_oo),      x_m | x_o ~ N(D_mo D_oo^-1 x_o, D_mm - D_mo D_oo^-1 D_om).

Matrices are shared by successive samples with the same gaps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.native import doubles

__all__ = ["conditional_moments", "draw_missing", "observed_log_likelihoods"]


def observed_log_likelihoods(signals: NDArray, covariances: NDArray) -> NDArray:
    """``log p(x_o | c)`` (T, C): zero where fewer than two nodes were observed."""
    found = np.empty((len(signals), len(covariances)))
    native.observed_log_likelihoods(doubles(signals), doubles(covariances), found)
    return found


def conditional_moments(signals: NDArray, covariances: NDArray, posterior: NDArray) -> NDArray:
    """``sum_t posterior_tc E[x x' | x_o, c]`` (C, N, N), each sample measured from its origin."""
    moments = np.empty(covariances.shape)
    given = doubles(signals), doubles(covariances), doubles(posterior)
    native.conditional_moments(*given, moments)
    return moments


def draw_missing(
    signals: NDArray, covariances: NDArray, patterns: NDArray, noise: NDArray
) -> NDArray:
    """Signals whose gaps are drawn given the rest and a pattern (T,), by normal ``noise``."""
    filled = np.empty(signals.shape)
    chosen = np.ascontiguousarray(patterns, dtype=np.intp)
    native.draw_missing(doubles(signals), doubles(covariances), chosen, doubles(noise), filled)
    return filled
