"""Runs of EM with a filter and tails, and what else the stages of learning ask of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import ExpectedStatistics
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_loss import Targets
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.penalty import ConcavePenalty
from graphdict.core.marginal.power_search import Halves
from graphdict.core.marginal.tails import best_tails
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.learn import RULE_OUT_ROUNDS, rule_out_edges
from graphdict.engine.marginal.passes import e_step, e_step_by_halves, tail_densities
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.series import memory_of
from graphdict.engine.marginal.settings import Settings

NO_PENALTY = ConcavePenalty(0.0)
COLDEST, FILTERED_ANNEALING_STEPS = 0.1, 20  # inverse temperatures of annealed runs
HALVES_SEGMENTS = 20  # of time, every second of which is in the other half
SILENT_SHARE = 0.5  # exact silence is no accident
ROUGHER = 5  # than the last tolerance, that of EM between choices


class InterruptedFitError(Exception):
    """The user ended the fit; ``fit`` is as far as it came."""

    def __init__(self, fit: Fit):
        super().__init__("interrupted")
        self.fit = fit


@dataclass(frozen=True)
class FilteredEM:
    """EM on some signals, and sums over their samples that the stages of learning need."""

    data: OpenSignals
    noise: float
    settings: Settings

    def on(self, data: OpenSignals) -> FilteredEM:
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
        return np.geomspace(COLDEST / longest, 1, FILTERED_ANNEALING_STEPS, endpoint=False).tolist()

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
        return filtered_likelihood(dictionary).targets(averages, usage), expected

    def halves(self, dictionary: PatternDictionary) -> Halves:
        """Return alternate segments of time as two halves of the samples."""
        sums = e_step_by_halves(self.data, dictionary, HALVES_SEGMENTS)
        return Halves.of(filtered_likelihood(dictionary), sums)

    def renew_tails(self, dictionary: PatternDictionary) -> PatternDictionary:
        """Return the dictionary with the best tails for its responsibilities."""
        likelihood = filtered_likelihood(dictionary)
        if not likelihood.learns_tails:
            return dictionary
        tails = best_tails(tail_densities(self.data, dictionary))
        return replace(dictionary, likelihood=replace(likelihood, tails=tails))

    def refine_filter(self, dictionary: PatternDictionary) -> PatternDictionary:
        """Return the dictionary with the filter that its moments ask for, if it was named only."""
        likelihood = filtered_likelihood(dictionary)
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


def filtered_likelihood(dictionary: PatternDictionary) -> FilteredLikelihood:
    """Return the likelihood of a dictionary, known to be filtered."""
    assert isinstance(dictionary.likelihood, FilteredLikelihood)
    return dictionary.likelihood
