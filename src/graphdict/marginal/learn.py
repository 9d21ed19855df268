"""From signals to a dictionary: annealed starts, the best one finished, then made sparse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import kernels
from graphdict.marginal.em import Data, Dictionary, Fit, expectation_maximisation
from graphdict.marginal.likelihood import PatternGraphs
from graphdict.marginal.patterns import uniform_probabilities
from graphdict.marginal.penalty import FadingPenalty, information_toll
from graphdict.marginal.support import cut_silent_nodes, prune
from graphdict.solvers.base import History

__all__ = ["Settings", "learn", "random_start"]

COLDEST, WARM_UP, TRIAL = 0.5, 15, 10
STAY = 0.9  # where the chance to stay begins
RELATIVE_WIDTH = 0.03  # of the mean weight 1 / N that a complete graph would have


@dataclass(frozen=True)
class Settings:
    """How to learn; the names are those of the estimator."""

    alpha_w: float = 0.02
    sparsity: float = 1.0
    free: bool = False
    markov: bool = False
    n_init: int = 4
    max_iter: int = 200
    tol: float = 1e-5
    callback: Callable[..., Any] | None = None


def random_start(
    data: Data, patterns: NDArray, noise: float, rng: np.random.RandomState, markov: bool
) -> Dictionary:
    """Atoms of inverse mean squared differences over random soft memberships."""
    signals, count = data.signals, patterns.shape[1]
    nodes = signals.shape[1]
    members = rng.dirichlet(np.full(count, 0.5), size=len(data.counts))
    members = data.by_sample(members).astype(signals.dtype)
    distances = kernels.weighted_distances(signals, members).astype(np.float64)
    distances /= members.sum(axis=0)[:, None]
    distances = np.maximum(distances, 1e-3 * distances.mean())
    probabilities = uniform_probabilities(patterns)
    active = probabilities @ patterns.sum(axis=1)
    atoms = 1 / (distances * (nodes - 1) * active)
    graphs = PatternGraphs.of(patterns, atoms, noise)
    return Dictionary(graphs, atoms, probabilities, STAY if markov else None)


def learn(
    data: Data, patterns: NDArray, noise: float, settings: Settings, rng: np.random.RandomState
) -> Fit:
    """The dictionary of least penalised negative marginal likelihood that the search finds."""
    # Noise of that variance adds to every squared difference, which keeps each weight finite.
    shrink = FadingPenalty(settings.alpha_w + 2 * noise)
    common: dict[str, Any] = {"free": settings.free, "tol": settings.tol}
    tempers = np.linspace(COLDEST, 1, WARM_UP, endpoint=False).tolist()
    best: Fit | None = None
    for _ in range(settings.n_init):
        start = random_start(data, patterns, noise, rng, settings.markov)
        fit = expectation_maximisation(
            data, start, shrink, tempers=tempers, max_iter=WARM_UP + TRIAL, **common
        )
        if best is None or fit.objective < best.objective:
            best = fit
    assert best is not None
    common |= {"max_iter": settings.max_iter, "callback": settings.callback}
    best = expectation_maximisation(data, best.dictionary, shrink, **common)
    if best.interrupted:
        return best
    penalty = _toll(data, best, shrink, settings.sparsity)
    # Cutting and pruning only lower the objective of this last stage, whose history is kept.
    common["history"] = History()
    dictionary = cut_silent_nodes(data, best)
    if penalty is not shrink:
        best = expectation_maximisation(data, dictionary, penalty, **common)
        dictionary = prune(best.dictionary, penalty.width)
    if best.interrupted:
        return best
    return expectation_maximisation(data, dictionary, penalty, **common)


def _toll(data: Data, fit: Fit, shrink: FadingPenalty, sparsity: float) -> FadingPenalty:
    """The fading penalty for what each atom was learned from."""
    if sparsity == 0:
        return shrink
    samples, nodes = data.signals.shape
    per_atom = float((data.counts @ fit.coefficients).mean())
    toll = sparsity * information_toll(samples, per_atom, fit.dictionary.atoms.shape[1])
    variance = float(np.mean(np.square(data.signals), dtype=np.float64))
    return FadingPenalty(shrink.alpha, toll, RELATIVE_WIDTH / (nodes * variance))
