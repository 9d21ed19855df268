"""The power of a filter by cross-validation, and the halves of the samples that it needs.

Likelihood alone asks for ever larger powers, under which graphs dissolve into all edges with tiny
weights. Of samples in blocks of time, atoms of one half of the blocks are therefore judged by the
other half. For one graph it is enough to judge by the loss at the other half's second moments,
gains as they are, which passes over no samples; several atoms are judged by the marginal
likelihood (:mod:`graphdict.engine.marginal.held_out`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.filtered_loss import Targets
from graphdict.core.marginal.filters import POWERS, PowerFilter
from graphdict.core.marginal.spectra import pattern_spectra

Sums = tuple[NDArray, tuple[NDArray, ...]]  # usage and statistics
Judge = Callable[[FilteredLikelihood, NDArray], tuple[float, NDArray]]  # cost, atoms

PRESENT = 1e-3  # of its typical size: a weight that is an edge
COARSEST_POWER, FINEST = 0.24, 0.05  # steps in the logarithm of the power, at first and at last
STEPS = 20  # on the atoms of a half, under one power
NEAR_ONE = 1.5  # powers below which 1 is tried as well


class PowerTrial(NamedTuple):
    """A power, its atoms, and what they cost."""

    cost: float
    likelihood: FilteredLikelihood
    atoms: NDArray

    @property
    def power(self) -> float:
        """The power."""
        return self.likelihood.filter.parameter


def present_edges(likelihood: FilteredLikelihood, atoms: NDArray, targets: Targets) -> Booleans:
    """Return where atoms (K, E) have edges: weights that are not small for what they could be."""
    return atoms > PRESENT * likelihood.weight_scales(targets)


class Halves(NamedTuple):
    """Two halves of the samples: what atoms are fitted to, and what they are judged by."""

    fitted: tuple[Targets, Targets]  # pooled samples included
    judged: tuple[Targets, Targets]

    @classmethod
    def of(cls, likelihood: FilteredLikelihood, sums: Sequence[Sums]) -> Halves:
        """Return the halves of usage (C,) and statistics, each per sample of all."""
        first, second = (likelihood.targets(*each[::-1], pooled=False) for each in sums)
        if likelihood.pool is None:
            return cls((first, second), (first, second))
        share = likelihood.pool.share
        pooled = [add_own_pool(likelihood, targets, share) for targets in (first, second)]
        return cls((pooled[0], pooled[1]), (first, second))


def add_own_pool(likelihood: FilteredLikelihood, targets: Targets, share: float) -> Targets:
    """Return targets with ``share`` pooled samples added, whose moments are the mean of all."""
    pool = PooledSamples(targets.moments.sum(axis=0) / targets.usage.sum(), share)
    return replace(likelihood, pool=pool).add_pool(targets)


def search_power(
    likelihood: FilteredLikelihood,
    atoms: NDArray,
    judge: Judge,
    samples: float,
    *,
    most: float = POWERS[1],
    first_step: float = COARSEST_POWER,
) -> tuple[FilteredLikelihood, NDArray]:
    """Return the likelihood of the best power up to ``most``, and atoms (K, E) under it.

    The search begins at the power of ``likelihood`` and climbs by steps that get smaller, each from
    the atoms of the power before; the first is ``first_step`` in the logarithm of the power. A
    power costs ``log(samples) log(power)``, so that it is the least of those that explain signals
    about as well, and 1 unless another gains what the information criterion asks of a parameter.
    """
    tried: dict[float, PowerTrial] = {}

    def attempt(power: float, near: PowerTrial) -> PowerTrial:
        power = float(np.clip(power, POWERS[0], most))
        if power not in tried:
            other = replace(likelihood, filter=PowerFilter(power))
            cost, found = judge(other, near.atoms)
            cost += float(np.log(samples) * np.log(power))
            tried[power] = PowerTrial(cost if np.isfinite(cost) else np.inf, other, found)
        return tried[power]

    given = PowerTrial(np.inf, likelihood, atoms)
    best, step = attempt(likelihood.filter.parameter, given), first_step
    while step >= FINEST:
        around = [attempt(best.power * np.exp(sign * step), best) for sign in (-1, 1)]
        better = min(around, key=lambda one: one.cost)
        if better.cost < best.cost:
            best = better
        else:
            step /= 2
    first = attempt(POWERS[0], best) if best.power < NEAR_ONE else given
    worse = first.cost - best.cost <= np.log(samples)
    return (first if worse else best)[1:]


def judge_by_halves(halves: Halves, samples: float) -> Judge:
    """Return what judges a likelihood by how atoms of one half of the samples fit the other."""

    def judge(likelihood: FilteredLikelihood, atoms: NDArray) -> tuple[float, NDArray]:
        cost, found = 0.0, atoms
        for fitted, judged in zip(halves.fitted, halves.judged[::-1], strict=True):
            found = atoms * common_factor(likelihood, atoms, fitted)
            _, found = likelihood.minimise(found, fitted, STEPS)
            cost += samples * likelihood.loss(found, judged)
        return cost, found

    return judge


def common_factor(likelihood: FilteredLikelihood, atoms: NDArray, targets: Targets) -> float:
    """Return what to multiply all weights by so that energies are right on average.

    It is 1 where there is no energy to speak of: without edges, or where nothing varies.
    """
    eigenvalues, vectors = pattern_spectra(likelihood.activations, atoms)
    seen = np.arange(likelihood.dimension) >= likelihood.flat[:, None]
    variances = np.einsum("cin,cin->cn", vectors, targets.moments @ vectors)
    values = np.exp(likelihood.filter.log_values(eigenvalues))
    energy = float((np.maximum(variances, 0) * values * seen).sum())
    if energy <= 0:
        return 1.0
    return float((targets.usage[:, None] * seen).sum() / energy) ** (
        1 / likelihood.filter.parameter
    )
