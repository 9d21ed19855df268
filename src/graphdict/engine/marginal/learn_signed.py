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
from graphdict.engine.marginal.annealed_search import best_of_starts
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filter_choice import ITERATIONS, ROUNDS
from graphdict.engine.marginal.filtered_em import (
    FilteredEM,
    InterruptedFitError,
    filtered_likelihood,
)
from graphdict.engine.marginal.filtered_starts import FIRST_TAILS, fit_single_graph
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
    em = FilteredEM(data, noise, settings)
    try:
        single_graph = dictionary = _fit_single_graph(em)
        if len(patterns) > 1:
            dictionary = _steadied(em, _searched(em, single_graph, patterns, rng))
        dictionary = _eliminate(em, dictionary)
        if not tails_pay(em, dictionary):
            gaussian = replace(filtered_likelihood(dictionary), tails=np.inf, learns_tails=False)
            dictionary = replace(dictionary, likelihood=gaussian)
        return em.run(dictionary, settings.max_iter, STEPS, callback=settings.callback)
    except InterruptedFitError as stop:
        stay = STAY if settings.prior == "markov" else None
        return with_all_atoms(stop.fit, patterns, stay)


def _searched(
    em: FilteredEM, single_graph: PatternDictionary, patterns: NDArray, rng: np.random.RandomState
) -> PatternDictionary:
    """Return the best of annealed runs."""
    count = (em.settings.n_init + 1) // 2
    starts = (_random_start(em, single_graph, patterns, rng) for _ in range(count))
    return best_of_starts(em, starts).dictionary


def _fit_single_graph(em: FilteredEM) -> PatternDictionary:
    """Return a dictionary of one graph for all samples, with its tails.

    What steadies it are samples of the one graph without negative edges, under the filter that
    suits it: as many as the evidence asks for.
    """
    given = em.settings.tails
    pooled, first = steadying_moments(em)
    atoms = make_definite(precision_weights(np.linalg.pinv(pooled, hermitian=True))[None])
    likelihood = SignedLikelihood.of(
        np.ones((1, 1), dtype=bool), atoms, em.noise,
        tails=first if given is None else given, learns_tails=given is None,
    )  # fmt: skip
    dictionary = PatternDictionary(likelihood, atoms, np.ones(1))
    for _ in range(ROUNDS if given is None else 1):
        dictionary = _pooled(em, dictionary, pooled)
        dictionary = em.renew_tails(em.run(dictionary, 10, STEPS).dictionary)
    return dictionary


def steadying_moments(em: FilteredEM) -> tuple[NDArray, float]:
    """Return second moments (d, d) of samples that steady one graph, and tails to begin with.

    They are those of the one graph without negative edges, under the filter that suits it; where
    that one joins not all nodes, those of samples without structure.
    """
    found = fit_single_graph(replace(em, settings=replace(em.settings, filter=None)))
    likelihood = filtered_likelihood(found)
    moments = reduce_moments(likelihood.covariances(found.atoms))[0]
    if likelihood.flat.any() or not np.isfinite(moments).all():
        own = _moments(em, found)[0]
        size = max(float(np.trace(own)) / len(own), em.noise)
        return size * np.eye(len(own)), FIRST_TAILS
    return moments, likelihood.tails


def _moments(em: FilteredEM, dictionary: PatternDictionary) -> NDArray:
    """Return mean second moments (K, d, d) of each atom's samples."""
    expected = e_step(em.data, dictionary)
    averages = tuple(sums / expected.samples for sums in expected.statistics)
    usage = expected.usage / expected.samples
    found = filtered_likelihood(dictionary).targets(averages, usage, pooled=False)
    return found.moments / np.maximum(usage, 1e-300)[:, None, None]


def _pooled(em: FilteredEM, dictionary: PatternDictionary, pooled: NDArray) -> PatternDictionary:
    """Return the dictionary whose atoms have samples of pooled moments (d, d) beside their own."""
    usage = e_step(em.data, dictionary, statistics=False).usage / em.data.total
    counts = usage * em.effective_samples
    number = best_pool_size(_moments(em, dictionary), counts, pooled)
    pool = PooledSamples(pooled, number / em.effective_samples)
    return replace(dictionary, likelihood=replace(filtered_likelihood(dictionary), pool=pool))


def _random_start(
    em: FilteredEM, single_graph: PatternDictionary, patterns: NDArray, rng: np.random.RandomState
) -> PatternDictionary:
    """Return atoms fitted to random soft memberships, with pooled samples, one a dimension."""
    count = len(patterns)
    atoms = np.repeat(single_graph.atoms, count, axis=0)
    likelihood = filtered_likelihood(single_graph)
    pool = PooledSamples(_moments(em, single_graph)[0], likelihood.dimension / em.data.total)
    likelihood = replace(likelihood.for_atoms(atoms, patterns), pool=pool)
    probabilities = uniform_probabilities(patterns)
    copies = PatternDictionary(likelihood, atoms, probabilities)
    usage, statistics = random_statistics(em.data, copies, rng)
    _, atoms = likelihood.minimise(atoms, likelihood.targets(statistics, usage), STEPS)
    stay = STAY if em.settings.prior == "markov" else None
    return PatternDictionary(likelihood, atoms, probabilities, stay)


def _steadied(em: FilteredEM, dictionary: PatternDictionary) -> PatternDictionary:
    """Return the dictionary after rounds of choosing the pooled samples, and of EM."""
    iterations = min(ITERATIONS, em.settings.max_iter)
    for _ in range(ROUNDS):
        before = filtered_likelihood(dictionary).pool
        assert before is not None
        dictionary = _pooled(em, em.renew_tails(dictionary), before.moments)
        callback = em.settings.callback
        fit = em.run(dictionary, iterations, STEPS, callback=callback, tol=em.rough)
        dictionary = fit.dictionary
        pool = filtered_likelihood(dictionary).pool
        assert pool is not None
        if abs(pool.share / before.share - 1) < SAME:
            break
    return dictionary


def _eliminate(em: FilteredEM, dictionary: PatternDictionary) -> PatternDictionary:
    """Return the dictionary without edges that do not pay."""
    price = em.settings.sparsity
    for number in range(ELIMINATION_ROUNDS if price else 0):
        usage = e_step(em.data, dictionary, statistics=False).usage / em.data.total
        bad = unprofitable_edges(
            filtered_likelihood(dictionary), dictionary.atoms, usage, em.effective_samples, price,
            last=number == ELIMINATION_ROUNDS - 1,
        )  # fmt: skip
        if not bad.any():
            break
        pruned = prune_edges(dictionary, ~bad)
        atoms = make_definite(pruned.atoms)
        whole = np.array([is_definite(weights) for weights in atoms])
        # An atom that falls apart keeps its edges, whatever they pay.
        dictionary = pruned.with_atoms(np.where(whole[:, None], atoms, dictionary.atoms))
        dictionary = em.run(dictionary, 6, STEPS, callback=em.settings.callback).dictionary
    return dictionary
