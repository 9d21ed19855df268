"""The likelihood of signals whose precision is a filter of the pattern's graph, with heavy tails.

Under pattern ``c`` a sample of gain ``g`` has the precision ``g f(L_c)`` for a filter ``f`` of the
pattern's graph (:mod:`graphdict.core.marginal.filtered_graphs`), and gains are integrated out
(:mod:`graphdict.core.marginal.tails`). Where the graph is disconnected, signals that are constant
on its components have the variance ``noise`` whatever the gain: silence is not loud or quiet. With
``f`` the identity and Gaussian tails it is the likelihood of
:mod:`graphdict.core.marginal.likelihood`. The E-step sums second moments of the samples of each
pattern, weighted by their gains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.marginal.filtered_graphs import FilteredGraphs, PooledSamples
from graphdict.core.marginal.filters import FILTERS
from graphdict.core.marginal.observed import Completed, ObservedSignals
from graphdict.core.marginal.protocols import AtomDraw, AtomPenalty, SignalBlock
from graphdict.core.marginal.tails import (
    gains,
    log_densities,
    tail_densities,
    tail_statistic,
    update_tails,
)
from graphdict.native import products

KEPT = 8  # patterns whose completed samples are kept for the sums that follow
CACHED = 1 << 16  # values of some samples that stay in cache while they are multiplied
BY_PAIRS = 128  # nodes up to which sums over pairs of them are quicker than matrix products
STEEPEST = 1e8  # ratio of precisions up to which sums over pairs lose no digits that matter


class FilteredFactors(NamedTuple):
    """What the likelihood computes once for all signals."""

    roots: NDArray  # (C, N, d) eigenvectors times the root of f: x' f(L_c) x = ||x roots||^2
    log_determinants: NDArray  # (C,)
    missing: bool = False  # whether signals have missing values
    weights: NDArray | None = None  # (C, E) of f(L_c) as a graph, by which energies are quicker

    @property
    def nbytes(self) -> int:
        """Size as a message."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return self.roots.nbytes + self.log_determinants.nbytes + weights

    def precision(self, index: int) -> NDArray:
        """Return ``f(L_c)`` (N, N) of one pattern."""
        return self.roots[index] @ self.roots[index].T


class Energies(NamedTuple):
    """What the density of every sample under every pattern follows from.

    Where no values are missing, what the null space of a disconnected graph has is apart.
    """

    values: NDArray  # (T, C): x' f(L_c) x
    log_determinants: NDArray  # (C,), or (T, C) where values are missing
    dimensions: NDArray  # (C,) that have a gain, or (T, 1) where values are missing
    null: NDArray | None = None  # (T, C) minus twice the log-density on the null space
    observed: ObservedSignals | None = None  # the samples, where values are missing
    completed: tuple[Completed, ...] = ()  # and as patterns complete them, where these are few


@dataclass
class FilteredLikelihood(FilteredGraphs):
    """The :class:`~graphdict.core.marginal.protocols.PatternLikelihood` with filter and tails.

    Parameters
    ----------
    patterns, nodes, noise, flat, filter, learns_filter, pool
        As of :class:`~graphdict.core.marginal.filtered_graphs.FilteredGraphs`.
    tails : float
        Degrees of freedom; inf for Gaussian samples.
    learns_tails : bool
        Whether M-steps learn them too.
    """

    tails: float = np.inf
    learns_tails: bool = False
    statistic_names: ClassVar[tuple[str, ...]] = ("moments", "tails")

    # E-step ---------------------------------------------------------------------------------

    def factors(self, atoms: NDArray, *, missing: bool = False) -> FilteredFactors:
        vectors, logs = self._log_spectra(atoms)
        roots = vectors * np.exp(0.5 * logs)[:, None, :]
        factors = FilteredFactors(roots, logs.sum(axis=1), missing)
        steep = bool(np.ptp(logs, axis=1).max() > np.log(STEEPEST))
        if missing or steep or self.flat.any() or self.nodes > BY_PAIRS:
            return factors
        precisions = roots @ roots.swapaxes(1, 2)
        return factors._replace(weights=graphs.laplacian_to_weights(precisions))

    def log_likelihoods(self, factors: FilteredFactors, block: SignalBlock) -> NDArray:
        found = self.energies(factors, block)
        given = found.values, found.log_determinants, self.tails, found.dimensions
        values = log_densities(*given)
        if found.null is not None:
            values -= 0.5 * found.null
        return block.sum_windows(values)

    def statistics(
        self, factors: FilteredFactors, block: SignalBlock, responsibilities: NDArray
    ) -> tuple[NDArray, ...]:
        """Return gain-weighted second moments (C, N, N), and the statistic of the tails (1,).

        Of missing values the moments are those expected given the others.
        """
        found = self.energies(factors, block)
        shares = block.repeat_windows(responsibilities)
        tails = np.vdot(shares, tail_statistic(found.values, self.tails, found.dimensions))
        weights = shares * gains(found.values, self.tails, found.dimensions)
        signals = block.signals.astype(np.float64, copy=False)
        if found.observed is None and self.nodes <= BY_PAIRS:
            moments = graphs.moments_of_distances(products.weighted_distances(signals, weights))
            return moments, np.array([tails])
        moments = np.zeros((len(self.patterns), self.nodes, self.nodes))
        roots = np.sqrt(weights)
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
        return moments, np.array([tails])

    def energies(self, factors: FilteredFactors, block: SignalBlock) -> Energies:
        """Return the energy of every sample under every pattern: of what was observed of it."""
        if block.kept is not None and block.kept.get("factors") is factors:
            return block.kept["energies"]
        signals = block.signals.astype(np.float64, copy=False)
        if factors.weights is not None:
            values = products.energies(signals, factors.weights)
            found = Energies(values, factors.log_determinants, self.dimensions)
            if block.kept is not None:
                block.kept.update(factors=factors, energies=found)
            return found
        observed = ObservedSignals(signals) if factors.missing else None
        values = np.empty((len(signals), len(self.patterns)))
        logs = factors.log_determinants
        if observed is not None:
            logs = np.repeat(logs[None], len(signals), axis=0)
        null = None
        if observed is None and self.flat.any():
            null = np.tile(self.flat * np.log(2 * np.pi), (len(signals), 1))
        kept: list[Completed] = []
        for index, root in enumerate(factors.roots):
            if observed is not None:
                completed = observed.complete(factors.precision(index))
                signals = completed.signals
                logs[:, index] += completed.log_determinants
                if block.kept is not None and len(self.patterns) <= KEPT:
                    kept.append(completed)
            apart = int(self.flat[index]) if observed is None else 0
            for rows in _in_cache(signals):
                whitened = signals[rows] @ root
                if apart and null is not None:
                    null[rows, index] += np.square(whitened[:, :apart]).sum(axis=1)
                    whitened = whitened[:, apart:]
                np.einsum("tn,tn->t", whitened, whitened, out=values[rows, index])
        if observed is not None:
            logs[observed.seen < 2] = 0
        dimensions = self.dimensions if observed is None else observed.dimensions
        found = Energies(values, logs, dimensions, null, observed, tuple(kept))
        if block.kept is not None:
            block.kept.update(factors=factors, energies=found)
        return found

    def posterior_gains(
        self, factors: FilteredFactors, block: SignalBlock, responsibilities: NDArray
    ) -> NDArray:
        """Return the posterior mean (T,) of the gain of every sample."""
        found = self.energies(factors, block)
        values = gains(found.values, self.tails, found.dimensions)
        return np.einsum("tc,tc->t", values, block.repeat_windows(responsibilities))

    def tail_densities(
        self, factors: FilteredFactors, block: SignalBlock, responsibilities: NDArray
    ) -> NDArray:
        """Return the expected log-densities, less what is the same for all tails to try."""
        found = self.energies(factors, block)
        shares = block.repeat_windows(responsibilities)
        return tail_densities(found.values, found.dimensions, shares)

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

    def stationary_statistics(
        self, atoms: NDArray, usage: NDArray, penalty: AtomPenalty, threshold: float
    ) -> tuple[NDArray, ...]:
        """Return the moments that samples of the atoms have; see the protocol.

        Unpenalised atoms stay at these, and weighted by gains a Student t has the same. The
        statistic of the tails is that of samples without any, at which tails that are given stay.
        """
        return usage[:, None, None] * self.covariances(atoms), np.zeros(1)

    # What is not known of it ----------------------------------------------------------------

    def draw_atoms(self, *given: Any, **prior: Any) -> AtomDraw:
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
    """Return slices of signals (T, N) that are small enough to stay in cache."""
    count = max(1, CACHED // signals.shape[1])
    return [slice(first, first + count) for first in range(0, len(signals), count)]
