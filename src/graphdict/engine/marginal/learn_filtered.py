"""From signals to a dictionary with a filter and tails, both learned where they are not given.

1. One graph for all samples, its power by cross-validation, its tails.
2. Annealed runs of EM from random starts, the better half going on.
3. In turn: the power and how much atoms have in common, by held-out blocks, and EM.
4. Where the power would be larger than allowed: the heat filter, if it explains clearly more.
5. Edges that do not pay are taken as long as held-out blocks are explained as well; where some
   went, the power is learned by likelihood on the support that is left.
6. Tails that do not pay are Gaussian.

The search of :mod:`graphdict.engine.marginal.learn`, made for the paper's model, comes first: where
neither tails nor another power pay on what it finds, or all of the above explains less, that is the
fit (:mod:`graphdict.engine.marginal.model_choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.elimination import unprofitable_edges
from graphdict.core.marginal.filter_search import (
    COARSEST_POWER,
    present_edges,
    search_power,
)
from graphdict.core.marginal.filtered import POWERS, PooledSamples
from graphdict.core.marginal.filters import PAPERS, HeatFilter, HeatKernel, PowerFilter
from graphdict.core.marginal.support import prune_edges
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_starts import (
    NO_PENALTY,
    SETTLED,
    FilteredRuns,
    InterruptedFitError,
    filtered,
    one_graph,
    random_filtered_start,
)
from graphdict.engine.marginal.held_out import (
    choose_pool,
    held_out_evidence,
    judge_by_evidence,
    without_unprofitable,
)
from graphdict.engine.marginal.learn import (
    Settings,
    Trials,
    restart_idle_atoms,
)
from graphdict.engine.marginal.model_choice import (
    PlainFits,
    criterion,
    explains_as_well,
    suffices,
    tails_pay,
    with_states,
)
from graphdict.engine.marginal.passes import e_step
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.subset import OpenSome
from graphdict.engine.tasks import expect

__all__ = ["MOST_FILTERED", "anneal_filtered", "best_of_starts", "copies_of", "learn_filtered"]

COLDEST, ANNEALING_STEPS, TRIAL_STEPS = 0.1, 20, 6
USUAL_STEPS = 150  # of EM after the search, all stages together
ATOM_STEPS = 4  # of projected L-BFGS in an iteration of EM
ROUNDS, POOL_ROUNDS, ITERATIONS = 3, 1, 60
HEAT_RATES = 0.25, 0.5, 1.0  # to try, for each node: with more, nearly all pairs are joined
HEAT_GAIN = 0.01  # nats for each value that the first of them has to gain
NEARLY = 0.9  # of the largest power: as large as it gets
PROBABLY = 1.5  # power of one graph below which the paper's model is probable
FEW_STARTS, BY_FAR = 2, 4.0  # of a short plain search; standard errors that rule out others
TIMES = 4  # as many samples as a search needs, to choose edges and the model
LAST_STEPS = 15  # on the atoms in an iteration over all samples, where those are many
ELIMINATION_ROUNDS = 5
MOST_FILTERED = 256  # patterns for which spectra are found in good time


def learn_filtered(
    data: OpenSignals,
    patterns: NDArray,
    noise: float,
    settings: Settings,
    rng: np.random.RandomState,
    plain: PlainFits,
    choose: Callable[[PatternDictionary], Fit | None] | None = None,
    some: OpenSome | None = None,
) -> Fit:
    """Return the fit: a plain one where power and tails are 1 and Gaussian.

    Parameters
    ----------
    data : OpenSignals
    patterns : array (C, K)
    noise : float
        Variance granted where a graph allows none.
    settings : Settings
    rng : RandomState
    plain : PlainFits
        Fits with a power of 1 and Gaussian tails.
    choose : callable, optional
        Given one graph for all samples, returns a short fit with the patterns to use, or None.
    some : callable, optional
        Opens some of the signals, as many as a search for patterns needs or some times as many; all
        by default. Edges and the model are chosen by several times as many as the search has, and
        the last run takes all.
    """
    runs = FilteredRuns(data, noise, settings)
    some = some or (lambda *_: nullcontext(data))
    try:
        with some(np.ones((1, 1), dtype=bool), 1) as few:
            one = dictionary = one_graph(runs.on(few))
        papers = _plain_start(plain, settings, one)
        if papers is not None and papers.interrupted:
            return papers
        if papers is not None:
            with some(papers.dictionary.patterns, 1) as few:
                if suffices(runs.on(few), papers.dictionary, one):
                    return plain.fit()
        expect(settings.n_init * (ANNEALING_STEPS + TRIAL_STEPS) // 2 + USUAL_STEPS)
        chosen = None if choose is None else choose(one)
        if chosen is not None:
            _complete([chosen])
            patterns = chosen.dictionary.patterns
        with some(patterns, 1) as few:
            search = runs.on(few)
            if patterns.shape[1] > 1:
                found = _search(search, one, patterns, rng, chosen)
                dictionary = _alternate(search, found.dictionary)
            dictionary = _try_heat(search, dictionary, one)
        with some(patterns, TIMES) as enough:
            more = runs.on(enough)
            dictionary = _for_more_samples(dictionary, enough.total / few.total)
            dictionary = more.rule_out(dictionary, callback=settings.callback)
            dictionary, sparse = _eliminate(more, dictionary)
            fit = _finish(more, dictionary, sparse)
            if papers is not None and _is_plain(more, papers, plain, fit, one):
                return plain.fit()
        if enough is data:
            return fit
        dictionary = _for_more_samples(fit.dictionary, data.total / enough.total)
        dictionary = runs.rule_out(dictionary, callback=settings.callback)
        return runs.run(dictionary, settings.max_iter, LAST_STEPS, callback=settings.callback)
    except InterruptedFitError as stop:
        return replace(stop.fit, dictionary=copies_of(stop.fit.dictionary, patterns))


def _plain_start(plain: PlainFits, settings: Settings, one: PatternDictionary) -> Fit | None:
    """Return a plain fit, where a power of 1 and Gaussian tails are in reach.

    It is the whole search where one graph has about that power, and a short one otherwise.
    """
    given = settings.filter in (None, PAPERS) and settings.tails in (None, np.inf)
    power = filtered(one).filter.parameter
    if not given or power >= NEARLY * POWERS[1]:
        return None
    return plain.fit() if power < PROBABLY else plain.sketch(min(FEW_STARTS, settings.n_init))


def _is_plain(
    runs: FilteredRuns, papers: Fit, plain: PlainFits, fit: Fit, one: PatternDictionary
) -> bool:
    """Return whether the plain fit explains signals as well as the other one.

    A short search may have missed better plain fits. So the states of the other fit are tried as
    well; and unless that beats both by far, the whole search decides.
    """
    if filtered(one).filter.parameter >= PROBABLY:
        tried = [papers.dictionary, with_states(runs, fit.dictionary)]
        if not explains_as_well(runs, tried, fit.dictionary, BY_FAR):
            return False
        papers = plain.fit()
        if papers.interrupted or suffices(runs, papers.dictionary, one):
            return True
    return explains_as_well(runs, [papers.dictionary], fit.dictionary)


def anneal_filtered(
    runs: FilteredRuns, starts: Iterator[PatternDictionary], trials: Trials | None = None
) -> list[Fit]:
    """Return annealed runs, one for each start."""
    longest = float(runs.data.counts.max())
    annealing = np.geomspace(COLDEST / longest, 1, ANNEALING_STEPS, endpoint=False).tolist()
    return (trials or Trials(runs.data, NO_PENALTY, runs.settings)).run(
        starts, annealing=annealing, max_iter=ANNEALING_STEPS + TRIAL_STEPS, atom_steps=ATOM_STEPS
    )


def _with_pool(
    runs: FilteredRuns, one: PatternDictionary, start: PatternDictionary
) -> PatternDictionary:
    """Return a start whose atoms have pooled samples beside their own, as many as dimensions."""
    likelihood = filtered(start)
    if len(start.atoms) == 1 or not likelihood.alone.all():
        return start
    targets, _ = runs.expect(one)
    pool = PooledSamples(targets.moments.sum(axis=0), likelihood.dimension / runs.data.total)
    learns = filtered(one).learns_tails
    return replace(start, likelihood=replace(likelihood, pool=pool, learns_tails=learns))


def _search(
    runs: FilteredRuns,
    one: PatternDictionary,
    patterns: NDArray,
    rng: np.random.RandomState,
    chosen: Fit | None = None,
) -> Fit:
    """Return the best of annealed runs.

    There are half as many as the settings say, since each takes longer. The run by which patterns
    were ``chosen`` is one of them.
    """
    count = (runs.settings.n_init + 1) // 2 - (chosen is not None)
    starts = (random_filtered_start(runs, one, patterns, rng) for _ in range(count))
    before = None if chosen is None else _with_pool(runs, one, chosen.dictionary)
    found = best_of_starts(runs, starts, before)
    given = NO_PENALTY, runs.settings, rng
    best = restart_idle_atoms(runs.data, found, *given, atom_steps=ATOM_STEPS)
    return _complete([best])[0]


def best_of_starts(
    runs: FilteredRuns,
    starts: Iterator[PatternDictionary],
    annealed: PatternDictionary | None = None,
) -> Fit:
    """Return the best of annealed runs, one from each start; the better half goes on each time.

    One that was ``annealed`` before, on some of the samples, takes part.
    """
    trials = Trials(runs.data, NO_PENALTY, runs.settings)
    found: list[Fit] = []
    if annealed is not None:
        again = trials.run(iter([annealed]), max_iter=TRIAL_STEPS // 2, atom_steps=ATOM_STEPS)
        found += _complete(again)
    for start in starts:
        found += _complete(anneal_filtered(runs, iter([start]), trials))
    while len(found) > 1:
        found = sorted(found, key=lambda run: run.objective)[: (len(found) + 1) // 2]
        better = (run.dictionary for run in found)
        found = _complete(trials.run(better, max_iter=TRIAL_STEPS, atom_steps=ATOM_STEPS))
    return found[0]


def _complete(found: list[Fit]) -> list[Fit]:
    """Return runs none of which was interrupted; raise otherwise."""
    for fit in found:
        if fit.interrupted:
            raise InterruptedFitError(fit)
    return found


def _alternate(runs: FilteredRuns, dictionary: PatternDictionary) -> PatternDictionary:
    """Return the dictionary after rounds of choosing the power and the pool, and of EM."""
    callback = runs.settings.callback
    iterations = min(ITERATIONS, runs.settings.max_iter)
    for number in range(ROUNDS):
        before = filtered(dictionary)
        dictionary = runs.renew_tails(runs.rule_out(dictionary, callback=callback))
        if number < POOL_ROUNDS:
            dictionary = _pooled(runs, dictionary)
        if runs.settings.filter is None:
            step = COARSEST_POWER if number == 0 else COARSEST_POWER / 2
            dictionary = _choose_power(runs, dictionary, step)
        fit = runs.run(dictionary, iterations, ATOM_STEPS, callback=callback, tol=runs.rough)
        dictionary = fit.dictionary
        likelihood = filtered(dictionary)
        same = abs(likelihood.filter.parameter / before.filter.parameter - 1) < SETTLED
        pools = before.pool, likelihood.pool
        if same and (None in pools or pools[0].share == pools[1].share):  # type: ignore[union-attr]
            break
    if isinstance(filtered(dictionary).filter, HeatKernel):
        fit = runs.run(runs.renew_heat(dictionary), iterations, ATOM_STEPS, callback=callback)
        dictionary = fit.dictionary
    return dictionary


def _pooled(runs: FilteredRuns, dictionary: PatternDictionary) -> PatternDictionary:
    """Return the dictionary with as many pooled samples as are given, or else chosen."""
    likelihood, given = filtered(dictionary), runs.settings.pooled
    if given is None or likelihood.pool is None:
        return choose_pool(runs, dictionary)
    pool = likelihood.pool._replace(share=given / runs.data.total)
    return replace(dictionary, likelihood=replace(likelihood, pool=pool))


def _choose_power(
    runs: FilteredRuns, dictionary: PatternDictionary, first_step: float
) -> PatternDictionary:
    """Return the dictionary with the power that explains held-out blocks of time best.

    The search begins with steps of ``first_step`` in the logarithm of the power.
    """
    judge, samples = judge_by_evidence(runs, dictionary), runs.effective_samples
    given = filtered(dictionary), dictionary.atoms, judge, samples
    likelihood, atoms = search_power(*given, first_step=first_step)
    return replace(dictionary, likelihood=likelihood, atoms=atoms)


def _try_heat(
    runs: FilteredRuns, dictionary: PatternDictionary, one: PatternDictionary
) -> PatternDictionary:
    """Return the same states under the heat filter, where a power is not enough and that gains.

    The least rate has to gain clearly over the power. Which rate it is, ``one`` graph says: a
    medium smooths all graphs alike, and the edges of several would each have to pay for it.
    """
    likelihood = filtered(dictionary)
    if runs.settings.filter is not None or likelihood.filter.parameter < NEARLY * POWERS[1]:
        return dictionary
    least = _with_heat(runs, dictionary, HEAT_RATES[0])
    wanted = HEAT_GAIN * 2 * runs.effective_samples * likelihood.dimension
    best, chosen, lowest = least, HEAT_RATES[0], criterion(runs, least)
    if criterion(runs, dictionary) - lowest <= wanted:
        return dictionary
    single = len(dictionary.atoms) == 1
    if not single:
        lowest = criterion(runs, _with_heat(runs, one, chosen))
    for rate in HEAT_RATES[1:]:
        other = _with_heat(runs, one, rate)
        found = criterion(runs, other)
        if found >= lowest:
            break
        best, chosen, lowest = other, rate, found
    if single:
        return best
    return least if chosen == HEAT_RATES[0] else _with_heat(runs, dictionary, chosen)


def _with_heat(runs: FilteredRuns, dictionary: PatternDictionary, rate: float) -> PatternDictionary:
    """Return the same states under a heat filter of this rate, for each node and unit variance."""
    rate *= max(runs.data.nodes, 8)
    likelihood, heat = filtered(dictionary), HeatFilter(rate * runs.variance)
    one = one_graph(runs, heat, likelihood.tails)
    most = float(likelihood.activations.sum(axis=1).max())
    atoms = np.where(dictionary.atoms > 0, one.atoms / most**0.5, 0)
    targets, _ = runs.expect(dictionary)
    other = replace(likelihood, filter=heat)
    _, atoms = other.minimise(atoms, targets, 60)
    options: dict[str, Any] = {"callback": runs.settings.callback, "tol": runs.rough}
    return runs.run(replace(dictionary, likelihood=other, atoms=atoms), 30, 8, **options).dictionary


def _for_more_samples(dictionary: PatternDictionary, times: float) -> PatternDictionary:
    """Return the dictionary for so many times as many samples, beside which the pool stays."""
    likelihood = filtered(dictionary)
    if likelihood.pool is None:
        return dictionary
    pool = likelihood.pool._replace(share=likelihood.pool.share / times)
    return replace(dictionary, likelihood=replace(likelihood, pool=pool))


def _eliminate(runs: FilteredRuns, dictionary: PatternDictionary) -> tuple[PatternDictionary, bool]:
    """Return the dictionary without edges that do not pay, and whether any of them went.

    Half of them go in each round, until held-out blocks of time would be explained less well, by
    more than a standard error.
    """
    settings = runs.settings
    if settings.sparsity == 0:
        return dictionary, False
    targets, expected = runs.expect(dictionary)
    present = present_edges(filtered(dictionary), dictionary.atoms, targets)
    dictionary = prune_edges(dictionary, present)
    halves = runs.halves(dictionary)
    best = judged = held_out_evidence(runs, dictionary, halves)
    for number in range(ELIMINATION_ROUNDS):
        # Which edges go is chosen in either half by itself: edges that both together have chosen
        # would look worse than they are.
        less = without_unprofitable(runs, dictionary, halves, judged.atoms)
        judged = held_out_evidence(runs, dictionary, halves, less)
        if best.is_clearly_better_than(judged):
            return dictionary, number > 0
        best = max(best, judged, key=lambda each: each.total)
        if number:
            expected = e_step(runs.data, dictionary, statistics=False)
        bad = unprofitable_edges(
            filtered(dictionary), dictionary.atoms, expected.usage / expected.samples,
            runs.effective_samples, settings.sparsity, last=number == ELIMINATION_ROUNDS - 1,
        )  # fmt: skip
        before = int((dictionary.atoms > 0).sum())
        dictionary = prune_edges(dictionary, (dictionary.atoms > 0) & ~bad)
        if int((dictionary.atoms > 0).sum()) == before:
            break
        dictionary = runs.run(dictionary, 6, 8, callback=settings.callback).dictionary
    return dictionary, True


def _finish(runs: FilteredRuns, dictionary: PatternDictionary, sparse: bool) -> Fit:
    """Return the last run, on the support that is left; Gaussian where tails do not pay.

    A ``sparse`` graph of fixed support cannot dissolve: there a power is now learned by likelihood.
    """
    settings = runs.settings
    likelihood = filtered(dictionary)
    if not tails_pay(runs, dictionary):
        likelihood = replace(likelihood, tails=np.inf, learns_tails=False)
    learned = isinstance(likelihood.filter, PowerFilter) and settings.filter is None and sparse
    kernel = isinstance(likelihood.filter, HeatKernel) and settings.sparsity > 0
    likelihood = replace(likelihood, learns_power=learned or kernel)
    dictionary = replace(dictionary, likelihood=likelihood)
    options: dict[str, Any] = {"callback": settings.callback}
    return runs.run(dictionary, settings.max_iter, 8, **options)


def copies_of(dictionary: PatternDictionary, patterns: NDArray) -> PatternDictionary:
    """Return a dictionary of all atoms, also where there was but one graph so far."""
    count = patterns.shape[1]
    if len(dictionary.atoms) == count:
        return dictionary
    atoms = np.repeat(dictionary.atoms, count, axis=0)
    likelihood = dictionary.likelihood.for_atoms(atoms, patterns)
    probabilities = np.full(len(patterns), 1 / len(patterns))
    return PatternDictionary(likelihood, atoms, probabilities, dictionary.stay)
