"""Annealed runs of EM with a filter and tails from random starts, the better half going on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_starts import (
    ANNEALING_STEPS,
    NO_PENALTY,
    FilteredRuns,
    InterruptedFitError,
    filtered,
    random_filtered_start,
)
from graphdict.engine.marginal.learn import Trials, restart_idle_atoms

TRIAL_STEPS = 6  # after annealing, and where the better half goes on
ATOM_STEPS = 4  # of projected L-BFGS in an iteration of EM
SHORTLY = 15  # iterations of EM after edges are ruled out, while runs are compared


def anneal_filtered(
    runs: FilteredRuns, starts: Iterator[PatternDictionary], trials: Trials | None = None
) -> list[Fit]:
    """Return annealed runs, one for each start."""
    steps = {"max_iter": ANNEALING_STEPS + TRIAL_STEPS, "atom_steps": ATOM_STEPS}
    trials = trials or Trials(runs.data, NO_PENALTY, runs.settings)
    return trials.run(starts, annealing=runs.temperatures, **steps)


def search_states(
    runs: FilteredRuns,
    one: PatternDictionary,
    patterns: NDArray,
    rng: np.random.RandomState,
    chosen: Fit | None = None,
    begun: PatternDictionary | None = None,
) -> Fit:
    """Return the best of annealed runs.

    Half of ``n_init`` starts are tried, since each takes longer than a plain one. The run by which
    patterns were ``chosen`` is one of them; one that was ``begun`` elsewhere takes part as well.
    """
    count = (runs.settings.n_init + 1) // 2 - (chosen is not None)
    starts = (random_filtered_start(runs, one, patterns, rng) for _ in range(count))
    before = [] if chosen is None else [chosen.dictionary]
    before += [] if begun is None else [begun]
    found = best_of_starts(runs, starts, [_with_pool(runs, one, each) for each in before])
    given = NO_PENALTY, runs.settings, rng
    best = restart_idle_atoms(runs.data, found, *given, atom_steps=ATOM_STEPS)
    return complete([best])[0]


def best_of_starts(
    runs: FilteredRuns,
    starts: Iterator[PatternDictionary],
    annealed: Sequence[PatternDictionary] = (),
) -> Fit:
    """Return the best of annealed runs, one from each start; the better half goes on each time.

    Those that were ``annealed`` before, on some of the samples, take part.
    """
    trials = Trials(runs.data, NO_PENALTY, runs.settings)
    steps = {"max_iter": TRIAL_STEPS // 2, "atom_steps": ATOM_STEPS}
    found = complete(trials.run(annealed, **steps))
    for start in starts:
        found += complete(anneal_filtered(runs, iter([start]), trials))
    if runs.settings.falls_apart:  # edges that silence rules out cost runs that still have them
        found = sorted(found, key=lambda run: run.objective)[: (len(found) + 1) // 2]
        without = (runs.rule_out(run.dictionary, SHORTLY) for run in found)
        found = complete(trials.run(without, **steps))
    while len(found) > 1:
        found = sorted(found, key=lambda run: run.objective)[: (len(found) + 1) // 2]
        better = (run.dictionary for run in found)
        found = complete(trials.run(better, max_iter=TRIAL_STEPS, atom_steps=ATOM_STEPS))
    return found[0]


def _with_pool(
    runs: FilteredRuns, one: PatternDictionary, start: PatternDictionary
) -> PatternDictionary:
    """Return a start to which N - 1 pooled samples of each atom are added."""
    likelihood = filtered(start)
    if len(start.atoms) == 1 or not likelihood.alone.all():
        return start
    targets, _ = runs.expect(one)
    pool = PooledSamples(targets.moments.sum(axis=0), likelihood.dimension / runs.data.total)
    learns = filtered(one).learns_tails
    return replace(start, likelihood=replace(likelihood, pool=pool, learns_tails=learns))


def complete(found: list[Fit]) -> list[Fit]:
    """Return the runs, or raise `InterruptedFitError` if the user interrupted one."""
    for fit in found:
        if fit.interrupted:
            raise InterruptedFitError(fit)
    return found
