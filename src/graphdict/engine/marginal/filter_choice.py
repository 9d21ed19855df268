"""Which filter: a power by held-out segments of time, or an exponential where no power suffices.

How much atoms have in common (the pool) is chosen on the way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filters import POWERS, ExponentialFilter
from graphdict.core.marginal.power_search import COARSEST_POWER, search_power
from graphdict.engine.marginal.annealed_search import ATOM_STEPS
from graphdict.engine.marginal.filtered_em import FilteredEM, filtered_likelihood
from graphdict.engine.marginal.filtered_starts import SETTLED, fit_single_graph
from graphdict.engine.marginal.held_out import choose_pool, judge_by_evidence
from graphdict.engine.marginal.model_choice import criterion

ROUNDS, POOL_ROUNDS, ITERATIONS = 3, 1, 60
EXPONENTIAL_RATES = 0.25, 0.5, 1.0  # to try, for each node: with more, nearly all are joined
EXPONENTIAL_GAIN = 0.01  # nats for each value that the first of them has to gain
NEARLY = 0.9  # of the largest power: as large as it gets


def choose_filter(
    em: FilteredEM,
    dictionary: PatternDictionary,
    single_graph: PatternDictionary,
    rng: np.random.RandomState,
) -> PatternDictionary:
    """Return the dictionary after rounds of choosing the power and the pool, and of EM.

    It is ``single_graph`` for all samples where atoms had everything in common.
    """
    callback = em.settings.callback
    iterations = min(ITERATIONS, em.settings.max_iter)
    for number in range(ROUNDS):
        before = filtered_likelihood(dictionary)
        dictionary = em.renew_tails(em.rule_out(dictionary, callback=callback))
        if number < POOL_ROUNDS:
            dictionary = _pooled(em, dictionary, single_graph, rng)
            if dictionary is single_graph:
                return single_graph
        if em.settings.filter is None:
            step = COARSEST_POWER if number == 0 else COARSEST_POWER / 2
            dictionary = _choose_power(em, dictionary, step)
        fit = em.run(dictionary, iterations, ATOM_STEPS, callback=callback, tol=em.rough)
        dictionary = fit.dictionary
        likelihood = filtered_likelihood(dictionary)
        same = abs(likelihood.filter.parameter / before.filter.parameter - 1) < SETTLED
        pools = before.pool, likelihood.pool
        if same and (None in pools or pools[0].share == pools[1].share):  # type: ignore[union-attr]
            break
    refined = em.refine_filter(dictionary)
    if refined is dictionary:
        return dictionary
    return em.run(refined, iterations, ATOM_STEPS, callback=callback).dictionary


def _pooled(
    em: FilteredEM,
    dictionary: PatternDictionary,
    single_graph: PatternDictionary,
    rng: np.random.RandomState,
) -> PatternDictionary:
    """Return the dictionary with the number of pooled samples that is given, or else chosen.

    Where windows of one half say nothing of the states of the other, and edges of several atoms do
    not pay either, it is ``single_graph``.
    """
    likelihood, given = filtered_likelihood(dictionary), em.settings.pooled
    if given is None or likelihood.pool is None:
        dictionary, several = choose_pool(em, dictionary, single_graph, rng)
        if several:
            return dictionary
        fit = em.run(dictionary, ITERATIONS, ATOM_STEPS, callback=em.settings.callback)
        pays = criterion(em, fit.dictionary) < criterion(em, single_graph)
        return fit.dictionary if pays else single_graph
    pool = likelihood.pool._replace(share=given / em.data.total)
    return replace(dictionary, likelihood=replace(likelihood, pool=pool))


def _choose_power(
    em: FilteredEM, dictionary: PatternDictionary, first_step: float
) -> PatternDictionary:
    """Return the dictionary with the power that explains held-out segments of time best.

    The search begins with steps of ``first_step`` in the logarithm of the power.
    """
    judge, samples = judge_by_evidence(em, dictionary), em.effective_samples
    given = filtered_likelihood(dictionary), dictionary.atoms, judge, samples
    likelihood, atoms = search_power(*given, first_step=first_step)
    return replace(dictionary, likelihood=likelihood, atoms=atoms)


def try_exponential(
    em: FilteredEM, dictionary: PatternDictionary, single_graph: PatternDictionary
) -> PatternDictionary:
    """Return the dictionary refitted with an exponential filter, where that explains clearly more.

    It is tried where the power is about as large as it gets. Whether, and which rate it is,
    ``single_graph`` says: a medium smooths all graphs alike, and the edges of several would each
    have to pay for it. The least rate has to lower the information criterion by at least
    ``EXPONENTIAL_GAIN``, and so has the chosen one for the dictionary.
    """
    likelihood = filtered_likelihood(dictionary)
    if em.settings.filter is not None or likelihood.filter.parameter < NEARLY * POWERS[1]:
        return dictionary
    alone = len(dictionary.atoms) == 1
    one = dictionary if alone else single_graph
    unit, tails = max(em.data.nodes, 8) * em.variance, filtered_likelihood(single_graph).tails
    wanted = EXPONENTIAL_GAIN * 2 * em.effective_samples * likelihood.dimension
    before = criterion(em, one)
    best, chosen, lowest = one, one, before - wanted
    for rate in EXPONENTIAL_RATES:
        single = fit_single_graph(em, ExponentialFilter(rate * unit), tails)
        other = _under_filter_of(em, single, one)
        found = criterion(em, other)
        if found >= lowest:
            break
        best, chosen, lowest = other, single, found
    if alone or best is one:
        return best if alone else dictionary
    other = _under_filter_of(em, chosen, dictionary)
    return other if criterion(em, dictionary) - criterion(em, other) > wanted else dictionary


def _under_filter_of(
    em: FilteredEM, single: PatternDictionary, dictionary: PatternDictionary
) -> PatternDictionary:
    """Return the same states under the filter of one graph, with whose weights atoms begin."""
    likelihood = replace(filtered_likelihood(dictionary), filter=filtered_likelihood(single).filter)
    most = float(likelihood.activations.sum(axis=1).max())
    atoms = np.where(dictionary.atoms > 0, single.atoms / most**0.5, 0)
    targets, _ = em.expect(dictionary)
    _, atoms = likelihood.minimise(atoms, targets, 60)
    start = replace(dictionary, likelihood=likelihood, atoms=atoms)
    return em.run(start, 30, 8, callback=em.settings.callback, tol=em.rough).dictionary
