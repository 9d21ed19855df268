"""From signals to a dictionary: annealed starts, the best one finished, then made sparse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.patterns import pattern_sizes, uniform_probabilities
from graphdict.core.marginal.penalty import (
    ConcavePenalty,
    shrinkage,
    shrinkage_for,
    with_sparsity,
)
from graphdict.core.marginal.protocols import AtomPenalty
from graphdict.core.marginal.support import SILENT_SHARE, impossible_edges, prune_edges
from graphdict.core.marginal.time_hierarchy import n_levels
from graphdict.core.solvers.base import History, Progress
from graphdict.engine.marginal.averaging import average_draws
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.passes import second_moments
from graphdict.engine.marginal.sample_values import coefficients_by_window
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.series import (
    LEAST_SQUARE,
    mean_square,
    random_distances,
)
from graphdict.engine.marginal.settings import (
    ANNEALING_STEPS,
    TRIAL_STEPS,
    Settings,
    annealing_schedule,
)

RULE_OUT_ROUNDS = 4  # fewer edges sharpen the posterior, which shows what else to rule out
IDLE = 0.1  # share of the mean usage below which an atom is restarted
PARENTS, TILT = 6, 0.5  # atoms to try to split, and how unlike their halves start
RARELY = 0.1  # probability of patterns that a start did not allow, to begin with
STAY = 0.9  # where the probability to stay begins


def random_start(
    data: OpenSignals,
    patterns: NDArray,
    noise: float,
    rng: np.random.RandomState,
    settings: Settings,
) -> PatternDictionary:
    """Return a start whose atoms are inverse mean squared differences over random memberships."""
    distances = random_distances(data, rng, patterns.shape[1])
    usual = float(distances.mean())
    distances = np.maximum(distances, 1e-3 * (usual if usual > LEAST_SQUARE else 1.0))
    probabilities = uniform_probabilities(patterns)
    active = probabilities @ patterns.sum(axis=1)
    atoms = 1 / (distances * (data.nodes - 1) * active)
    stay = STAY if settings.prior == "markov" else None
    likelihood = settings.likelihood(patterns, atoms, noise)
    return PatternDictionary(likelihood, atoms, probabilities, stay)


def hierarchy_start(
    data: OpenSignals, patterns: NDArray, noise: float, settings: Settings
) -> PatternDictionary:
    """Return a start in which every level of the hierarchy has an equal part of one dense graph."""
    count = patterns.shape[1]
    weight = 1 / (2 * data.nodes * mean_square(data) * n_levels(count))
    atoms = np.full((count, graphs.n_edges(data.nodes)), weight)
    probabilities = np.full(len(patterns), 1 / len(patterns))
    likelihood = settings.likelihood(patterns, atoms, noise)
    return PatternDictionary(likelihood, atoms, probabilities, known_in_time=True)


def learn(
    data: OpenSignals,
    patterns: NDArray,
    settings: Settings,
    *,
    noise: float,
    rng: np.random.RandomState,
    some: OpenSignals | None = None,
) -> Fit:
    """Return the fit of least penalised negative marginal likelihood that the search finds.

    ``patterns`` are (C, K), and ``noise`` is the variance granted where a graph allows none. The
    search is among ``some`` of the signals, where they are given, and the fit to all of them.
    """
    by_time = settings.prior == "hierarchy"
    alpha = settings.with_alpha(data, patterns.shape[1]).alpha_w or 0.0
    if by_time:
        shrink = shrinkage(alpha, 1 / n_levels(patterns.shape[1]), noise / NOISE)
        dictionary = hierarchy_start(data, patterns, noise, settings)
    else:
        shrink = shrinkage_for(patterns, alpha, noise / NOISE)
        searched = data if some is None else some
        found = _search(searched, patterns, shrink, settings, noise=noise, rng=rng)
        if not found.interrupted:
            found = restart_idle_atoms(searched, found, shrink, settings, rng)
        if found.interrupted:
            return found
        dictionary = found.dictionary
    options: dict[str, Any] = {"callback": settings.callback}
    best = settings.run(data, dictionary, shrink, **options)
    dictionary = rule_out_edges(data, best.dictionary)
    for _ in range(0 if by_time else RULE_OUT_ROUNDS):
        if dictionary is best.dictionary or best.interrupted:
            break
        best = settings.run(data, dictionary, shrink, **options)
        dictionary = rule_out_edges(data, best.dictionary)
    if best.interrupted:
        return best
    if settings.sparsity == 0 or settings.average:
        best = settings.run(data, dictionary, shrink, **options)
        if best.interrupted or not settings.average:
            return best
        return average_draws(
            data, best, shrink, draws=settings.average, pattern_prior=settings.pattern_prior,
            rng=rng, callback=settings.callback, stage=settings.checkpoint.stage(),
        )  # fmt: skip
    penalty = sparsity_penalty(data, best, shrink, settings.sparsity)
    # Pruning only lowers the objective of this last stage, whose history is kept.
    options["history"] = History()
    best = settings.run(data, dictionary, penalty, **options)
    if best.interrupted:
        return best
    # What the penalty drove below its width is to be zero.
    dictionary = prune_edges(best.dictionary, best.dictionary.atoms > penalty.width)
    return settings.run(data, dictionary, penalty, **options)


def rule_out_edges(
    data: OpenSignals, dictionary: PatternDictionary, silent_share: float = SILENT_SHARE
) -> PatternDictionary:
    """Return the dictionary without edges that its samples rule out, or itself if there are none.

    Once edges are gone, silence and zero sums are expected, and samples that lack them leave the
    patterns of the atom. ``silent_share`` is that of an atom's samples in which a node is silent,
    from which on it has no edges.
    """
    moments = second_moments(data, dictionary)
    impossible = impossible_edges(*moments, dictionary.likelihood.noise, silent_share)
    if not (impossible & (dictionary.atoms > 0)).any():
        return dictionary
    return dictionary.with_atoms(np.where(impossible, 0, dictionary.atoms))


def _search(
    data: OpenSignals,
    patterns: NDArray,
    penalty: AtomPenalty,
    settings: Settings,
    *,
    noise: float,
    rng: np.random.RandomState,
) -> Fit:
    """Return the best of annealed runs from random starts; the better half goes on each time.

    Starts differ in how many atoms may be active at once, from all that the patterns allow down to
    one: where few are active in truth, runs that allow many end in poorer optima. One pattern alone
    has but one start: nothing in it is random.
    """
    sizes = pattern_sizes(patterns)
    largest = int(sizes.max())
    allowed = [largest, *range(1, largest)]
    starts = (
        random_start(data, patterns[sizes <= allowed[i % largest]], noise, rng, settings)
        for i in range(settings.n_init if len(patterns) > 1 else 1)
    )
    trials = Trials(data, penalty, settings)
    annealing = annealing_schedule(ANNEALING_STEPS)
    runs = trials.run(starts, annealing=annealing, max_iter=ANNEALING_STEPS + TRIAL_STEPS)
    runs = trials.halve(runs, max_iter=TRIAL_STEPS)
    best = min(runs, key=lambda run: run.objective)
    if len(best.dictionary.probabilities) == len(patterns):
        return replace(best, interrupted=runs[-1].interrupted)
    dictionary = _allow_patterns(best.dictionary, patterns)
    if runs[-1].interrupted:
        return replace(best, dictionary=dictionary, interrupted=True)
    return settings.run(data, dictionary, penalty, max_iter=2 * TRIAL_STEPS)


@dataclass
class Trials:
    """Short runs, counted for the callback of the settings."""

    data: OpenSignals
    penalty: AtomPenalty
    settings: Settings
    done: int = 0

    def run(self, starts: Iterable[PatternDictionary], **options: Any) -> list[Fit]:
        """Return one run for each start, but none after one that the user interrupted."""
        found = []
        for start in starts:
            fit = self.settings.run(self.data, start, self.penalty, **options)
            found.append(fit)
            self.done += 1
            if self.settings.trial_callback is not None:
                residual = fit.history.residual[-1] if fit.history.residual else np.inf
                atoms = fit.dictionary.atoms
                means = partial(coefficients_by_window, self.data, fit.dictionary)
                progress = Progress(self.done, fit.objective, residual, atoms, means)
                self.settings.trial_callback(progress)
            if fit.interrupted:
                break
        return found

    def halve(self, runs: list[Fit], **options: Any) -> list[Fit]:
        """Return the run that is left when the better half of the runs goes on each time.

        Where the user interrupted one, return those of that round.
        """
        while len(runs) > 1 and not runs[-1].interrupted:
            better = sorted(runs, key=lambda run: run.objective)[: (len(runs) + 1) // 2]
            runs = self.run((run.dictionary for run in better), **options)
        return runs


def _allow_patterns(dictionary: PatternDictionary, patterns: NDArray) -> PatternDictionary:
    """Return the same atoms with more patterns (C, K); new ones begin with a low probability."""
    known = {row.tobytes(): p for row, p in zip(dictionary.patterns, dictionary.probabilities)}
    given = np.array([known.get(row.tobytes(), 0.0) for row in patterns])
    probabilities = (1 - RARELY) * given + RARELY * uniform_probabilities(patterns)
    likelihood = dictionary.likelihood.for_atoms(dictionary.atoms, patterns)
    return replace(dictionary, likelihood=likelihood, probabilities=probabilities)


def restart_idle_atoms(
    data: OpenSignals,
    best: Fit,
    penalty: AtomPenalty,
    settings: Settings,
    rng: np.random.RandomState,
    **options: Any,
) -> Fit:
    """Return a fit whose idle atoms each took half of another, where that lowers the objective.

    ``options`` are those of the runs of EM.
    """
    annealing = annealing_schedule(TRIAL_STEPS, 0.5)
    for _ in range(len(best.dictionary.atoms)):
        usage = best.usage
        idle = int(usage.argmin())
        if usage[idle] >= IDLE * usage.mean():
            break
        parents = usage.argsort()[::-1][:PARENTS]
        trials = []
        for parent in parents[usage[parents] > usage[idle]]:
            atoms = best.dictionary.atoms.copy()
            tilt = np.exp(TILT * rng.standard_normal(atoms.shape[1]))
            atoms[idle], atoms[parent] = atoms[parent] * tilt, atoms[parent] / tilt
            uniform = uniform_probabilities(best.dictionary.patterns)
            split = replace(best.dictionary, atoms=atoms, probabilities=uniform)
            steps = 3 * TRIAL_STEPS
            given = {"annealing": annealing, "max_iter": steps, **options}
            trials.append(settings.run(data, split, penalty, **given))
            if trials[-1].interrupted:
                return replace(best, interrupted=True)
        better = min(trials, key=lambda trial: trial.objective, default=best)
        if better.objective >= best.objective:
            break
        best = better
    return best


def sparsity_penalty(
    data: OpenSignals, fit: Fit, shrink: ConcavePenalty, sparsity: float
) -> ConcavePenalty:
    """Return the penalty that makes atoms sparse, for the mean number of samples of an atom."""
    dictionary, edges = fit.dictionary, fit.dictionary.atoms.shape[1]
    # Atoms are told apart where one is active at a time, or where it is known which ones are.
    separate = dictionary.known_in_time or pattern_sizes(dictionary.patterns).max() <= 1
    return with_sparsity(
        shrink, sparsity, samples=data.total, per_atom=float(fit.usage.mean()), edges=edges,
        separate=separate, variance=mean_square(data),
    )  # fmt: skip
