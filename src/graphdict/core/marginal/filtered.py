"""The likelihood of signals whose precision is a filter of the pattern's graph, with heavy tails.

Under pattern ``c`` a sample of gain ``g`` has the precision ``g f(L_c)`` of ``L_c``, the sum of the
Laplacians of its atoms, for a filter ``f`` (:mod:`graphdict.core.marginal.filters`), and gains are
integrated out (:mod:`graphdict.core.marginal.tails`). With ``f`` the identity and Gaussian tails it
is the likelihood of :mod:`graphdict.core.marginal.likelihood`, and disconnected graphs are dealt
with as there: signals that are constant on components have the variance ``noise``.

The energy ``x' f(L_c) x`` is not linear in the atoms, so that their sufficient statistics are
second moments ``S_c`` of the samples of each pattern (C, N, N), weighted by their gains. Given
those, atoms minimise

    sum_c tr(S_c f(L_c)) - n_c log det f(L_c)

over nonnegative weights, by a few steps of projected L-BFGS in units of each weight's own size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.marginal.filtered_loss import Targets, filtered_loss, log_filter
from graphdict.core.marginal.filters import FILTERS, PAPERS, GraphFilter, PowerFilter
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.observed import Completed, ObservedSignals
from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.core.marginal.protocols import AtomDraw, AtomPenalty, SignalBlock
from graphdict.core.marginal.spectra import (
    adjoint,
    pattern_spectra,
    reduce_moments,
    zero_sum_basis,
)
from graphdict.core.marginal.support import pattern_components
from graphdict.core.marginal.tails import (
    gains,
    log_densities,
    tail_densities,
    tail_statistic,
    update_tails,
)
from graphdict.core.nonnegative import minimise_nonnegative

__all__ = ["FilteredFactors", "FilteredLikelihood", "PooledSamples"]

RIDGE = 10 * NOISE  # variance added to all moments: weights between equal nodes stay finite
SMALLEST = 1e-9  # of its typical size: weight of an edge that is still there
FLATTEST = 1e-10  # of their mean: squared differences that count as such
POWERS = 1.0, 4.0  # between which the power is learned
WIDEST = 1.0  # change in the logarithm of another parameter in one M-step
KEPT = 8  # patterns whose completed samples are kept for the sums that follow
CACHED = 1 << 16  # values of some samples that stay in cache while they are multiplied


class FilteredFactors(NamedTuple):
    """What the likelihood computes once for all signals."""

    roots: NDArray  # (C, N, d) eigenvectors times the root of f: x' f(L_c) x = ||x roots||^2
    log_determinants: NDArray  # (C,)
    missing: bool = False  # whether signals have missing values

    @property
    def nbytes(self) -> int:
        """Size as a message."""
        return self.roots.nbytes + self.log_determinants.nbytes

    def precision(self, index: int) -> NDArray:
        """Return ``f(L_c)`` (N, N) of one pattern."""
        return self.roots[index] @ self.roots[index].T


class Energies(NamedTuple):
    """What the density of every sample under every pattern follows from."""

    values: NDArray  # (T, C): x' f(L_c) x
    log_determinants: NDArray  # (C,), or (T, C) where values are missing
    dimension: Any  # of a sample: a number, or (T, 1) where values are missing
    observed: ObservedSignals | None = None  # the samples, where values are missing
    completed: tuple[Completed, ...] = ()  # and as patterns complete them, where these are few


class PooledSamples(NamedTuple):
    """Samples that every atom alone has beside its own: what atoms have in common."""

    moments: NDArray  # (d, d) second moments of one of them
    share: float  # their number, relative to that of all samples


@dataclass
class FilteredLikelihood:
    """The :class:`~graphdict.core.marginal.protocols.PatternLikelihood` with filter and tails.

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
    tails : float
        Degrees of freedom; inf for Gaussian samples.
    learns_tails, learns_power : bool
        Whether M-steps learn them too. A power (or the precision of a heat kernel) is learned well
        only where the support is given: otherwise likelihood asks for ever larger powers of ever
        denser graphs.
    pool : PooledSamples, optional
        What every atom alone has beside its own samples.
    """

    patterns: NDArray
    nodes: int
    noise: float
    flat: NDArray
    filter: GraphFilter = PAPERS
    tails: float = np.inf
    learns_tails: bool = False
    learns_power: bool = False
    pool: PooledSamples | None = None
    statistic_names: ClassVar[tuple[str, ...]] = ("moments", "tails")

    @classmethod
    def of(cls, patterns: NDArray, atoms: NDArray, noise: float = NOISE, **options: Any) -> Self:
        """Return the likelihood of patterns (C, K) for the support of atoms (K, E)."""
        nodes = graphs.n_nodes(atoms.shape[1])
        return cls(patterns, nodes, noise, cls.flat_dimensions(patterns, atoms), **options)

    @staticmethod
    def flat_dimensions(patterns: NDArray, atoms: NDArray) -> NDArray:
        """Return how many dimensions (C,) beside constants a pattern's graph does not see."""
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
    def variance(self) -> float:
        """Mean square of all signals."""
        return self.noise / NOISE

    @cached_property
    def activations(self) -> NDArray:
        """The patterns (C, K) as numbers."""
        return self.patterns.astype(np.float64)

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Which patterns (C,) have one active atom."""
        return pattern_sizes(self.patterns) == 1

    # E-step ---------------------------------------------------------------------------------

    def factors(self, atoms: NDArray, *, missing: bool = False) -> FilteredFactors:
        vectors, logs = self._log_spectra(atoms)
        roots = vectors * np.exp(0.5 * logs)[:, None, :]
        return FilteredFactors(roots, logs.sum(axis=1), missing)

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

    def log_likelihoods(self, factors: FilteredFactors, block: SignalBlock) -> NDArray:
        found = self.energies(factors, block)
        given = found.values, found.log_determinants, self.tails, found.dimension
        return block.sum_windows(log_densities(*given))

    def statistics(
        self, factors: FilteredFactors, block: SignalBlock, responsibilities: NDArray
    ) -> tuple[NDArray, ...]:
        """Return gain-weighted second moments (C, N, N), and the statistic of the tails (1,).

        Of missing values the moments are those expected given the others.
        """
        found = self.energies(factors, block)
        shares = block.repeat_windows(responsibilities)
        roots = np.sqrt(shares * gains(found.values, self.tails, found.dimension))
        signals = block.signals.astype(np.float64, copy=False)
        moments = np.zeros((len(self.patterns), self.nodes, self.nodes))
        for index, matrix in enumerate(moments):
            if found.observed is not None:
                if found.completed:
                    completed = found.completed[index]
                else:
                    completed = found.observed.complete(factors.precision(index))
                signals = completed.signals
                # A missing value varies by one over the gain, which its weight, the gain, undoes.
                matrix += found.observed.spread(completed, shares[:, index])
            for rows in _in_cache(signals):
                weighted = signals[rows] * roots[rows, index, None]
                matrix += weighted.T @ weighted
        tails = np.vdot(shares, tail_statistic(found.values, self.tails, found.dimension))
        return moments, np.array([tails])

    def energies(self, factors: FilteredFactors, block: SignalBlock) -> Energies:
        """Return the energy of every sample under every pattern: of what was observed of it."""
        if block.kept is not None and block.kept.get("factors") is factors:
            return block.kept["energies"]
        signals = block.signals.astype(np.float64, copy=False)
        observed = ObservedSignals(signals) if factors.missing else None
        values = np.empty((len(signals), len(self.patterns)))
        logs = factors.log_determinants
        if observed is not None:
            logs = np.repeat(logs[None], len(signals), axis=0)
        kept: list[Completed] = []
        for index, root in enumerate(factors.roots):
            if observed is not None:
                completed = observed.complete(factors.precision(index))
                signals = completed.signals
                logs[:, index] += completed.log_determinants
                if block.kept is not None and len(self.patterns) <= KEPT:
                    kept.append(completed)
            for rows in _in_cache(signals):
                whitened = signals[rows] @ root
                np.einsum("tn,tn->t", whitened, whitened, out=values[rows, index])
        if observed is not None:
            logs[observed.seen < 2] = 0
        dimension = self.dimension if observed is None else observed.dimensions
        found = Energies(values, logs, dimension, observed, tuple(kept))
        if block.kept is not None:
            block.kept.update(factors=factors, energies=found)
        return found

    def posterior_gains(
        self, factors: FilteredFactors, block: SignalBlock, responsibilities: NDArray
    ) -> NDArray:
        """Return the posterior mean (T,) of the gain of every sample."""
        found = self.energies(factors, block)
        values = gains(found.values, self.tails, found.dimension)
        return np.einsum("tc,tc->t", values, block.repeat_windows(responsibilities))

    def tail_densities(
        self, factors: FilteredFactors, block: SignalBlock, responsibilities: NDArray
    ) -> NDArray:
        """Return the expected log-densities, less what is the same for all tails to try."""
        found = self.energies(factors, block)
        shares = block.repeat_windows(responsibilities)
        return tail_densities(found.values, found.dimension, shares)

    # M-step ---------------------------------------------------------------------------------

    def m_step(
        self,
        atoms: NDArray,
        statistics: tuple[NDArray, ...],
        usage: NDArray,
        penalty: AtomPenalty,
        steps: int,
    ) -> tuple[Self, NDArray]:
        """Take steps of projected L-BFGS on the atoms, learn the tails; see the protocol."""
        if steps == 0:
            return self, atoms
        filter_, found = self.minimise(atoms, self.targets(statistics, usage), steps, penalty)
        tails = update_tails(float(statistics[1][0])) if self.learns_tails else self.tails
        return replace(self, filter=filter_, tails=tails), found

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
        self, atoms: NDArray, targets: Targets, steps: int, penalty: AtomPenalty | None = None
    ) -> tuple[GraphFilter, NDArray]:
        """Return the filter and the atoms (K, E) after so many steps on the loss.

        Weights are in units of :meth:`weight_scales`. A power that is learned turns about the
        centre of the spectra: weights are multiplied so that ``f`` stays what it is there.
        """
        scales = self.weight_scales(targets)
        on = atoms > 0
        start, log_bounds, log_centre, unit = self._power_range(atoms, targets)

        def unpack(point: NDArray) -> tuple[GraphFilter, NDArray, float]:
            chosen = self.filter.with_parameter(start * np.exp(point[-1] * unit))
            factor = self.filter.factor(np.exp(log_centre), chosen.parameter)
            weights = np.zeros_like(scales)
            weights[on] = (point[:-1] + SMALLEST) * scales[on] * factor
            return chosen, weights, factor

        def value_and_slope(point: NDArray) -> tuple[float, NDArray]:
            chosen, weights, factor = unpack(point)
            loss = filtered_loss(chosen, self.activations, weights, targets, self._is_flat)
            value, slope = loss.value, loss.gradient
            if penalty is not None:
                value = value + penalty.value(weights)
                slope = slope + penalty.slope(weights)
            if not np.isfinite(value):
                return 1e300, np.zeros_like(point)
            turned = np.vdot(slope, weights) * self.filter.parameter / chosen.parameter
            along = loss.parameter_slope - turned * log_centre
            return value, np.append((slope * scales)[on] * factor, along * unit)

        lower = np.zeros(on.sum() + 1)
        upper = np.full(len(lower), np.inf)
        lower[-1], upper[-1] = log_bounds
        first = np.append((atoms / scales)[on], 0.0)
        given = steps, 2 * steps + 4, lower, upper
        return unpack(minimise_nonnegative(value_and_slope, first, *given))[:2]

    def _power_range(
        self, atoms: NDArray, targets: Targets
    ) -> tuple[float, tuple[float, float], float, float]:
        """Return where a learned parameter starts, its range in units, log-centre, and the unit.

        A unit of its logarithm has about unit curvature. Where none is learned the range is nil.
        """
        start = self.filter.parameter
        if not self.learns_power:
            return start, (0.0, 0.0), 0.0, 1.0
        values = np.log(pattern_spectra(self.activations, atoms).eigenvalues)
        mass = targets.usage[:, None] * ~self._is_flat
        if not isinstance(self.filter, PowerFilter):  # a factor of all precisions: nothing turns
            unit = 1 / np.sqrt(max(float(mass.sum()), 1e-6))
            return start, (-WIDEST / unit, WIDEST / unit), 0.0, unit
        centre = float((mass * values).sum() / mass.sum())
        spread = start * (values - centre)
        unit = 1 / np.sqrt(max(float((mass * spread**2).sum()), 1e-6))
        least, most = (float(np.log(bound / start) / unit) for bound in POWERS)
        return start, (min(least, 0.0), max(most, 0.0)), centre, unit

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

    @cached_property
    def _is_flat(self) -> NDArray[np.bool_]:
        """Which eigenvectors (C, d), smallest first, are constant on components."""
        return np.arange(self.dimension) < self.flat[:, None]

    def stationary_statistics(
        self, atoms: NDArray, usage: NDArray, penalty: AtomPenalty, threshold: float
    ) -> tuple[NDArray, ...]:
        """Return the moments that samples of the atoms have; see the protocol.

        Unpenalised atoms stay at these, and weighted by gains a Student t has the same. The
        statistic of the tails is that of samples without any, at which tails that are given stay.
        """
        return usage[:, None, None] * self.covariances(atoms), np.zeros(1)

    # What is not known of it ----------------------------------------------------------------

    def draw_atoms(self, *given: Any) -> AtomDraw:
        raise NotImplementedError("atoms cannot be drawn under a filter or tails")

    # Checkpoints ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        pool = self.pool
        return {
            "filter": self.filter.name,
            "filter_parameter": self.filter.parameter,
            "tails": np.array(self.tails),
            "pool_share": 0.0 if pool is None else pool.share,
            "pool_moments": np.empty((0, 0)) if pool is None else pool.moments,
        }

    def with_state(self, state: dict[str, Any]) -> Self:
        chosen = FILTERS[state["filter"]](state["filter_parameter"])
        moments = state["pool_moments"]
        pool = PooledSamples(moments, state["pool_share"]) if len(moments) else None
        return replace(self, filter=chosen, tails=float(state["tails"]), pool=pool)


def _in_cache(signals: NDArray) -> list[slice]:
    """Return slices of signals (T, N), so many of them that they stay in cache."""
    count = max(1, CACHED // signals.shape[1])
    return [slice(first, first + count) for first in range(0, len(signals), count)]
