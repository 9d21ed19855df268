"""Annealed runs of EM with a filter and tails from random starts, the better half going on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_em import (
    FILTERED_ANNEALING_STEPS,
    NO_PENALTY,
    FilteredEM,
    InterruptedFitError,
    filtered_likelihood,
)
from graphdict.engine.marginal.filtered_starts import random_filtered_start
from graphdict.engine.marginal.learn import Trials, restart_idle_atoms

SETTLING_STEPS = 6  # after annealing, and where the better half goes on
ATOM_STEPS = 4  # of projected L-BFGS in an iteration of EM
SHORTLY = 15  # iterations of EM after edges are ruled out, while runs are compared


def anneal_filtered(
    em: FilteredEM, starts: Iterator[PatternDictionary], trials: Trials | None = None
) -> list[Fit]:
    """Return annealed runs, one for each start."""
    steps = {"max_iter": FILTERED_ANNEALING_STEPS + SETTLING_STEPS, "atom_steps": ATOM_STEPS}
    trials = trials or Trials(em.data, NO_PENALTY, em.settings)
    return trials.run(starts, annealing=em.temperatures, **steps)


def search_states(
    em: FilteredEM,
    single_graph: PatternDictionary,
    patterns: NDArray,
    rng: np.random.RandomState,
    chosen: Fit | None = None,
    begun: PatternDictionary | None = None,
) -> Fit:
    """Return the best of annealed runs.

    Half of ``n_init`` starts are tried, since each takes longer than a plain one. The run by which
    patterns were ``chosen`` is one of them; one that was ``begun`` elsewhere takes part as well.
    """
    count = (em.settings.n_init + 1) // 2 - (chosen is not None)
    starts = (random_filtered_start(em, single_graph, patterns, rng) for _ in range(count))
    before = [] if chosen is None else [chosen.dictionary]
    before += [] if begun is None else [begun]
    found = best_of_starts(em, starts, [_with_pool(em, single_graph, each) for each in before])
    given = NO_PENALTY, em.settings, rng
    best = restart_idle_atoms(em.data, found, *given, atom_steps=ATOM_STEPS)
    return complete([best])[0]


def best_of_starts(
    em: FilteredEM,
    starts: Iterator[PatternDictionary],
    annealed: Sequence[PatternDictionary] = (),
) -> Fit:
    """Return the best of annealed runs, one from each start; the better half goes on each time.

    Those that were ``annealed`` before, on some of the samples, take part.
    """
    trials = Trials(em.data, NO_PENALTY, em.settings)
    steps = {"max_iter": SETTLING_STEPS // 2, "atom_steps": ATOM_STEPS}
    found = complete(trials.run(annealed, **steps))
    for start in starts:
        found += complete(anneal_filtered(em, iter([start]), trials))
    if em.settings.falls_apart:  # edges that silence rules out cost runs that still have them
        found = sorted(found, key=lambda run: run.objective)[: (len(found) + 1) // 2]
        without = (em.rule_out(run.dictionary, SHORTLY) for run in found)
        found = complete(trials.run(without, **steps))
    return complete(trials.halve(found, max_iter=SETTLING_STEPS, atom_steps=ATOM_STEPS))[0]


def _with_pool(
    em: FilteredEM, single_graph: PatternDictionary, start: PatternDictionary
) -> PatternDictionary:
    """Return a start to which N - 1 pooled samples of each atom are added."""
    likelihood = filtered_likelihood(start)
    if len(start.atoms) == 1 or not likelihood.alone.all():
        return start
    targets, _ = em.expect(single_graph)
    pool = PooledSamples(targets.moments.sum(axis=0), likelihood.dimension / em.data.total)
    learns = filtered_likelihood(single_graph).learns_tails
    return replace(start, likelihood=replace(likelihood, pool=pool, learns_tails=learns))


def complete(found: list[Fit]) -> list[Fit]:
    """Return the runs, or raise `InterruptedFitError` if the user interrupted one."""
    for fit in found:
        if fit.interrupted:
            raise InterruptedFitError(fit)
    return found
