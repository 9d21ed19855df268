"""From signals to a dictionary with a filter and tails, both learned where they are not given.

1. One graph for all samples, its power by cross-validation, its tails.
2. Annealed runs of EM from random starts, the better half going on.
3. In turn: the power and how much atoms have in common, by held-out segments, and EM. States that
   last over windows may have everything in common: then one graph goes on.
4. Where the power would be larger than allowed: an exponential filter, if it explains clearly more.
5. Edges that do not pay are taken as long as held-out segments are explained as well; where some
   went, the power is learned by likelihood on the support that is left.
6. Tails that do not pay are Gaussian.

The search of :mod:`graphdict.engine.marginal.learn`, made for the paper's model, comes first: where
neither tails nor another power pay on what it finds, or all of the above explains less, that is the
fit (:mod:`graphdict.engine.marginal.model_choice`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.elimination import unprofitable_edges
from graphdict.core.marginal.filters import IDENTITY, POWERS, PowerFilter
from graphdict.core.marginal.power_search import present_edges
from graphdict.core.marginal.support import prune_edges
from graphdict.core.solvers.base import warn_interrupted
from graphdict.engine.marginal.annealed_search import SETTLING_STEPS, complete, search_states
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filter_choice import NEARLY, choose_filter, try_exponential
from graphdict.engine.marginal.filtered_em import (
    FILTERED_ANNEALING_STEPS,
    FilteredEM,
    InterruptedFitError,
    filtered_likelihood,
)
from graphdict.engine.marginal.filtered_starts import fit_single_graph
from graphdict.engine.marginal.held_out import held_out_evidence, without_unprofitable
from graphdict.engine.marginal.learn import STAY
from graphdict.engine.marginal.model_choice import (
    PlainFits,
    explains_as_well,
    from_plain_states,
    suffices,
    tails_pay,
    with_states,
)
from graphdict.engine.marginal.passes import e_step
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.settings import Settings
from graphdict.engine.marginal.subset import SubsetOpener
from graphdict.engine.tasks import expect

STEPS_AFTER_SEARCH = 150  # of EM after the search, all stages together
PROBABLY = 1.5  # power of one graph below which the paper's model is probable
FEW_STARTS, BY_FAR = 2, 4.0  # of a short plain search; standard errors that rule out others
TIMES = 4  # the samples that a search needs, to choose edges and the model
LAST_STEPS = 15  # on the atoms in an iteration over all samples, where those are many
ELIMINATION_ROUNDS = 3
LITTLE = 2.5e-3  # nats for each value, which a graph of fewer edges is worth
NEVER = 1e-300  # probability of what does not occur, whose logarithm is a number
MOST_FILTERED = 256  # patterns for which spectra are found in good time


def learn_filtered(
    data: OpenSignals,
    patterns: NDArray,
    settings: Settings,
    *,
    noise: float,
    rng: np.random.RandomState,
    plain: PlainFits,
    choose: Callable[[PatternDictionary], Fit | None] | None = None,
    open_subset: SubsetOpener | None = None,
) -> Fit:
    """Return the fit: a plain one where power and tails are 1 and Gaussian.

    Parameters
    ----------
    data : OpenSignals
    patterns : array (C, K)
    settings : Settings
    noise : float
        Variance granted where a graph allows none.
    rng : RandomState
    plain : PlainFits
        Fits with a power of 1 and Gaussian tails.
    choose : callable, optional
        Given one graph for all samples, returns a short fit with the patterns to use, or None.
    open_subset : callable, optional
        Opens some of the signals, as many as a search for patterns needs or some times as many; all
        by default. Edges and the model are chosen by several times as many as the search has, and
        the last run takes all.
    """
    em = FilteredEM(data, noise, settings)
    open_subset = open_subset or (lambda *_: nullcontext(data))
    try:
        with open_subset(np.ones((1, 1), dtype=bool), 1) as search_data:
            single_graph = fit_single_graph(em.on(search_data))
        plain_candidate = _plain_candidate(plain, settings, single_graph)
        if plain_candidate is not None:
            if plain_candidate.interrupted:
                return plain_candidate
            with open_subset(plain_candidate.dictionary.patterns, 1) as search_data:
                if suffices(em.on(search_data), plain_candidate.dictionary, single_graph):
                    return plain.fit()
        steps = FILTERED_ANNEALING_STEPS + SETTLING_STEPS
        expect(settings.n_init * steps // 2 + STEPS_AFTER_SEARCH)
        chosen = None if choose is None else choose(single_graph)
        if chosen is not None:
            complete([chosen])
            patterns = chosen.dictionary.patterns
        with open_subset(patterns, 1) as search_data:
            begin = _plain_states(em.on(search_data), plain_candidate, single_graph)
            dictionary = _with_filter(
                em.on(search_data), single_graph, patterns, rng, (chosen, begin)
            )
        with open_subset(patterns, TIMES) as choice_data:
            choice_runs = em.on(choice_data)
            times = choice_data.total / search_data.total
            fit = _with_edges(choice_runs, _for_more_samples(dictionary, times))
            kept_all_atoms = len(fit.dictionary.atoms) == patterns.shape[1]
            candidate = plain_candidate if kept_all_atoms else None
            if candidate is not None and _is_plain(
                choice_runs, candidate, plain, fit, single_graph
            ):
                return plain.fit()
        if choice_data is not data:
            dictionary = _for_more_samples(fit.dictionary, data.total / choice_data.total)
            dictionary = em.rule_out(dictionary, callback=settings.callback)
            fit = em.run(dictionary, settings.max_iter, LAST_STEPS, callback=settings.callback)
    except InterruptedFitError as stop:
        fit = stop.fit
    return with_all_atoms(fit, patterns, STAY if settings.prior == "markov" else None)


def _with_filter(
    em: FilteredEM,
    single_graph: PatternDictionary,
    patterns: NDArray,
    rng: np.random.RandomState,
    begun: tuple[Fit | None, PatternDictionary | None],
) -> PatternDictionary:
    """Return the dictionary of the best annealed run, with its filter: steps 2 to 4.

    Two runs may have ``begun``: that which chose patterns, and one from plain states.
    """
    dictionary = single_graph
    if patterns.shape[1] > 1:
        found = search_states(em, single_graph, patterns, rng, *begun)
        try:
            dictionary = choose_filter(em, found.dictionary, single_graph, rng)
        except KeyboardInterrupt:  # in between two runs of EM
            warn_interrupted(len(found.history.objective))
            raise InterruptedFitError(replace(found, interrupted=True)) from None
    return try_exponential(em, dictionary, single_graph)


def _with_edges(em: FilteredEM, dictionary: PatternDictionary) -> Fit:
    """Return the fit on the edges that pay, with the tails that do: steps 5 and 6."""
    dictionary = em.rule_out(dictionary, callback=em.settings.callback)
    return _finish(em, *_eliminate(em, dictionary))


def _plain_candidate(
    plain: PlainFits, settings: Settings, single_graph: PatternDictionary
) -> Fit | None:
    """Return a plain fit, where a power of 1 and Gaussian tails are in reach.

    It is the whole search where one graph has about that power, and a short one otherwise. Where
    graphs fall apart, one for all samples says nothing of the power of each.
    """
    given = settings.filter in (None, IDENTITY) and settings.tails in (None, np.inf)
    power = filtered_likelihood(single_graph).filter.parameter
    if not given or (power >= NEARLY * POWERS[1] and not settings.falls_apart):
        return None
    if power < PROBABLY or settings.falls_apart:
        return plain.fit()
    return plain.short_fit(min(FEW_STARTS, settings.n_init))


def _plain_states(
    em: FilteredEM, plain_candidate: Fit | None, single_graph: PatternDictionary
) -> PatternDictionary | None:
    """Return a start in the states of a plain fit, where silent nodes tell these apart; else None.

    On graphs that fall apart the search for the paper's model rules edges out as it goes, without
    which a silent node has edges of any weight.
    """
    if plain_candidate is None or not em.settings.falls_apart:
        return None
    if len(plain_candidate.dictionary.patterns) > MOST_FILTERED:
        return None
    return from_plain_states(em, plain_candidate.dictionary, single_graph)


def _is_plain(
    em: FilteredEM,
    plain_candidate: Fit,
    plain: PlainFits,
    fit: Fit,
    single_graph: PatternDictionary,
) -> bool:
    """Return whether the plain fit explains signals as well as the other one.

    A short search may have missed better plain fits. So the states of the other fit are tried as
    well; and unless that beats both by far, the whole search decides.
    """
    if filtered_likelihood(single_graph).filter.parameter >= PROBABLY:
        tried = [plain_candidate.dictionary, with_states(em, fit.dictionary)]
        if not explains_as_well(em, tried, fit.dictionary, BY_FAR):
            return False
        plain_candidate = plain.fit()
        if plain_candidate.interrupted or suffices(em, plain_candidate.dictionary, single_graph):
            return True
    return explains_as_well(em, [plain_candidate.dictionary], fit.dictionary)


def _for_more_samples(dictionary: PatternDictionary, times: float) -> PatternDictionary:
    """Return the dictionary for ``times`` the samples: the number of pooled ones stays."""
    likelihood = filtered_likelihood(dictionary)
    if likelihood.pool is None:
        return dictionary
    pool = likelihood.pool._replace(share=likelihood.pool.share / times)
    return replace(dictionary, likelihood=replace(likelihood, pool=pool))


def _eliminate(em: FilteredEM, dictionary: PatternDictionary) -> tuple[PatternDictionary, bool]:
    """Return the dictionary without edges that do not pay, and whether all of these could go.

    Half of them go in each round, until held-out segments of time would be explained less well: by
    more than a standard error, and by more than a little.
    """
    settings = em.settings
    if settings.sparsity == 0:
        return dictionary, False
    targets, expected = em.expect(dictionary)
    present = present_edges(filtered_likelihood(dictionary), dictionary.atoms, targets)
    dictionary = prune_edges(dictionary, present)
    halves = em.halves(dictionary)
    best = judged = held_out_evidence(em, dictionary, halves)
    for number in range(ELIMINATION_ROUNDS):
        # Which edges go is chosen in either half by itself: edges that both together have chosen
        # would look worse than they are.
        less = without_unprofitable(em, dictionary, halves, judged.atoms)
        judged = held_out_evidence(em, dictionary, halves, less)
        loss = (best.total - judged.total) / (em.data.total * em.data.nodes)
        if best.is_clearly_better_than(judged) and loss > LITTLE:
            return dictionary, False
        best = max(best, judged, key=lambda each: each.total)
        if number:
            expected = e_step(em.data, dictionary, statistics=False)
        bad = unprofitable_edges(
            filtered_likelihood(dictionary), dictionary.atoms, expected.usage / expected.samples,
            em.effective_samples, settings.sparsity, last=number == ELIMINATION_ROUNDS - 1,
        )  # fmt: skip
        before = int((dictionary.atoms > 0).sum())
        dictionary = prune_edges(dictionary, (dictionary.atoms > 0) & ~bad)
        if int((dictionary.atoms > 0).sum()) == before:
            break
        dictionary = em.run(dictionary, 6, 8, callback=settings.callback).dictionary
    return dictionary, True


def _finish(em: FilteredEM, dictionary: PatternDictionary, sparse: bool) -> Fit:
    """Return the last run, on the support that is left; Gaussian where tails do not pay.

    A ``sparse`` graph of fixed support cannot dissolve: there a power is now learned by likelihood.
    """
    settings = em.settings
    likelihood = filtered_likelihood(dictionary)
    if not tails_pay(em, dictionary):
        likelihood = replace(likelihood, tails=np.inf, learns_tails=False)
    chosen = likelihood.filter
    if chosen.by_name:
        learns = settings.sparsity > 0
    else:
        learns = isinstance(chosen, PowerFilter) and settings.filter is None and sparse
    likelihood = replace(likelihood, learns_filter=learns)
    dictionary = replace(dictionary, likelihood=likelihood)
    return em.run(dictionary, settings.max_iter, 8, callback=settings.callback)


def with_all_atoms(fit: Fit, patterns: NDArray, stay: float | None = None) -> Fit:
    """Return the fit with K atoms for ``patterns`` (C, K), all copies where it has one graph.

    The first of them is then active in all samples, and the others never are. ``stay`` is the
    probability to stay in a chain, for which one graph has none.
    """
    count, dictionary = patterns.shape[1], fit.dictionary
    if len(dictionary.atoms) == count:
        return fit
    atoms = np.repeat(dictionary.atoms, count, axis=0)
    likelihood = dictionary.likelihood.for_atoms(atoms, patterns)
    first = np.eye(1, count)
    probabilities = np.full(len(patterns), NEVER)
    probabilities[np.abs(likelihood.patterns - first).sum(axis=1).argmin()] = 1
    copies = PatternDictionary(likelihood, atoms, probabilities, dictionary.stay or stay)
    return replace(fit, dictionary=copies, usage=fit.usage.sum() * first[0])
