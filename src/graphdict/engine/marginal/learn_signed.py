"""From signals to a dictionary of graphs whose weights may be negative, one active at a time.

1. One graph for all samples, and its tails.
2. Annealed runs of EM from random starts, the better half going on; all pairs have weights.
3. In turn: how much atoms have in common, by evidence, and EM.
4. Edges that do not pay are taken, half of them in each round.
5. Tails that do not pay are Gaussian; EM on the support that is left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.elimination import unprofitable_edges
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.patterns import uniform_probabilities
from graphdict.core.marginal.signed import (
    SignedLikelihood,
    best_pool_size,
    is_definite,
    make_definite,
    precision_weights,
)
from graphdict.core.marginal.spectra import reduce_moments
from graphdict.core.marginal.support import prune_edges
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filter_choice import ITERATIONS, ROUNDS
from graphdict.engine.marginal.filtered_search import best_of_starts
from graphdict.engine.marginal.filtered_starts import (
    FIRST_TAILS,
    FilteredRuns,
    InterruptedFitError,
    filtered,
    one_graph,
)
from graphdict.engine.marginal.learn import STAY
from graphdict.engine.marginal.learn_filtered import ELIMINATION_ROUNDS, with_all_atoms
from graphdict.engine.marginal.model_choice import tails_pay
from graphdict.engine.marginal.passes import e_step, random_statistics
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.settings import Settings

STEPS = 4  # of Newton's method in an iteration of EM, where some pairs have no edge
SAME = 0.05  # relative change of the pooled samples that is none


def learn_signed(
    data: OpenSignals,
    patterns: NDArray,
    noise: float,
    settings: Settings,
    rng: np.random.RandomState,
) -> Fit:
    """Return the fit of atoms of either sign; ``patterns`` (K, K) have one active atom each.

    ``noise`` is the variance that signals have in directions in which they have none.
    """
    runs = FilteredRuns(data, noise, settings)
    try:
        one = dictionary = _one_graph(runs)
        if len(patterns) > 1:
            dictionary = _steadied(runs, _searched(runs, one, patterns, rng))
        dictionary = _eliminate(runs, dictionary)
        if not tails_pay(runs, dictionary):
            gaussian = replace(filtered(dictionary), tails=np.inf, learns_tails=False)
            dictionary = replace(dictionary, likelihood=gaussian)
        return runs.run(dictionary, settings.max_iter, STEPS, callback=settings.callback)
    except InterruptedFitError as stop:
        stay = STAY if settings.prior == "markov" else None
        return with_all_atoms(stop.fit, patterns, stay)


def _searched(
    runs: FilteredRuns, one: PatternDictionary, patterns: NDArray, rng: np.random.RandomState
) -> PatternDictionary:
    """Return the best of annealed runs."""
    count = (runs.settings.n_init + 1) // 2
    starts = (_random_start(runs, one, patterns, rng) for _ in range(count))
    return best_of_starts(runs, starts).dictionary


def _one_graph(runs: FilteredRuns) -> PatternDictionary:
    """Return a dictionary of one graph for all samples, with its tails.

    What steadies it are samples of the one graph without negative edges, under the filter that
    suits it: as many as the evidence asks for.
    """
    given = runs.settings.tails
    pooled, first = steadying_moments(runs)
    atoms = make_definite(precision_weights(np.linalg.pinv(pooled, hermitian=True))[None])
    likelihood = SignedLikelihood.of(
        np.ones((1, 1), dtype=bool), atoms, runs.noise,
        tails=first if given is None else given, learns_tails=given is None,
    )  # fmt: skip
    dictionary = PatternDictionary(likelihood, atoms, np.ones(1))
    for _ in range(ROUNDS if given is None else 1):
        dictionary = _pooled(runs, dictionary, pooled)
        dictionary = runs.renew_tails(runs.run(dictionary, 10, STEPS).dictionary)
    return dictionary


def steadying_moments(runs: FilteredRuns) -> tuple[NDArray, float]:
    """Return second moments (d, d) of samples that steady one graph, and tails to begin with.

    They are those of the one graph without negative edges, under the filter that suits it; where
    that one joins not all nodes, those of samples without structure.
    """
    found = one_graph(replace(runs, settings=replace(runs.settings, filter=None)))
    likelihood = filtered(found)
    moments = reduce_moments(likelihood.covariances(found.atoms))[0]
    if likelihood.flat.any() or not np.isfinite(moments).all():
        own = _moments(runs, found)[0]
        size = max(float(np.trace(own)) / len(own), runs.noise)
        return size * np.eye(len(own)), FIRST_TAILS
    return moments, likelihood.tails


def _moments(runs: FilteredRuns, dictionary: PatternDictionary) -> NDArray:
    """Return mean second moments (K, d, d) of each atom's samples."""
    expected = e_step(runs.data, dictionary)
    averages = tuple(sums / expected.samples for sums in expected.statistics)
    usage = expected.usage / expected.samples
    found = filtered(dictionary).targets(averages, usage, pooled=False)
    return found.moments / np.maximum(usage, 1e-300)[:, None, None]


def _pooled(
    runs: FilteredRuns, dictionary: PatternDictionary, pooled: NDArray
) -> PatternDictionary:
    """Return the dictionary whose atoms have samples of pooled moments (d, d) beside their own."""
    usage = e_step(runs.data, dictionary, statistics=False).usage / runs.data.total
    counts = usage * runs.effective_samples
    number = best_pool_size(_moments(runs, dictionary), counts, pooled)
    pool = PooledSamples(pooled, number / runs.effective_samples)
    return replace(dictionary, likelihood=replace(filtered(dictionary), pool=pool))


def _random_start(
    runs: FilteredRuns, one: PatternDictionary, patterns: NDArray, rng: np.random.RandomState
) -> PatternDictionary:
    """Return atoms fitted to random soft memberships, with pooled samples, one a dimension."""
    count = len(patterns)
    atoms = np.repeat(one.atoms, count, axis=0)
    likelihood = filtered(one)
    pool = PooledSamples(_moments(runs, one)[0], likelihood.dimension / runs.data.total)
    likelihood = replace(likelihood.for_atoms(atoms, patterns), pool=pool)
    probabilities = uniform_probabilities(patterns)
    copies = PatternDictionary(likelihood, atoms, probabilities)
    usage, statistics = random_statistics(runs.data, copies, rng)
    _, atoms = likelihood.minimise(atoms, likelihood.targets(statistics, usage), STEPS)
    stay = STAY if runs.settings.prior == "markov" else None
    return PatternDictionary(likelihood, atoms, probabilities, stay)


def _steadied(runs: FilteredRuns, dictionary: PatternDictionary) -> PatternDictionary:
    """Return the dictionary after rounds of choosing the pooled samples, and of EM."""
    iterations = min(ITERATIONS, runs.settings.max_iter)
    for _ in range(ROUNDS):
        before = filtered(dictionary).pool
        assert before is not None
        dictionary = _pooled(runs, runs.renew_tails(dictionary), before.moments)
        callback = runs.settings.callback
        fit = runs.run(dictionary, iterations, STEPS, callback=callback, tol=runs.rough)
        dictionary = fit.dictionary
        pool = filtered(dictionary).pool
        assert pool is not None
        if abs(pool.share / before.share - 1) < SAME:
            break
    return dictionary


def _eliminate(runs: FilteredRuns, dictionary: PatternDictionary) -> PatternDictionary:
    """Return the dictionary without edges that do not pay."""
    price = runs.settings.sparsity
    for number in range(ELIMINATION_ROUNDS if price else 0):
        usage = e_step(runs.data, dictionary, statistics=False).usage / runs.data.total
        bad = unprofitable_edges(
            filtered(dictionary), dictionary.atoms, usage, runs.effective_samples, price,
            last=number == ELIMINATION_ROUNDS - 1,
        )  # fmt: skip
        if not bad.any():
            break
        pruned = prune_edges(dictionary, ~bad)
        atoms = make_definite(pruned.atoms)
        whole = np.array([is_definite(weights) for weights in atoms])
        # An atom that falls apart keeps its edges, whatever they pay.
        dictionary = pruned.with_atoms(np.where(whole[:, None], atoms, dictionary.atoms))
        dictionary = runs.run(dictionary, 6, STEPS, callback=runs.settings.callback).dictionary
    return dictionary
