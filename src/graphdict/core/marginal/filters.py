"""Filters: how the precision of a signal grows with graph frequency.

A signal on a graph of Laplacian ``L = U diag(lambda) U'`` has the precision ``f(L) = U
diag(f(lambda)) U'`` for some increasing function ``f`` of the eigenvalues. The paper's ``f`` is the
identity. Signals that are smooth in space (potentials on the scalp, weather, traffic) fall off
faster with frequency.

Another filter is one class that derives from :class:`GraphFilter`, entered in :data:`FILTERS`. One
that is ``by_name`` is then a value of ``filter_power``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.core.graphs import zero_sum_basis

POWERS = 1.0, 4.0  # between which the power is learned
WIDEST = 1.0  # change in the logarithm of another parameter in one M-step
LITTLE_SMOOTHER = 1.5  # power up to which signals are but a little smoother than a Markov field
LARGE = 30.0  # exponents from which on exp(y) - 1 is exp(y)
NEAR = 1e-5  # relative distance below which a divided difference is a derivative
SMALLEST = 1e-9  # of the largest: second moments below it are rounding
FAR_SMOOTHER = (
    "Signals are far smoother over the graphs than neighbours alone explain, as where heat "
    "spreads: nodes many edges apart resemble one another"
)


class GraphFilter:
    """An increasing function ``f`` of graph frequencies with one positive parameter.

    Learning needs ``log f``, its derivatives in the eigenvalues and in the parameter, and an order
    of magnitude of the weights. The methods that have a body here serve most filters.
    """

    name: ClassVar[str]
    """What fitted models and checkpoints call it."""
    by_name: ClassVar[bool] = False
    """Whether users ask for it by its name and the parameter is learned."""

    def __init__(self, parameter: float) -> None:
        raise NotImplementedError

    @property
    def parameter(self) -> float:
        """The value of the parameter."""
        raise NotImplementedError

    def with_parameter(self, parameter: float) -> Self:
        """Return the same filter with another parameter."""
        return type(self)(parameter)

    def log_values(self, eigenvalues: Floats) -> Floats:
        """Return ``log f`` of eigenvalues of any shape."""
        raise NotImplementedError

    def log_derivatives(self, eigenvalues: Floats) -> Floats:
        """Return ``d log f / d lambda``, of the same shape."""
        raise NotImplementedError

    def parameter_derivatives(self, eigenvalues: Floats) -> Floats:
        """Return ``d log f / d log(parameter)``, of the same shape."""
        raise NotImplementedError

    def typical_weights(self, distances: Floats, variance: float) -> Floats:
        """Return the order of magnitude of weights, up to a constant for all of them.

        ``distances`` are the mean squared differences over each edge, and ``variance`` is the mean
        square of all signals.
        """
        raise NotImplementedError

    def in_words(self) -> str:
        """Return a sentence for users: how smooth signals are over the graphs."""
        raise NotImplementedError

    def parameter_range(self) -> tuple[float, float]:
        """Return the least and the largest parameter that one M-step may go to."""
        return self.parameter * np.exp(-WIDEST), self.parameter * np.exp(WIDEST)

    def weight_factor(self, log_centre: float, parameter: float) -> tuple[float, float]:
        """Return the factor of all weights that goes with another parameter, and its derivative.

        The factor keeps ``f`` as it is at the centre of the spectrum, so that weights need not be
        learned anew; the derivative is that of its logarithm in the logarithm of the parameter.
        """
        return 1.0, 0.0

    def begin(self, moments: Floats) -> Self:
        """Return the filter to begin with, for signals of second moments (d, d)."""
        return self

    def refine(self, moments: Floats, shares: Floats, atoms: Floats) -> tuple[Self, Floats]:
        """Return the filter by which most pairs have no edge, and atoms (K, E) for it.

        ``moments`` (C, d, d) are sums over the samples of each pattern, which are ``shares`` (C,).
        """
        return self, atoms


@dataclass(frozen=True)
class PowerFilter(GraphFilter):
    """``f(lambda) = lambda^p``; the paper's model has ``p = 1``."""

    power: float = 1.0
    name: ClassVar[str] = "power"

    @property
    def parameter(self) -> float:
        return self.power

    def log_values(self, eigenvalues: Floats) -> Floats:
        return self.power * np.log(eigenvalues)

    def log_derivatives(self, eigenvalues: Floats) -> Floats:
        return self.power / eigenvalues

    def parameter_derivatives(self, eigenvalues: Floats) -> Floats:
        return self.power * np.log(eigenvalues)

    def typical_weights(self, distances: Floats, variance: float) -> Floats:
        return distances ** (-1 / self.power)

    def parameter_range(self) -> tuple[float, float]:
        return min(POWERS[0], self.power), max(POWERS[1], self.power)

    def weight_factor(self, log_centre: float, parameter: float) -> tuple[float, float]:
        ratio = self.power / parameter
        return float(np.exp(log_centre * (ratio - 1))), -log_centre * ratio

    def in_words(self) -> str:
        power = f"(power {self.power:.2g} of the Laplacian)"
        if self.power < 1.05:
            return f"Signals are as smooth over the graphs as neighbours explain {power}."
        little = "a little " if self.power < LITTLE_SMOOTHER else ""
        return (
            f"Signals are {little}smoother over the graphs than neighbours alone explain: "
            f"neighbours of neighbours resemble one another, too {power}."
        )


@dataclass(frozen=True)
class ExponentialFilter(GraphFilter):
    """``f(lambda) = (exp(kappa lambda) - 1) / kappa``: as ``lambda`` at first, then diffusion."""

    rate: float = 1.0
    name: ClassVar[str] = "exp"

    @property
    def parameter(self) -> float:
        return self.rate

    def log_values(self, eigenvalues: Floats) -> Floats:
        exponents = self.rate * eigenvalues
        small = np.log(np.expm1(np.minimum(exponents, LARGE)))
        return np.where(exponents > LARGE, exponents, small) - np.log(self.rate)

    def log_derivatives(self, eigenvalues: Floats) -> Floats:
        return self.rate / -np.expm1(-self.rate * eigenvalues)

    def parameter_derivatives(self, eigenvalues: Floats) -> Floats:
        return eigenvalues * self.log_derivatives(eigenvalues) - 1

    def typical_weights(self, distances: Floats, variance: float) -> Floats:
        return (distances / variance) ** -0.5 / variance

    def in_words(self) -> str:
        return f"{FAR_SMOOTHER} (an exponential filter)."


@dataclass(frozen=True)
class HeatKernel(GraphFilter):
    """``f(lambda) = s exp(lambda)``: noise of variance ``1 / s`` that has diffused over the graph.

    Weights have no unit: they are those of the graph times twice the time of diffusion. Under the
    kernel the second moments of a pattern's samples are ``S = exp(-L) / s`` on signals that sum to
    zero, so that the entry of ``log S`` for two nodes is ``w_ij + log(s) / N``: adding the same to
    the weights of all pairs is the same as a larger ``s``. Likelihood cannot tell the two apart,
    sparse graphs can, since most pairs are no edge.
    """

    precision: float = 1.0
    name: ClassVar[str] = "heat"
    by_name: ClassVar[bool] = True

    @property
    def parameter(self) -> float:
        return self.precision

    def log_values(self, eigenvalues: Floats) -> Floats:
        return eigenvalues + np.log(self.precision)

    def log_derivatives(self, eigenvalues: Floats) -> Floats:
        return np.ones_like(eigenvalues)

    def parameter_derivatives(self, eigenvalues: Floats) -> Floats:
        return np.ones_like(eigenvalues)

    def typical_weights(self, distances: Floats, variance: float) -> Floats:
        return np.log1p(2 * variance / distances)

    def begin(self, moments: Floats) -> HeatKernel:
        """Return the kernel whose noise has the largest variance that signals have.

        Diffusion only takes away: no variance is larger than that of the noise. Of samples from
        several graphs together not more can be said.
        """
        largest = float(np.linalg.eigvalsh(moments)[-1])
        return HeatKernel(1 / largest if largest > 0 else 1.0)

    def refine(self, moments: Floats, shares: Floats, atoms: Floats) -> tuple[HeatKernel, Floats]:
        """Return the kernel by which the median pair has no edge, and weights that go with it.

        Weights are shifted by what the precision takes, but stay positive.
        """
        used = shares > 1e-9 * shares.max()
        values, vectors = np.linalg.eigh(moments[used] / shares[used, None, None])
        logs = np.log(np.maximum(values, SMALLEST * values[:, -1:]))
        nodes = values.shape[1] + 1
        turned = zero_sum_basis(nodes) @ vectors
        matrices = (turned * logs[:, None, :]) @ np.swapaxes(turned, -1, -2)
        medians = np.median(graphs.adjacency_to_weights(matrices), axis=1)
        median = float(np.average(medians, weights=shares[used]))
        refined = HeatKernel(float(np.exp(np.clip(median * nodes, -600, 600))))
        shift = np.log(self.precision / refined.precision) / nodes
        return refined, np.where(atoms > 0, np.maximum(atoms + shift, 1e-6 * atoms), 0.0)

    def in_words(self) -> str:
        return f"{FAR_SMOOTHER} (a heat kernel)."


IDENTITY = PowerFilter(1.0)
"""The filter of the paper's model, whose precision is the Laplacian."""

FILTERS: dict[str, type[GraphFilter]] = {
    kind.name: kind for kind in (PowerFilter, ExponentialFilter, HeatKernel)
}
"""Every filter by the name that fitted models and checkpoints have for it."""


def divided_differences(eigenvalues: Floats, values: Floats, slopes: Floats) -> Floats:
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
