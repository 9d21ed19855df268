"""Filters: how the precision of a signal grows with graph frequency.

A signal on a graph of Laplacian ``L = U diag(lambda) U'`` has the precision ``f(L) = U
diag(f(lambda)) U'`` for some increasing function ``f`` of the eigenvalues. The paper's ``f`` is the
identity. Signals that are smooth in space (potentials on the scalp, weather, traffic) fall off
faster with frequency.

Everything that is learned knows a filter by ``log f``, its slope in the eigenvalues, and its slope
in the one parameter that a filter has. Another filter is one class with the methods of
:class:`GraphFilter`, entered in :data:`FILTERS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

LARGE = 30.0  # exponents from which on exp(y) - 1 is exp(y)
NEAR = 1e-5  # relative distance below which a divided difference is a derivative


class GraphFilter(Protocol):
    """An increasing function ``f`` of graph frequencies with one positive parameter."""

    name: ClassVar[str]
    """What fitted models and checkpoints call it."""

    @property
    def parameter(self) -> float:
        """The value of the parameter."""

    def with_parameter(self, parameter: float) -> GraphFilter:
        """Return the same filter with another parameter."""

    def log_values(self, eigenvalues: NDArray) -> NDArray:
        """Return ``log f`` of eigenvalues of any shape."""

    def log_slopes(self, eigenvalues: NDArray) -> NDArray:
        """Return ``d log f / d lambda``, of the same shape."""

    def parameter_slopes(self, eigenvalues: NDArray) -> NDArray:
        """Return ``d log f / d log(parameter)``, of the same shape."""

    def factor(self, centre: float, parameter: float) -> float:
        """Return the factor of weights that keeps ``f(centre)`` as it is under a new parameter."""

    def typical_weights(self, distances: NDArray, variance: float) -> NDArray:
        """Return the order of magnitude of weights, up to a constant for all of them.

        ``distances`` are the mean squared differences over each edge, and ``variance`` is the mean
        square of all signals.
        """


@dataclass(frozen=True)
class PowerFilter:
    """``f(lambda) = lambda^p``; the paper's model has ``p = 1``."""

    power: float = 1.0
    name: ClassVar[str] = "power"

    @property
    def parameter(self) -> float:
        return self.power

    def with_parameter(self, parameter: float) -> PowerFilter:
        return PowerFilter(parameter)

    def log_values(self, eigenvalues: NDArray) -> NDArray:
        return self.power * np.log(eigenvalues)

    def log_slopes(self, eigenvalues: NDArray) -> NDArray:
        return self.power / eigenvalues

    def parameter_slopes(self, eigenvalues: NDArray) -> NDArray:
        return self.power * np.log(eigenvalues)

    def factor(self, centre: float, parameter: float) -> float:
        return centre ** (self.power / parameter - 1)

    def typical_weights(self, distances: NDArray, variance: float) -> NDArray:
        return distances ** (-1 / self.power)


@dataclass(frozen=True)
class HeatFilter:
    """``f(lambda) = (exp(kappa lambda) - 1) / kappa``: as ``lambda`` at first, then diffusion."""

    rate: float = 1.0
    name: ClassVar[str] = "exp"

    @property
    def parameter(self) -> float:
        return self.rate

    def with_parameter(self, parameter: float) -> HeatFilter:
        return HeatFilter(parameter)

    def log_values(self, eigenvalues: NDArray) -> NDArray:
        exponents = self.rate * eigenvalues
        small = np.log(np.expm1(np.minimum(exponents, LARGE)))
        return np.where(exponents > LARGE, exponents, small) - np.log(self.rate)

    def log_slopes(self, eigenvalues: NDArray) -> NDArray:
        return self.rate / -np.expm1(-self.rate * eigenvalues)

    def parameter_slopes(self, eigenvalues: NDArray) -> NDArray:
        return eigenvalues * self.log_slopes(eigenvalues) - 1

    def factor(self, centre: float, parameter: float) -> float:
        return 1.0

    def typical_weights(self, distances: NDArray, variance: float) -> NDArray:
        return (distances / variance) ** -0.5 / variance


@dataclass(frozen=True)
class HeatKernel:
    """``f(lambda) = s exp(lambda)``: noise of variance ``1 / s`` that has diffused over the graph.

    Weights have no unit: they are those of the graph times twice the time of diffusion. Adding the
    same to the weights of all pairs is the same as a larger ``s``
    (:mod:`graphdict.core.marginal.heat` tells the two apart).
    """

    precision: float = 1.0
    name: ClassVar[str] = "heat"

    @property
    def parameter(self) -> float:
        return self.precision

    def with_parameter(self, parameter: float) -> HeatKernel:
        return HeatKernel(parameter)

    def log_values(self, eigenvalues: NDArray) -> NDArray:
        return eigenvalues + np.log(self.precision)

    def log_slopes(self, eigenvalues: NDArray) -> NDArray:
        return np.ones_like(eigenvalues)

    def parameter_slopes(self, eigenvalues: NDArray) -> NDArray:
        return np.ones_like(eigenvalues)

    def factor(self, centre: float, parameter: float) -> float:
        return 1.0

    def typical_weights(self, distances: NDArray, variance: float) -> NDArray:
        return np.log1p(2 * variance / distances)


IDENTITY = PowerFilter(1.0)  # the paper's model: the precision is the Laplacian
"""The filter of the paper's model."""

FILTERS: dict[str, type[PowerFilter] | type[HeatFilter] | type[HeatKernel]] = {
    kind.name: kind for kind in (PowerFilter, HeatFilter, HeatKernel)
}


def divided_differences(eigenvalues: NDArray, values: NDArray, slopes: NDArray) -> NDArray:
    """Return ``(f_i - f_j) / (lambda_i - lambda_j)`` (..., d, d), slopes where the two are equal.

    With ``F`` of ``f``, the derivative of ``f(L)`` in the direction ``D`` is ``U (F o U'DU) U'``.
    All arguments are (..., d): eigenvalues, ``f`` and ``f'`` there.
    """
    first, second = eigenvalues[..., :, None], eigenvalues[..., None, :]
    gaps = first - second
    near = np.abs(gaps) <= NEAR * (first + second)
    means = 0.5 * (slopes[..., :, None] + slopes[..., None, :])
    rises = values[..., :, None] - values[..., None, :]
    return np.where(near, means, rises / np.where(near, 1.0, gaps))
