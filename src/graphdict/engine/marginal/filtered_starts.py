"""Where learning with a filter and tails begins: one graph for all samples, and random starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from graphdict.core import graphs
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.filters import GraphFilter, PowerFilter
from graphdict.core.marginal.patterns import pattern_sizes, uniform_probabilities
from graphdict.core.marginal.power_search import (
    COARSEST_POWER,
    PRESENT,
    judge_by_halves,
    search_power,
)
from graphdict.engine.marginal.filtered_em import FilteredEM, filtered_likelihood
from graphdict.engine.marginal.learn import STAY
from graphdict.engine.marginal.passes import random_statistics

FIRST_POWER, FIRST_TAILS = 2.0, 10.0  # where learning begins
ONE_GRAPH_ROUNDS, ONE_GRAPH_STEPS = 3, 40
START_STEPS = 15  # on atoms of random memberships
SETTLED = 0.02  # relative change of a power that is none


def fit_single_graph(
    em: FilteredEM, filter_: GraphFilter | None = None, tails: float | None = None
) -> PatternDictionary:
    """Return a dictionary of one graph for all samples, with its power and its tails.

    Parameters
    ----------
    em : FilteredEM
    filter_ : GraphFilter, optional
        One to keep; else the power is that of the settings, or learned by counting edges.
    tails : float, optional
        To begin with, where they are learned.
    """
    settings = em.settings
    learns_filter = filter_ is None and settings.filter is None
    chosen = filter_ or settings.filter or PowerFilter(FIRST_POWER)
    dictionary = _first_graph(em, chosen)
    likelihood = replace(
        filtered_likelihood(dictionary), learns_tails=settings.tails is None,
        tails=(tails or FIRST_TAILS) if settings.tails is None else settings.tails,
    )  # fmt: skip
    dictionary = replace(dictionary, likelihood=likelihood)
    if filter_ is not None:
        return em.run(dictionary, 5, 15, tol=em.rough).dictionary
    dictionary = em.renew_tails(em.run(dictionary, 10, 15, tol=em.rough).dictionary)
    for number in range(ONE_GRAPH_ROUNDS):
        dictionary = em.rule_out(dictionary)
        if not learns_filter:
            break
        before = filtered_likelihood(dictionary).filter.parameter
        samples = em.effective_samples
        judge = judge_by_halves(em.halves(dictionary), samples)
        step = COARSEST_POWER if number == 0 else COARSEST_POWER / 2
        given = filtered_likelihood(dictionary), dictionary.atoms, judge, samples
        found = search_power(*given, first_step=step)
        dictionary = replace(dictionary, likelihood=found[0], atoms=found[1])
        dictionary = em.renew_tails(em.run(dictionary, 10, 10, tol=em.rough).dictionary)
        if abs(filtered_likelihood(dictionary).filter.parameter - before) < SETTLED * before:
            break
    return dictionary


def _first_graph(em: FilteredEM, filter_: GraphFilter) -> PatternDictionary:
    """Return the Gaussian fit of one graph to the moments of all samples."""
    nodes = em.data.nodes
    atoms = np.full((1, graphs.n_edges(nodes)), 1 / (nodes * em.variance))
    patterns = np.ones((1, 1), dtype=bool)
    likelihood = FilteredLikelihood.of(patterns, atoms, em.noise, filter=filter_)
    dictionary = PatternDictionary(likelihood, atoms, np.ones(1))
    targets, _ = em.expect(dictionary)
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
    em: FilteredEM, single_graph: PatternDictionary, patterns: NDArray, rng: np.random.RandomState
) -> PatternDictionary:
    """Return atoms fitted to random soft memberships of the windows, from the one graph's weights.

    Where patterns (C, K) are single atoms, each has the pooled moments of all samples beside its
    own, as many as dimensions.
    """
    count, likelihood = patterns.shape[1], filtered_likelihood(single_graph)
    targets, _ = em.expect(single_graph)
    whole = np.maximum(single_graph.atoms, PRESENT * likelihood.weight_scales(targets))
    atoms = np.repeat(whole, count, axis=0)
    likelihood = likelihood.for_atoms(atoms, np.eye(count, dtype=bool))
    copies = PatternDictionary(likelihood, atoms, np.full(count, 1 / count))
    usage, statistics = random_statistics(em.data, copies, rng)
    targets = likelihood.targets(statistics, usage)
    _, atoms = likelihood.minimise(atoms, targets, START_STEPS)
    probabilities = uniform_probabilities(patterns)
    atoms = atoms / float(probabilities @ patterns.sum(axis=1))
    pool = None
    if count > 1 and pattern_sizes(patterns).max() == 1:
        pool = PooledSamples(targets.moments.sum(axis=0), likelihood.dimension / em.data.total)
    likelihood = replace(likelihood.for_atoms(atoms, patterns), pool=pool)
    stay = STAY if em.settings.prior == "markov" else None
    return PatternDictionary(likelihood, atoms, probabilities, stay)
