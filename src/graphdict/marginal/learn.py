"""From signals to a dictionary: annealed starts, the best one finished, then made sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import kernels
from graphdict.checkpoint import Checkpoint
from graphdict.marginal.em import Data, Dictionary, Fit, expectation_maximisation
from graphdict.marginal.likelihood import PatternGraphs
from graphdict.marginal.patterns import uniform_probabilities
from graphdict.marginal.penalty import FadingPenalty, pull_on_weights, with_toll
from graphdict.marginal.support import cut, prune
from graphdict.marginal.timeline import n_levels
from graphdict.solvers.base import History
from graphdict.threads import single_threaded_blas

__all__ = ["Settings", "drifting_start", "learn", "random_start"]

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
    callback: Callable[..., Any] | None = None
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None, {}))

    @property
    def law(self) -> str:
        """How pattern probabilities are fitted; see :func:`fit_probabilities`."""
        return "free" if self.prior == "free" else "independent"


def random_start(
    data: Data, patterns: NDArray, noise: float, rng: np.random.RandomState, prior: str
) -> Dictionary:
    """Atoms of inverse mean squared differences over random soft memberships."""
    signals, count = data.signals, patterns.shape[1]
    nodes = signals.shape[1]
    members = rng.dirichlet(np.full(count, 0.5), size=len(data.counts))
    members = data.by_sample(members).astype(signals.dtype)
    distances = kernels.weighted_distances(signals, members).astype(np.float64)
    distances /= np.maximum(members.sum(axis=0), 1e-12)[:, None]
    distances = np.maximum(distances, 1e-3 * (distances.mean() or 1.0))
    probabilities = uniform_probabilities(patterns)
    active = probabilities @ patterns.sum(axis=1)
    atoms = 1 / (distances * (nodes - 1) * active)
    graphs = PatternGraphs.of(patterns, atoms, noise)
    return Dictionary(graphs, atoms, probabilities, STAY if prior == "markov" else None)


def drifting_start(data: Data, patterns: NDArray, noise: float) -> Dictionary:
    """Every level of the hierarchy an equal part of the same dense graph."""
    nodes = data.signals.shape[1]
    count = patterns.shape[1]
    variance = float(np.mean(np.square(data.signals), dtype=np.float64)) or 1.0
    weight = 1 / (2 * nodes * variance * n_levels(count))
    atoms = np.full((count, nodes * (nodes - 1) // 2), weight)
    probabilities = np.full(len(patterns), 1 / len(patterns))
    graphs = PatternGraphs.of(patterns, atoms, noise)
    return Dictionary(graphs, atoms, probabilities, drifts=True)


@single_threaded_blas
def learn(
    data: Data, patterns: NDArray, noise: float, settings: Settings, rng: np.random.RandomState
) -> Fit:
    """The dictionary of least penalised negative marginal likelihood that the search finds."""
    drifts = settings.prior == "hierarchy"
    if drifts:
        share = 1 / n_levels(patterns.shape[1])
    else:
        share = float(uniform_probabilities(patterns) @ patterns.mean(axis=1))
    shrink = pull_on_weights(settings.alpha_w, share)
    stage = settings.checkpoint.stage
    common: dict[str, Any] = {
        "law": settings.law,
        "tol": settings.tol,
        "max_iter": settings.max_iter,
        "callback": settings.callback,
    }
    if drifts:
        dictionary = drifting_start(data, patterns, noise)
    else:
        found = _search(data, patterns, noise, shrink, settings, rng)
        if not found.interrupted:
            found = _revive(data, found, shrink, settings, rng)
        if found.interrupted:
            return found
        dictionary = found.dictionary
    best = expectation_maximisation(data, dictionary, shrink, stage=stage(), **common)
    dictionary = cut(data, best)
    for _ in range(0 if drifts else CUTS):
        if dictionary is best.dictionary or best.interrupted:
            break
        best = expectation_maximisation(data, dictionary, shrink, stage=stage(), **common)
        dictionary = cut(data, best)
    if best.interrupted:
        return best
    if settings.sparsity == 0:
        return expectation_maximisation(data, dictionary, shrink, stage=stage(), **common)
    penalty = _toll(data, best, shrink, settings.sparsity)
    # Pruning only lowers the objective of this last stage, whose history is kept.
    common["history"] = History()
    best = expectation_maximisation(data, dictionary, penalty, stage=stage(), **common)
    if best.interrupted:
        return best
    dictionary = prune(best.dictionary, penalty.width)
    return expectation_maximisation(data, dictionary, penalty, stage=stage(), **common)


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
    runs = _until_interrupted(
        expectation_maximisation(
            data,
            random_start(data, patterns[sizes <= allowed[i % largest]], noise, rng, settings.prior),
            penalty,
            tempers=tempers,
            max_iter=WARM_UP + TRIAL,
            law=settings.law,
            tol=settings.tol,
            stage=settings.checkpoint.stage(),
        )
        for i in range(settings.n_init)
    )
    while len(runs) > 1 and not runs[-1].interrupted:
        runs = sorted(runs, key=lambda run: run.objective)[: (len(runs) + 1) // 2]
        runs = _until_interrupted(
            expectation_maximisation(
                data,
                run.dictionary,
                penalty,
                max_iter=TRIAL,
                law=settings.law,
                tol=settings.tol,
                stage=settings.checkpoint.stage(),
            )
            for run in runs
        )
    best = min(runs, key=lambda run: run.objective)
    if len(best.dictionary.probabilities) == len(patterns):
        return replace(best, interrupted=runs[-1].interrupted)
    dictionary = _widen(best.dictionary, patterns)
    if runs[-1].interrupted:
        return replace(best, dictionary=dictionary, interrupted=True)
    return expectation_maximisation(
        data,
        dictionary,
        penalty,
        max_iter=2 * TRIAL,
        law=settings.law,
        tol=settings.tol,
        stage=settings.checkpoint.stage(),
    )


def _widen(dictionary: Dictionary, patterns: NDArray) -> Dictionary:
    """The same atoms where further patterns are possible, at first rarely."""
    known = {
        row.tobytes(): p for row, p in zip(dictionary.graphs.patterns, dictionary.probabilities)
    }
    given = np.array([known.get(row.tobytes(), 0.0) for row in patterns])
    probabilities = (1 - RARELY) * given + RARELY * uniform_probabilities(patterns)
    graphs = PatternGraphs.of(patterns, dictionary.atoms, dictionary.graphs.noise)
    return replace(dictionary, graphs=graphs, probabilities=probabilities)


def _until_interrupted(fits: Iterator[Fit]) -> list[Fit]:
    """Run them one by one, but none after one that the user interrupted."""
    found = []
    for fit in fits:
        found.append(fit)
        if fit.interrupted:
            break
    return found


def _revive(
    data: Data, best: Fit, penalty: FadingPenalty, settings: Settings, rng: np.random.RandomState
) -> Fit:
    """Put idle atoms to use: each takes half of another, where that lowers the objective."""
    tempers = np.linspace(0.5, 1, TRIAL, endpoint=False).tolist()
    for _ in range(len(best.dictionary.atoms)):
        usage = data.counts @ best.coefficients
        idle = int(usage.argmin())
        if usage[idle] >= IDLE * usage.mean():
            break
        parents = usage.argsort()[::-1][:PARENTS]
        trials = []
        for parent in parents[usage[parents] > usage[idle]]:
            atoms = best.dictionary.atoms.copy()
            tilt = np.exp(TILT * rng.standard_normal(atoms.shape[1]))
            atoms[idle], atoms[parent] = atoms[parent] * tilt, atoms[parent] / tilt
            split = replace(
                best.dictionary,
                atoms=atoms,
                probabilities=uniform_probabilities(best.dictionary.graphs.patterns),
            )
            trials.append(
                expectation_maximisation(
                    data,
                    split,
                    penalty,
                    tempers=tempers,
                    max_iter=3 * TRIAL,
                    law=settings.law,
                    tol=settings.tol,
                    stage=settings.checkpoint.stage(),
                )
            )
            if trials[-1].interrupted:
                return replace(best, interrupted=True)
        better = min(trials, key=lambda trial: trial.objective, default=best)
        if better.objective >= best.objective:
            break
        best = better
    return best


def _toll(data: Data, fit: Fit, shrink: FadingPenalty, sparsity: float) -> FadingPenalty:
    """The fading penalty for what each atom was learned from."""
    per_atom = float((data.counts @ fit.coefficients).mean())
    dictionary, edges = fit.dictionary, fit.dictionary.atoms.shape[1]
    # They are told apart where one is active at a time, or which ones are is known.
    apart = dictionary.drifts or dictionary.graphs.patterns.sum(axis=1).max() <= 1
    variance = float(np.mean(np.square(data.signals), dtype=np.float64)) or 1.0
    return with_toll(shrink, sparsity, len(data.signals), per_atom, edges, apart, variance)
