"""From signals to a dictionary: annealed starts, the best one finished, then made sparse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.marginal.dictionary import Dictionary
from graphdict.core.marginal.likelihood import PatternGraphs
from graphdict.core.marginal.patterns import uniform_probabilities
from graphdict.core.marginal.penalty import FadingPenalty, pull_on_weights, with_toll
from graphdict.core.marginal.timeline import n_levels
from graphdict.core.solvers.base import Callback, History, Progress
from graphdict.engine.checkpoint import Checkpoint
from graphdict.engine.marginal.averaging import average_draws
from graphdict.engine.marginal.em import Fit, expectation_maximisation
from graphdict.engine.marginal.passes import coefficients_by_window, mean_square, random_distances
from graphdict.engine.marginal.samples import Data
from graphdict.engine.marginal.support import cut, prune

__all__ = ["Settings", "Trials", "drifting_start", "learn", "pull_for", "random_start"]

COLDEST, WARM_UP, TRIAL = 0.1, 40, 10
CUTS = 4  # what is cut sharpens the posterior, which shows what else to cut
IDLE = 0.1  # share of the mean usage below which an atom is put to other use
PARENTS, TILT = 6, 0.5  # atoms to try to split, and how unlike their halves start
RARELY = 0.1  # probability of patterns that a start did not allow, to begin with
STAY = 0.9  # where the chance to stay begins


@dataclass(frozen=True)
class Settings:
    """How to learn; the names are those of the estimator."""

    alpha_w: float = 0.04
    sparsity: float = 1.0
    prior: str = "independent"
    n_init: int = 8
    max_iter: int = 200
    tol: float = 1e-5
    average: int = 0
    callback: Callback | None = None
    heard: Callback | None = None  # told of each short run of the search
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None, {}))

    @property
    def law(self) -> str:
        """How pattern probabilities are fitted; see :func:`fit_probabilities`."""
        return "free" if self.prior == "free" else "independent"

    @property
    def trials(self) -> int:
        """Number of short runs until one start is left."""
        total, left = self.n_init, self.n_init
        while left > 1:
            left = (left + 1) // 2
            total += left
        return total

    def run(
        self, data: Data, dictionary: Dictionary, penalty: FadingPenalty, **options: Any
    ) -> Fit:
        """One run of EM, which is a stage of the checkpoint."""
        options = {"law": self.law, "tol": self.tol, "max_iter": self.max_iter, **options}
        stage = self.checkpoint.stage()
        return expectation_maximisation(data, dictionary, penalty, stage=stage, **options)


def random_start(
    data: Data, patterns: NDArray, noise: float, rng: np.random.RandomState, prior: str
) -> Dictionary:
    """Atoms of inverse mean squared differences over random soft memberships."""
    distances = random_distances(data, rng, patterns.shape[1])
    distances = np.maximum(distances, 1e-3 * (distances.mean() or 1.0))
    probabilities = uniform_probabilities(patterns)
    active = probabilities @ patterns.sum(axis=1)
    atoms = 1 / (distances * (data.nodes - 1) * active)
    pattern_graphs = PatternGraphs.of(patterns, atoms, noise)
    return Dictionary(pattern_graphs, atoms, probabilities, STAY if prior == "markov" else None)


def pull_for(patterns: NDArray, alpha_w: float) -> FadingPenalty:
    """The pull on atoms that are used as often as patterns (C, K) alone let one expect."""
    share = float(uniform_probabilities(patterns) @ patterns.mean(axis=1))
    return pull_on_weights(alpha_w, share)


def drifting_start(data: Data, patterns: NDArray, noise: float) -> Dictionary:
    """Every level of the hierarchy an equal part of the same dense graph."""
    count = patterns.shape[1]
    weight = 1 / (2 * data.nodes * mean_square(data) * n_levels(count))
    atoms = np.full((count, graphs.n_edges(data.nodes)), weight)
    probabilities = np.full(len(patterns), 1 / len(patterns))
    pattern_graphs = PatternGraphs.of(patterns, atoms, noise)
    return Dictionary(pattern_graphs, atoms, probabilities, drifts=True)


def learn(
    data: Data, patterns: NDArray, noise: float, settings: Settings, rng: np.random.RandomState
) -> Fit:
    """The dictionary of least penalised negative marginal likelihood that the search finds."""
    drifts = settings.prior == "hierarchy"
    if drifts:
        shrink = pull_on_weights(settings.alpha_w, 1 / n_levels(patterns.shape[1]))
    else:
        shrink = pull_for(patterns, settings.alpha_w)
    shown: dict[str, Any] = {"callback": settings.callback}
    if drifts:
        dictionary = drifting_start(data, patterns, noise)
    else:
        found = _search(data, patterns, noise, shrink, settings, rng)
        if not found.interrupted:
            found = _revive(data, found, shrink, settings, rng)
        if found.interrupted:
            return found
        dictionary = found.dictionary
    best = settings.run(data, dictionary, shrink, **shown)
    dictionary = cut(data, best.dictionary)
    for _ in range(0 if drifts else CUTS):
        if dictionary is best.dictionary or best.interrupted:
            break
        best = settings.run(data, dictionary, shrink, **shown)
        dictionary = cut(data, best.dictionary)
    if best.interrupted:
        return best
    if settings.sparsity == 0 or settings.average:
        best = settings.run(data, dictionary, shrink, **shown)
        if best.interrupted or not settings.average:
            return best
        given = settings.average, settings.law, rng, settings.callback
        return average_draws(data, best, shrink, *given)
    penalty = _toll(data, best, shrink, settings.sparsity)
    # Pruning only lowers the objective of this last stage, whose history is kept.
    shown["history"] = History()
    best = settings.run(data, dictionary, penalty, **shown)
    if best.interrupted:
        return best
    # What the penalty drove below its width is to be zero.
    dictionary = prune(best.dictionary, best.dictionary.atoms > penalty.width)
    return settings.run(data, dictionary, penalty, **shown)


def _search(
    data: Data,
    patterns: NDArray,
    noise: float,
    penalty: FadingPenalty,
    settings: Settings,
    rng: np.random.RandomState,
) -> Fit:
    """Annealed runs from random starts; the better half goes on until one is left.

    Starts differ in how many atoms may be active at once, from all that the patterns allow down to
    one: where few are active in truth, runs that allow many end in poorer optima.
    """
    tempers = np.linspace(COLDEST, 1, WARM_UP, endpoint=False).tolist()
    sizes = patterns.sum(axis=1)
    largest = int(sizes.max())
    allowed = [largest, *range(1, largest)]
    starts = (
        random_start(data, patterns[sizes <= allowed[i % largest]], noise, rng, settings.prior)
        for i in range(settings.n_init)
    )
    trials = Trials(data, penalty, settings)
    runs = trials.of(starts, tempers=tempers, max_iter=WARM_UP + TRIAL)
    while len(runs) > 1 and not runs[-1].interrupted:
        runs = sorted(runs, key=lambda run: run.objective)[: (len(runs) + 1) // 2]
        runs = trials.of((run.dictionary for run in runs), max_iter=TRIAL)
    best = min(runs, key=lambda run: run.objective)
    if len(best.dictionary.probabilities) == len(patterns):
        return replace(best, interrupted=runs[-1].interrupted)
    dictionary = _widen(best.dictionary, patterns)
    if runs[-1].interrupted:
        return replace(best, dictionary=dictionary, interrupted=True)
    return settings.run(data, dictionary, penalty, max_iter=2 * TRIAL)


@dataclass
class Trials:
    """Short runs, counted for whoever wants to hear of them."""

    data: Data
    penalty: FadingPenalty
    settings: Settings
    done: int = 0

    def of(self, starts: Iterable[Dictionary], **options: Any) -> list[Fit]:
        """Run them one by one, but none after one that the user interrupted."""
        found = []
        for start in starts:
            fit = self.settings.run(self.data, start, self.penalty, **options)
            found.append(fit)
            self.done += 1
            if self.settings.heard is not None:
                residual = fit.history.residual[-1] if fit.history.residual else np.inf
                atoms = fit.dictionary.atoms
                means = partial(coefficients_by_window, self.data, fit.dictionary)
                self.settings.heard(Progress(self.done, fit.objective, residual, atoms, means))
            if fit.interrupted:
                break
        return found


def _widen(dictionary: Dictionary, patterns: NDArray) -> Dictionary:
    """The same atoms where further patterns are possible, at first rarely."""
    known = {
        row.tobytes(): p for row, p in zip(dictionary.graphs.patterns, dictionary.probabilities)
    }
    given = np.array([known.get(row.tobytes(), 0.0) for row in patterns])
    probabilities = (1 - RARELY) * given + RARELY * uniform_probabilities(patterns)
    graphs = PatternGraphs.of(patterns, dictionary.atoms, dictionary.graphs.noise)
    return replace(dictionary, graphs=graphs, probabilities=probabilities)


def _revive(
    data: Data, best: Fit, penalty: FadingPenalty, settings: Settings, rng: np.random.RandomState
) -> Fit:
    """Put idle atoms to use: each takes half of another, where that lowers the objective."""
    tempers = np.linspace(0.5, 1, TRIAL, endpoint=False).tolist()
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
            trials.append(settings.run(data, split, penalty, tempers=tempers, max_iter=3 * TRIAL))
            if trials[-1].interrupted:
                return replace(best, interrupted=True)
        better = min(trials, key=lambda trial: trial.objective, default=best)
        if better.objective >= best.objective:
            break
        best = better
    return best


def _toll(data: Data, fit: Fit, shrink: FadingPenalty, sparsity: float) -> FadingPenalty:
    """The fading penalty for what each atom was learned from."""
    per_atom = float(fit.usage.mean())
    dictionary, edges = fit.dictionary, fit.dictionary.atoms.shape[1]
    # They are told apart where one is active at a time, or which ones are is known.
    apart = dictionary.drifts or dictionary.patterns.sum(axis=1).max() <= 1
    return with_toll(shrink, sparsity, data.total, per_atom, edges, apart, mean_square(data))
