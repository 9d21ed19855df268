"""Graphs of patterns through a filter: the precision ``f(L_c)`` of each, and atoms for moments.

``L_c`` is the sum of the Laplacians of a pattern's atoms. Signals that are constant on components
of a disconnected graph have the variance ``noise``. The energy ``x' f(L_c) x`` is not linear in the
atoms, so that their sufficient statistics are second moments ``S_c`` of the samples of each pattern
(C, N, N). Given those and the number ``n_c`` of these samples, atoms minimise

    sum_c tr(S_c f(L_c)) - n_c log det f(L_c)

over nonnegative weights, by a few steps of projected L-BFGS in units of each weight's own size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.annotations import Booleans
from graphdict.core.graphs import zero_sum_basis
from graphdict.core.marginal.filtered_loss import Targets, filtered_loss, log_filter
from graphdict.core.marginal.filters import IDENTITY, GraphFilter
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.core.marginal.protocols import AtomPenalty
from graphdict.core.marginal.spectra import adjoint, pattern_spectra, reduce_moments
from graphdict.core.marginal.support import pattern_components
from graphdict.core.nonnegative import minimise_nonnegative

RIDGE = 10 * NOISE  # variance added to all moments: weights between equal nodes stay finite
SMALLEST = 1e-9  # of its typical size: weight of an edge that is still there
FLATTEST = 1e-10  # of their mean: squared differences that count as such


class PooledSamples(NamedTuple):
    """Samples that every atom alone has beside its own: what atoms have in common."""

    moments: NDArray  # (d, d) second moments of one of them
    share: float  # their number, relative to that of all samples


class ParameterSteps(NamedTuple):
    """Where the parameter of a filter may go in one M-step: nowhere by default."""

    log_centre: float = 0.0  # mean log-eigenvalue, at which f stays what it is
    unit: float = 1.0  # of the parameter's logarithm, in which the loss has about unit curvature
    bounds: tuple[float, ...] = (0.0, 0.0)  # least and greatest step, in units


@dataclass
class FilteredGraphs:
    """What a filter makes of the graphs of patterns, and how atoms follow from moments.

    Parameters
    ----------
    patterns : array (C, K)
    nodes : int
        Number N of nodes.
    noise : float
        Variance on the null space of disconnected patterns: ``NOISE`` times that of all signals.
    flat : array (C,)
        Number of dimensions of that null space, constants left out.
    filter : GraphFilter
    learns_filter : bool
        Whether atoms are fitted together with the parameter of the filter. With a power that goes
        well only where the support is given: otherwise likelihood asks for ever larger ones of
        ever denser graphs.
    pool : PooledSamples, optional
        What every atom alone has beside its own samples.
    """

    patterns: NDArray
    nodes: int
    noise: float
    flat: NDArray
    filter: GraphFilter = IDENTITY
    learns_filter: bool = False
    pool: PooledSamples | None = None

    @classmethod
    def of(cls, patterns: NDArray, atoms: NDArray, noise: float = NOISE, **options: Any) -> Self:
        """Return the likelihood of patterns (C, K) for the support of atoms (K, E)."""
        nodes = graphs.n_nodes(atoms.shape[1])
        return cls(patterns, nodes, noise, cls.flat_dimensions(patterns, atoms), **options)

    @staticmethod
    def flat_dimensions(patterns: NDArray, atoms: NDArray) -> NDArray:
        """Return the number (C,) of zero eigenvalues of each graph beyond that of constants."""
        flat = np.zeros(len(patterns), dtype=np.intp)
        for index, basis in pattern_components(patterns, atoms).items():
            flat[index] = basis.shape[1] - 1
        return flat

    def for_atoms(self, atoms: NDArray, patterns: NDArray | None = None) -> Self:
        chosen = self.patterns if patterns is None else patterns
        return replace(self, patterns=chosen, flat=self.flat_dimensions(chosen, atoms))

    @property
    def nbytes(self) -> int:
        pool = 0 if self.pool is None else self.pool.moments.nbytes
        return self.patterns.nbytes + self.flat.nbytes + pool

    @property
    def dimension(self) -> int:
        """Number d of dimensions of a sample."""
        return self.nodes - 1

    @property
    def dimensions(self) -> NDArray:
        """Number (C,) of dimensions that each pattern's graph sees."""
        return self.dimension - self.flat

    @property
    def variance(self) -> float:
        """Mean square of all signals."""
        return self.noise / NOISE

    @cached_property
    def activations(self) -> NDArray:
        """The patterns (C, K) as numbers."""
        return self.patterns.astype(np.float64)

    @cached_property
    def alone(self) -> Booleans:
        """Which patterns (C,) have one active atom."""
        return pattern_sizes(self.patterns) == 1

    @cached_property
    def _is_flat(self) -> Booleans:
        """Which eigenvectors (C, d), smallest first, are constant on components."""
        return np.arange(self.dimension) < self.flat[:, None]

    def covariances(self, atoms: NDArray) -> NDArray:
        """Return the covariance (C, N, N) of signals of zero mean under each pattern."""
        vectors, logs = self._log_spectra(atoms)
        spread = vectors * np.exp(-0.5 * logs)[:, None, :]
        return spread @ np.swapaxes(spread, -1, -2)

    def _log_spectra(self, atoms: NDArray) -> tuple[NDArray, NDArray]:
        """Return eigenvectors (C, N, d) of the precisions and logarithms (C, d) of eigenvalues."""
        spectra = pattern_spectra(self.activations, atoms.astype(np.float64))
        logs = np.where(self._is_flat, -np.log(self.noise), log_filter(self.filter, spectra))
        return zero_sum_basis(self.nodes) @ spectra.vectors, logs

    def targets(
        self, statistics: tuple[NDArray, ...], usage: NDArray, pooled: bool = True
    ) -> Targets:
        """Return what atoms are fitted to: moments with a ridge, and with pooled samples."""
        moments = reduce_moments(statistics[0])
        ridge = RIDGE * self.variance * usage[:, None]
        diagonal = np.arange(self.dimension)
        moments[:, diagonal, diagonal] += ridge
        found = Targets(moments, usage)
        return self.add_pool(found) if pooled else found

    def add_pool(self, targets: Targets) -> Targets:
        """Return targets with pooled samples beside those of every atom alone."""
        if self.pool is None:
            return targets
        share = self.pool.share * self.alone
        moments = targets.moments + share[:, None, None] * self.pool.moments
        return Targets(moments, targets.usage + share)

    def minimise(
        self,
        atoms: NDArray,
        targets: Targets,
        steps: int,
        penalty: AtomPenalty | None = None,
        settled: float = -np.inf,
    ) -> tuple[GraphFilter, NDArray]:
        """Return the filter and the atoms (K, E) after up to ``steps`` steps on the loss.

        Fewer are taken where five of them lower it by less than ``settled``.

        Weights are in units of :meth:`weight_scales`. Where the parameter of the filter is learned,
        weights are multiplied so that ``f`` stays what it is at the centre of the spectra.
        """
        scales = self.weight_scales(targets)
        on = atoms > 0
        start, steps_of_parameter = self.filter.parameter, self._parameter_steps(atoms, targets)
        log_centre, unit = steps_of_parameter.log_centre, steps_of_parameter.unit

        def unpack(point: NDArray) -> tuple[GraphFilter, NDArray]:
            chosen = self.filter.with_parameter(start * np.exp(point[-1] * unit))
            factor, _ = self.filter.weight_factor(log_centre, chosen.parameter)
            weights = np.zeros_like(scales)
            weights[on] = (point[:-1] + SMALLEST) * scales[on] * factor
            return chosen, weights

        def value_and_slope(point: NDArray) -> tuple[float, NDArray]:
            chosen, weights = unpack(point)
            factor, turn = self.filter.weight_factor(log_centre, chosen.parameter)
            loss = filtered_loss(chosen, self.activations, weights, targets, self._is_flat)
            value, slope = loss.value, loss.gradient
            if penalty is not None:
                value = value + penalty.value(weights)
                slope = slope + penalty.slope(weights)
            if not np.isfinite(value):
                return 1e300, np.zeros_like(point)
            along = loss.parameter_derivative + np.vdot(slope, weights) * turn
            return value, np.append((slope * scales)[on] * factor, along * unit)

        lower = np.zeros(on.sum() + 1)
        upper = np.full(len(lower), np.inf)
        lower[-1], upper[-1] = steps_of_parameter.bounds
        first = np.append((atoms / scales)[on], 0.0)
        found = minimise_nonnegative(
            value_and_slope, first, steps, evaluations=2 * steps + 4, lower=lower, upper=upper,
            settled=settled,
        )  # fmt: skip
        return unpack(found)

    def _parameter_steps(self, atoms: NDArray, targets: Targets) -> ParameterSteps:
        """Return how the parameter of the filter may move from the spectra of atoms (K, E)."""
        if not self.learns_filter:
            return ParameterSteps()
        eigenvalues = pattern_spectra(self.activations, atoms).eigenvalues
        mass = targets.usage[:, None] * ~self._is_flat
        log_centre = float((mass * np.log(eigenvalues)).sum() / mass.sum())
        _, turn = self.filter.weight_factor(log_centre, self.filter.parameter)
        spread = self.filter.parameter_derivatives(eigenvalues)
        spread = spread + turn * eigenvalues * self.filter.log_derivatives(eigenvalues)
        unit = 1 / np.sqrt(max(float((mass * spread**2).sum()), 1e-6))
        logs = np.log(np.array(self.filter.parameter_range()) / self.filter.parameter)
        return ParameterSteps(log_centre, unit, tuple(logs / unit))

    def loss(self, atoms: NDArray, targets: Targets) -> float:
        """Return the loss of atoms (K, E)."""
        given = self.activations, atoms, targets, self._is_flat
        return filtered_loss(self.filter, *given).value

    def weight_scales(self, targets: Targets) -> NDArray:
        """Return the typical size (K, E) of weights, by the differences of each atom's samples."""
        count, size = self.activations.shape[1], self.dimension
        mass = np.maximum(self.activations.T @ targets.usage, 1e-12)
        moments = self.activations.T @ targets.moments.reshape(len(targets.moments), -1)
        distances = adjoint(moments.reshape(count, size, size)) / mass[:, None]
        distances = np.maximum(distances, FLATTEST * (distances.mean() or 1.0))
        return self.filter.typical_weights(distances, self.variance) / self.nodes

    def own_penalty(self, atoms: NDArray) -> float:
        """Return what pooled samples add to the objective of atoms (K, E)."""
        if self.pool is None or self.pool.share == 0:
            return 0.0
        count = int(self.alone.sum())
        moments = np.broadcast_to(self.pool.moments, (count, *self.pool.moments.shape))
        targets = Targets(self.pool.share * moments, np.full(count, self.pool.share))
        given = self.activations[self.alone], atoms, targets, self._is_flat[self.alone]
        return filtered_loss(self.filter, *given, gradient=False).value
