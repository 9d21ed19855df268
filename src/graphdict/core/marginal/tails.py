"""Tails: samples that differ in loudness.

Each sample has a gain ``g ~ Gamma(nu / 2, nu / 2)`` by which its precision is multiplied.
Integrated out, a sample of d dimensions and of energy ``q`` has the Student t density

    log p = lgamma((nu + d) / 2) - lgamma(nu / 2) - d / 2 log(nu pi)
            + 1/2 log det - (nu + d) / 2 log(1 + q / nu)

with ``nu`` degrees of freedom, and its gain the posterior mean ``(nu + d) / (nu + q)``: a loud
sample counts for less. ``nu = inf`` is Gaussian, with gains of 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, minimize_scalar
from scipy.special import digamma, gammaln

from graphdict.core.marginal.missing import observed_log_likelihoods

__all__ = [
    "LEAST_TAILS",
    "MOST_TAILS",
    "best_tails",
    "gains",
    "log_densities",
    "observed_log_densities",
    "tail_statistic",
    "tails_to_try",
    "update_tails",
]

LEAST_TAILS, MOST_TAILS = 2.05, 1000.0  # variances exist above 2; from 1,000 on it is Gaussian


def log_densities(
    energies: NDArray, log_determinants: NDArray, tails: float, dimension: int
) -> NDArray:
    """Return log-densities (T, C) of samples of energies (T, C) under C precisions."""
    if np.isinf(tails):
        return 0.5 * (log_determinants - energies - dimension * np.log(2 * np.pi))
    half = (tails + dimension) / 2
    constant = gammaln(half) - gammaln(tails / 2) - dimension / 2 * np.log(tails * np.pi)
    values = np.log1p(energies / tails)
    values *= -half
    values += constant + 0.5 * log_determinants
    return values


def observed_log_densities(signals: NDArray, covariances: NDArray, tails: float) -> NDArray:
    """Return log-densities (T, C) of the observed values of signals (T, N) with gaps.

    The observed part of a Student t is one, of the same degrees of freedom. Its energy ``q`` and
    log-determinant follow from two Gaussian densities, of covariance ``S`` and ``2 S``.
    """
    gaussian = observed_log_likelihoods(signals, covariances)
    if np.isinf(tails):
        return gaussian
    seen = np.maximum(np.isfinite(signals).sum(axis=1) - 1, 0)[:, None]
    wider = observed_log_likelihoods(signals, 2 * covariances)
    energies = np.maximum(4 * (wider - gaussian) + 2 * seen * np.log(2), 0)
    log_determinants = 2 * gaussian + energies + seen * np.log(2 * np.pi)
    half = (tails + seen) / 2
    constant = gammaln(half) - gammaln(tails / 2) - seen / 2 * np.log(tails * np.pi)
    return constant + log_determinants / 2 - half * np.log1p(energies / tails)


def gains(energies: NDArray, tails: float, dimension: int) -> NDArray:
    """Return the posterior mean of the gain of samples of such energies (any shape)."""
    if np.isinf(tails):
        return np.ones_like(energies)
    return (tails + dimension) / (tails + energies)


def tail_statistic(energies: NDArray, tails: float, dimension: int) -> NDArray:
    """Return ``E[log g - g]`` of samples of such energies: what ``nu`` is learned from."""
    if np.isinf(tails):
        return np.full_like(energies, -1.0)
    half = (tails + dimension) / 2
    return digamma(half) - np.log((tails + energies) / 2) - gains(energies, tails, dimension)


def update_tails(mean_statistic: float) -> float:
    """Return the ``nu`` of the M-step for the mean of :func:`tail_statistic` over all samples.

    It solves ``log(nu / 2) - psi(nu / 2) + 1 + mean_statistic = 0`` between the least and the most
    degrees of freedom that are learned.
    """

    def slope(log_tails: float) -> float:
        half = np.exp(log_tails) / 2
        return float(np.log(half) - digamma(half) + 1 + mean_statistic)

    least, most = np.log(LEAST_TAILS), np.log(MOST_TAILS)
    if slope(most) >= 0:
        return MOST_TAILS
    if slope(least) <= 0:
        return LEAST_TAILS
    return float(np.exp(brentq(slope, least, most, xtol=1e-10)))


def tails_to_try(count: int = 24) -> NDArray:
    """Return degrees of freedom (count,) from the least to the most, evenly in logarithms."""
    return np.geomspace(LEAST_TAILS, MOST_TAILS, count)


def best_tails(mean_logs: NDArray, dimension: int) -> float:
    """Return the ``nu`` of greatest likelihood at fixed responsibilities.

    ``mean_logs`` are the means over samples of ``log(1 + q / nu)`` at :func:`tails_to_try`. EM
    alone is slow where tails are light.
    """
    logs = np.log(tails_to_try(len(mean_logs)))
    spline = CubicSpline(logs, mean_logs)

    def loss(log_tails: float) -> float:
        tails = np.exp(log_tails)
        half = (tails + dimension) / 2
        constant = gammaln(half) - gammaln(tails / 2) - dimension / 2 * log_tails
        return float(half * spline(log_tails) - constant)

    found = minimize_scalar(
        loss, bounds=(logs[0], logs[-1]), method="bounded", options={"xatol": 1e-3}
    )
    return float(np.exp(found.x))
