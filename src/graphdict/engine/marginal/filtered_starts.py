"""Where learning with a filter and tails begins: one graph for all samples, and random starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from graphdict.core import graphs
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import ExpectedStatistics
from graphdict.core.marginal.filter_search import (
    COARSEST_POWER,
    PRESENT,
    Halves,
    judge_by_halves,
    search_power,
)
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.filtered_loss import Targets
from graphdict.core.marginal.filters import GraphFilter, PowerFilter
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.patterns import pattern_sizes, uniform_probabilities
from graphdict.core.marginal.penalty import ConcavePenalty
from graphdict.core.marginal.tails import best_tails
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.learn import RULE_OUT_ROUNDS, STAY, rule_out_edges
from graphdict.engine.marginal.passes import (
    e_step,
    e_step_by_halves,
    random_statistics,
    tail_densities,
)
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.series import memory_of
from graphdict.engine.marginal.settings import Settings

NO_PENALTY = ConcavePenalty(0.0)
FIRST_POWER, FIRST_TAILS = 2.0, 10.0  # where learning begins
ONE_GRAPH_ROUNDS, ONE_GRAPH_STEPS = 3, 40
COLDEST, ANNEALING_STEPS = 0.1, 20  # inverse temperatures of annealed runs
START_STEPS = 15  # on atoms of random memberships
HALVES_SEGMENTS = 20  # of time, every second of which is in the other half
SILENT_SHARE = 0.5  # exact silence is no accident
SETTLED = 0.02  # relative change of a power that is none
ROUGHER = 5  # than the last tolerance, that of EM between choices


class InterruptedFitError(Exception):
    """The user ended the fit; ``fit`` is as far as it came."""

    def __init__(self, fit: Fit):
        super().__init__("interrupted")
        self.fit = fit


@dataclass(frozen=True)
class FilteredRuns:
    """Runs of EM over some signals, and what else stages of learning ask of the samples."""

    data: OpenSignals
    noise: float
    settings: Settings

    def on(self, data: OpenSignals) -> FilteredRuns:
        """Return the same for other signals."""
        return self if data is self.data else replace(self, data=data)

    @cached_property
    def effective_samples(self) -> float:
        """Number of independent samples that a series with this autocorrelation is worth."""
        return self.data.total / memory_of(self.data)

    @property
    def variance(self) -> float:
        """Mean square of the signals."""
        return self.noise / NOISE

    @property
    def temperatures(self) -> list[float]:
        """Inverse temperatures of an annealed run; lower ones where windows have many samples."""
        longest = float(self.data.counts.max())
        return np.geomspace(COLDEST / longest, 1, ANNEALING_STEPS, endpoint=False).tolist()

    @property
    def rough(self) -> float:
        """Tolerance of EM between choices."""
        return ROUGHER * self.settings.tol

    def run(
        self,
        dictionary: PatternDictionary,
        iterations: int,
        steps: int,
        annealing: Sequence[float] = (),
        **options: Any,
    ) -> Fit:
        """Run EM with ``steps`` steps on the atoms in each iteration; raise if it is interrupted.

        The objective is a sum over dimensions and may be about zero: it has settled where it does
        by dimension.
        """
        fit = self.settings.run(
            self.data, dictionary, NO_PENALTY, max_iter=iterations, atom_steps=steps,
            annealing=annealing, least=self.data.nodes - 1, **options,
        )  # fmt: skip
        if fit.interrupted:
            raise InterruptedFitError(fit)
        return fit

    def expect(self, dictionary: PatternDictionary) -> tuple[Targets, ExpectedStatistics]:
        """Return what atoms are to be fitted to, pooled samples included, and the E-step."""
        expected = e_step(self.data, dictionary)
        averages = tuple(sums / expected.samples for sums in expected.statistics)
        usage = expected.usage / expected.samples
        return filtered(dictionary).targets(averages, usage), expected

    def halves(self, dictionary: PatternDictionary) -> Halves:
        """Return alternate segments of time as two halves of the samples."""
        sums = e_step_by_halves(self.data, dictionary, HALVES_SEGMENTS)
        return Halves.of(filtered(dictionary), sums)

    def renew_tails(self, dictionary: PatternDictionary) -> PatternDictionary:
        """Return the dictionary with the best tails for its responsibilities."""
        likelihood = filtered(dictionary)
        if not likelihood.learns_tails:
            return dictionary
        tails = best_tails(tail_densities(self.data, dictionary))
        return replace(dictionary, likelihood=replace(likelihood, tails=tails))

    def refine_filter(self, dictionary: PatternDictionary) -> PatternDictionary:
        """Return the dictionary with the filter that its moments ask for, if it was named only."""
        likelihood = filtered(dictionary)
        if not likelihood.filter.by_name:
            return dictionary
        targets, _ = self.expect(dictionary)
        refined, atoms = likelihood.filter.refine(*targets, dictionary.atoms)
        return replace(dictionary, likelihood=replace(likelihood, filter=refined), atoms=atoms)

    def rule_out(
        self, dictionary: PatternDictionary, iterations: int = 30, **options: Any
    ) -> PatternDictionary:
        """Return the dictionary without edges that its samples rule out."""
        for _ in range(RULE_OUT_ROUNDS):
            less = rule_out_edges(self.data, dictionary, SILENT_SHARE)
            if less is dictionary:
                break
            dictionary = self.run(less, iterations, 6, **options).dictionary
        return dictionary


def filtered(dictionary: PatternDictionary) -> FilteredLikelihood:
    """Return the likelihood of a dictionary, known to be filtered."""
    assert isinstance(dictionary.likelihood, FilteredLikelihood)
    return dictionary.likelihood


def one_graph(
    runs: FilteredRuns, filter_: GraphFilter | None = None, tails: float | None = None
) -> PatternDictionary:
    """Return a dictionary of one graph for all samples, with its power and its tails.

    Parameters
    ----------
    runs : FilteredRuns
    filter_ : GraphFilter, optional
        One to keep; else the power is that of the settings, or learned by counting edges.
    tails : float, optional
        To begin with, where they are learned.
    """
    settings = runs.settings
    learns_filter = filter_ is None and settings.filter is None
    chosen = filter_ or settings.filter or PowerFilter(FIRST_POWER)
    dictionary = _first_graph(runs, chosen)
    likelihood = replace(
        filtered(dictionary), learns_tails=settings.tails is None,
        tails=(tails or FIRST_TAILS) if settings.tails is None else settings.tails,
    )  # fmt: skip
    dictionary = replace(dictionary, likelihood=likelihood)
    if filter_ is not None:
        return runs.run(dictionary, 5, 15, tol=runs.rough).dictionary
    dictionary = runs.renew_tails(runs.run(dictionary, 10, 15, tol=runs.rough).dictionary)
    for number in range(ONE_GRAPH_ROUNDS):
        dictionary = runs.rule_out(dictionary)
        if not learns_filter:
            break
        before = filtered(dictionary).filter.parameter
        samples = runs.effective_samples
        judge = judge_by_halves(runs.halves(dictionary), samples)
        step = COARSEST_POWER if number == 0 else COARSEST_POWER / 2
        given = filtered(dictionary), dictionary.atoms, judge, samples
        found = search_power(*given, first_step=step)
        dictionary = replace(dictionary, likelihood=found[0], atoms=found[1])
        dictionary = runs.renew_tails(runs.run(dictionary, 10, 10, tol=runs.rough).dictionary)
        if abs(filtered(dictionary).filter.parameter - before) < SETTLED * before:
            break
    return dictionary


def _first_graph(runs: FilteredRuns, filter_: GraphFilter) -> PatternDictionary:
    """Return the Gaussian fit of one graph to the moments of all samples."""
    nodes = runs.data.nodes
    atoms = np.full((1, graphs.n_edges(nodes)), 1 / (nodes * runs.variance))
    patterns = np.ones((1, 1), dtype=bool)
    likelihood = FilteredLikelihood.of(patterns, atoms, runs.noise, filter=filter_)
    dictionary = PatternDictionary(likelihood, atoms, np.ones(1))
    targets, _ = runs.expect(dictionary)
    moments = targets.moments.sum(axis=0) / targets.usage.sum()
    likelihood = replace(likelihood, filter=filter_.begin(moments))
    dictionary = replace(dictionary, likelihood=likelihood)
    scales = likelihood.weight_scales(targets)

    def loss(log_factor: float) -> float:
        return likelihood.loss(scales * np.exp(log_factor), targets)

    factor = np.exp(minimize_scalar(loss, bounds=(-10, 10), method="bounded").x)
    _, atoms = likelihood.minimise(scales * factor, targets, ONE_GRAPH_STEPS)
    return replace(dictionary, atoms=atoms)


def random_filtered_start(
    runs: FilteredRuns, one: PatternDictionary, patterns: NDArray, rng: np.random.RandomState
) -> PatternDictionary:
    """Return atoms fitted to random soft memberships of the windows, from the one graph's weights.

    Where patterns (C, K) are single atoms, each has the pooled moments of all samples beside its
    own, as many as dimensions.
    """
    count, likelihood = patterns.shape[1], filtered(one)
    targets, _ = runs.expect(one)
    whole = np.maximum(one.atoms, PRESENT * likelihood.weight_scales(targets))
    atoms = np.repeat(whole, count, axis=0)
    likelihood = likelihood.for_atoms(atoms, np.eye(count, dtype=bool))
    copies = PatternDictionary(likelihood, atoms, np.full(count, 1 / count))
    usage, statistics = random_statistics(runs.data, copies, rng)
    targets = likelihood.targets(statistics, usage)
    _, atoms = likelihood.minimise(atoms, targets, START_STEPS)
    probabilities = uniform_probabilities(patterns)
    atoms = atoms / float(probabilities @ patterns.sum(axis=1))
    pool = None
    if count > 1 and pattern_sizes(patterns).max() == 1:
        pool = PooledSamples(targets.moments.sum(axis=0), likelihood.dimension / runs.data.total)
    likelihood = replace(likelihood.for_atoms(atoms, patterns), pool=pool)
    stay = STAY if runs.settings.prior == "markov" else None
    return PatternDictionary(likelihood, atoms, probabilities, stay)
