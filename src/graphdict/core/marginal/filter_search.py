"""The power of a filter by counting edges, and how much atoms have in common, at fixed moments.

Likelihood alone asks for ever larger powers, under which graphs dissolve into all edges with tiny
weights. The graph of greatest likelihood with nonnegative weights is sparse by itself, and its number
of edges tells: the power is the one of least

    T loss(W(p)) + edges(W(p)) log T,

with ``W(p)`` the best atoms under it. Nothing here passes over samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.filtered import POWERS, FilteredLikelihood, PooledSamples
from graphdict.core.marginal.filtered_loss import Targets
from graphdict.core.marginal.filters import PowerFilter
from graphdict.core.marginal.spectra import pattern_spectra

__all__ = ["choose_pool", "present_edges", "search_power"]

PRESENT = 1e-3  # of its typical size: a weight that is an edge
COARSE, FINEST, STEPS = 6, 0.04, 40  # powers tried at first, relative distance at last, and steps
POOLS = 0.0, 0.3, 1.0, 3.0, 10.0  # pooled samples to try, in units of the dimension
POOL_STEPS = 25


class Tried(NamedTuple):
    """A power, its atoms, and what they cost."""

    cost: float
    likelihood: FilteredLikelihood
    atoms: NDArray

    @property
    def power(self) -> float:
        """The power."""
        return self.likelihood.filter.parameter


def present_edges(
    likelihood: FilteredLikelihood, atoms: NDArray, targets: Targets
) -> NDArray[np.bool_]:
    """Return where atoms (K, E) have edges: weights that are not small for what they could be."""
    return atoms > PRESENT * likelihood.weight_scales(targets)


def search_power(
    likelihood: FilteredLikelihood, atoms: NDArray, targets: Targets, samples: int
) -> tuple[FilteredLikelihood, NDArray]:
    """Return the likelihood of the best power, and its atoms (K, E).

    Powers are tried on a grid that shrinks about the best one, from atoms of a nearby power.
    """
    grid = np.geomspace(*POWERS, COARSE).tolist()
    tried = list(_try_powers(likelihood, atoms, targets, samples, grid))
    while True:
        tried.sort(key=lambda one: one.power)
        place = min(range(len(tried)), key=lambda index: tried[index].cost)
        best = tried[place]
        others = [tried[max(place - 1, 0)].power, tried[min(place + 1, len(tried) - 1)].power]
        between = [
            float(np.sqrt(best.power * other))
            for other in others
            if abs(other - best.power) > FINEST * best.power
        ]
        if not between:
            return best.likelihood, best.atoms
        tried += _try_powers(best.likelihood, best.atoms, targets, samples, between)


def _try_powers(
    likelihood: FilteredLikelihood,
    atoms: NDArray,
    targets: Targets,
    samples: int,
    powers: Sequence[float],
) -> Iterable[Tried]:
    for power in powers:
        other = replace(likelihood, filter=PowerFilter(power))
        found = atoms * _common_factor(other, atoms, targets)
        _, found = other.minimise(found, targets, STEPS)
        edges = int(present_edges(other, found, targets).sum())
        cost = samples * other.loss(found, targets) + edges * np.log(samples)
        yield Tried(cost if np.isfinite(cost) else np.inf, other, found)


def _common_factor(likelihood: FilteredLikelihood, atoms: NDArray, targets: Targets) -> float:
    """Return what to multiply all weights by so that energies are right on average."""
    eigenvalues, vectors = pattern_spectra(likelihood.activations, atoms)
    seen = np.arange(likelihood.dimension) >= likelihood.flat[:, None]
    variances = np.einsum("cin,cin->cn", vectors, targets.moments @ vectors)
    values = np.exp(likelihood.filter.log_values(eigenvalues))
    energy = float((np.maximum(variances, 0) * values * seen).sum())
    return float((targets.usage[:, None] * seen).sum() / energy) ** (
        1 / likelihood.filter.parameter
    )


def choose_pool(
    likelihood: FilteredLikelihood,
    atoms: NDArray,
    pooled: NDArray,
    halves: Sequence[Targets],
    samples: int,
) -> PooledSamples:
    """Return how many pooled samples of moments (d, d) let atoms of one half fit the other best.

    ``halves`` are what atoms are fitted to in either half of the samples, each per sample of all.
    """
    costs: list[float] = []
    for amount in POOLS:
        share = amount * likelihood.dimension / samples
        cost = 0.0
        for own, other in (halves, halves[::-1]):
            moments = own.moments + share * likelihood.alone[:, None, None] * pooled
            targets = Targets(moments, own.usage + share * likelihood.alone)
            _, found = likelihood.minimise(atoms, targets, POOL_STEPS)
            cost += likelihood.loss(found, other)
        costs.append(cost)
        if len(costs) > 1 and costs[-1] > costs[-2]:
            break
    best = POOLS[int(np.argmin(costs))]
    return PooledSamples(pooled, best * likelihood.dimension / samples)
