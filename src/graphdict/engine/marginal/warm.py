"""Short fits that begin at another one, for the score of samples that are held out.

There is no search among starts, and what a fit chooses by held-out samples (the filter, how much
atoms have in common) is that of the fit to begin with. What atoms owe to samples that are not among
these is left by a few annealed iterations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.penalty import shrinkage_for
from graphdict.core.marginal.support import prune_edges
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_em import (
    FilteredEM,
    InterruptedFitError,
    filtered_likelihood,
)
from graphdict.engine.marginal.learn import rule_out_edges, sparsity_penalty
from graphdict.engine.marginal.learn_signed import steadying_moments
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.settings import Settings, annealing_schedule

ANNEALING = annealing_schedule(5, 0.9)  # a higher temperature merges states that differ a little
STEPS = 20  # of EM, annealed ones included
SPARSE_STEPS, LAST_STEPS = 10, 5  # with the penalty on edges, and without those that it takes
ATOM_STEPS, ONE_GRAPH_STEPS = 4, 15  # on atoms under a filter, in an iteration


@dataclass(frozen=True)
class WarmStart:
    """The dictionary at which a short fit begins.

    Attributes
    ----------
    dictionary : PatternDictionary
    pooled : float
        Number of pooled samples that every atom has beside its own, under a filter.
    """

    dictionary: PatternDictionary
    pooled: float = 0.0


def learn_from(start: WarmStart, data: OpenSignals, noise: float, settings: Settings) -> Fit:
    """Return a fit to the data that begins at ``start``, under the likelihood of that."""
    if isinstance(start.dictionary.likelihood, FilteredLikelihood):
        return _learn_filtered(start, data, noise, settings)
    return _learn_plain(start.dictionary, data, noise, settings)


def _learn_plain(
    dictionary: PatternDictionary, data: OpenSignals, noise: float, settings: Settings
) -> Fit:
    alpha = settings.with_alpha(data, len(dictionary.atoms)).alpha_w or 0.0
    shrink = shrinkage_for(dictionary.patterns, alpha, noise / NOISE)
    annealing = ANNEALING if len(dictionary.patterns) > 1 else []
    fit = settings.run(data, dictionary, shrink, annealing=annealing, max_iter=STEPS)
    if fit.interrupted:
        return fit
    dictionary = rule_out_edges(data, fit.dictionary)
    if settings.sparsity == 0:
        return (
            fit
            if dictionary is fit.dictionary
            else settings.run(data, dictionary, shrink, max_iter=LAST_STEPS)
        )
    penalty = sparsity_penalty(data, fit, shrink, settings.sparsity)
    fit = settings.run(data, dictionary, penalty, max_iter=SPARSE_STEPS)
    if fit.interrupted:
        return fit
    dictionary = prune_edges(fit.dictionary, fit.dictionary.atoms > penalty.width)
    return settings.run(data, dictionary, penalty, max_iter=LAST_STEPS)


def _learn_filtered(start: WarmStart, data: OpenSignals, noise: float, settings: Settings) -> Fit:
    em = FilteredEM(data, noise, settings)
    try:
        dictionary = _with_pool(em, start)
        if len(dictionary.patterns) == 1:
            return em.run(dictionary, LAST_STEPS, ONE_GRAPH_STEPS)
        dictionary = em.run(dictionary, STEPS, ATOM_STEPS, ANNEALING).dictionary
        return em.run(rule_out_edges(data, dictionary), LAST_STEPS, ATOM_STEPS)
    except InterruptedFitError as stop:
        return stop.fit


def _with_pool(em: FilteredEM, start: WarmStart) -> PatternDictionary:
    """Return the start with the pooled samples that the given fit had."""
    likelihood = filtered_likelihood(start.dictionary)
    if start.pooled == 0 or not likelihood.alone.all():
        return start.dictionary
    if len(start.dictionary.atoms) == 1:  # of either sign, steadied by one that has no negative
        moments, _ = steadying_moments(em)
    else:
        moments = em.expect(start.dictionary)[0].moments.sum(axis=0)
    pool = PooledSamples(moments, start.pooled / em.data.total)
    return replace(start.dictionary, likelihood=replace(likelihood, pool=pool))
