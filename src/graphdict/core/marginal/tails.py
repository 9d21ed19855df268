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

Dimension = int | NDArray  # of all samples, or (T, 1) of each
LEAST_TAILS, MOST_TAILS = 2.05, 1000.0  # variances exist above 2; from 1,000 on it is Gaussian


def log_densities(
    energies: NDArray, log_determinants: NDArray, tails: float, dimension: Dimension
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


def gains(energies: NDArray, tails: float, dimension: Dimension) -> NDArray:
    """Return the posterior mean of the gain of samples of such energies (any shape)."""
    if np.isinf(tails):
        return np.ones_like(energies)
    return (tails + dimension) / (tails + energies)


def tail_statistic(energies: NDArray, tails: float, dimension: Dimension) -> NDArray:
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


def tail_densities(energies: NDArray, dimension: Dimension, shares: NDArray) -> NDArray:
    """Return sums of log-densities, without determinants, at all :func:`tails_to_try`.

    Energies (T, C) count with shares (T, C).
    """
    return np.array(
        [
            np.vdot(shares, log_densities(energies, np.zeros(1), nu, dimension))
            for nu in tails_to_try()
        ]
    )


def best_tails(mean_densities: NDArray) -> float:
    """Return the ``nu`` of greatest likelihood at fixed responsibilities.

    ``mean_densities`` are those of :func:`tail_densities`, divided by the number of samples. EM
    alone is slow where tails are light.
    """
    logs = np.log(tails_to_try(len(mean_densities)))
    spline = CubicSpline(logs, -mean_densities)
    found = minimize_scalar(
        spline, bounds=(logs[0], logs[-1]), method="bounded", options={"xatol": 1e-3}
    )
    return float(np.exp(found.x))
