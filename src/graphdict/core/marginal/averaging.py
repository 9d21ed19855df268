"""Atoms averaged over what the signals leave possible, in place of the single most probable ones.

Where atoms overlap, the most probable dictionary fits the very samples it explains: patterns and
atoms confirm each other's errors. Here an E-step alternates with one draw of all weights, edge by
edge, from their distribution given everything else, and the expected weights of many such rounds
are averaged. Before samples are seen, an edge is absent with some probability, or its weight is
spread evenly up to twice the size of a strong edge, with some chance of more; these probabilities
are learned on the way.

Given the graphs ``L_c`` of patterns, the expected number ``n_c`` of their samples, and the expected
sum ``D`` of squared differences over the samples of an atom, a change of one weight by ``d``
changes the expected log-likelihood by

    1/2 sum_{c contains the atom} n_c log(1 + d r_c)  -  1/2 d D,

with the effective resistances ``r_c`` of the edge, and the inverse of each ``L_c`` by a matrix of
rank one. A round takes O(C K E N^2), whatever the number of samples, and one pass over them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.core.marginal.dictionary import Dictionary
from graphdict.core.marginal.em import Fit, maximise
from graphdict.core.marginal.passes import coefficients_by_window, expect
from graphdict.core.marginal.penalty import FadingPenalty
from graphdict.core.solvers.base import Callback, Progress, warn_interrupted
from graphdict.engine.samples import Data

__all__ = ["Levels", "average_draws", "draw_atoms"]

STRONG = 0.2  # share of the weights, the largest ones, whose mean is the size of a strong edge
ABSENT, LEAST, MOST = 1e-4, 0.05, 2.0  # of it: what stands for no edge, and common weights
COMMON, BEYOND = 8, 1.5  # number of common weights, and the ratio of those that are larger


@dataclass(frozen=True)
class Levels:
    """Weights that an edge may have: none, ``COMMON`` ones that are alike, and larger ones."""

    values: NDArray

    @classmethod
    def of(cls, atoms: NDArray) -> Levels:
        """For atoms like these."""
        ordered = np.sort(atoms[atoms > 0])
        strong = ordered[-max(1, round(STRONG * ordered.size)) :]
        # Between channels that are nearly copies of each other a weight can be of any size.
        size = min(float(strong.mean()), 1.5 * float(np.median(strong)))
        values = [ABSENT * size, *np.linspace(LEAST * size, MOST * size, COMMON)]
        while values[-1] < ordered[-1]:
            values.append(BEYOND * values[-1])
        return cls(np.array(values))

    def first_guess(self) -> NDArray:
        """Share of the weights that have each value, before anything is known of them."""
        larger = len(self.values) - 1 - COMMON
        return np.array([1 - STRONG, *[STRONG / COMMON] * COMMON, *[1e-3] * larger])

    def log_prior(self, mass: NDArray) -> NDArray:
        """Where so many weights had each value, and one more has."""
        mass = mass + 1
        mass[1 : COMMON + 1] = mass[1 : COMMON + 1].mean()
        return np.log(mass / mass.sum())


def average_draws(
    data: Data,
    fit: Fit,
    penalty: FadingPenalty,
    draws: int,
    law: str,
    rng: np.random.RandomState,
    callback: Callback | None = None,
) -> Fit:
    """Rounds from where ``fit`` ended, half as many as ``draws`` and then those to be averaged.

    No weight of an average is zero; how often an edge was there is its probability. The objective
    is that of ``penalty`` at the average: higher than at its minimum.
    """
    dictionary, rounds = fit.dictionary, draws // 2 + draws
    if not dictionary.atoms.any():
        return fit
    levels = Levels.of(dictionary.atoms)
    mass = levels.first_guess() * np.count_nonzero(dictionary.atoms)
    sums: dict[str, Any] = dict.fromkeys((*_parts(dictionary), "edges", "count"), 0.0)
    index, interrupted, previous = -1, False, fit.objective
    try:
        for index in range(rounds):
            expected = expect(data, dictionary)
            # One more draw of each pattern than expected: none is ever ruled out.
            smoothed = expected._replace(draws=expected.draws + 1)
            dictionary = maximise(dictionary, smoothed, penalty, law, inner=0)
            atoms, means, edges, mass = draw_atoms(
                dictionary, expected.usage, expected.distances, levels, mass, rng
            )
            dictionary = replace(dictionary, atoms=atoms)
            if index >= draws // 2:
                new = {**_parts(replace(dictionary, atoms=means)), "edges": edges, "count": 1}
                sums = {name: sums[name] + value for name, value in new.items()}
            if callback is not None:
                objective = -2 * expected.log_likelihood + penalty.value(atoms)
                change = abs(objective - previous) / max(1.0, abs(objective))
                previous = objective
                said = partial(coefficients_by_window, data, dictionary)
                if callback(Progress(index + 1, objective, change, atoms, said)):
                    interrupted = True
                    break
    except KeyboardInterrupt:
        interrupted = True
        warn_interrupted(index + 1)
    kept = sums.pop("count")
    if not kept:
        return replace(fit, interrupted=True)
    averages = {name: total / kept for name, total in sums.items()}
    probable = averages.pop("edges")
    dictionary = replace(dictionary, **averages)
    expected = expect(data, dictionary, distances=False)
    return replace(
        fit,
        dictionary=dictionary,
        usage=expected.usage @ dictionary.patterns,
        objective=-2 * expected.log_likelihood + penalty.value(dictionary.atoms),
        log_likelihood=expected.log_likelihood,
        interrupted=interrupted,
        edge_probabilities=probable,
    )


def _parts(dictionary: Dictionary) -> dict[str, Any]:
    """What is averaged."""
    parts = {"atoms": dictionary.atoms, "probabilities": dictionary.probabilities}
    return parts if dictionary.stay is None else {**parts, "stay": dictionary.stay}


def draw_atoms(
    dictionary: Dictionary,
    usage: NDArray,
    distances: NDArray,
    levels: Levels,
    mass: NDArray,
    rng: np.random.RandomState,
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """All weights drawn anew, one after the other in random order, each given the others.

    Returns the draw (K, E), for each weight its expectation and the probability of its edge at the
    time it was drawn, and the expected number of weights at each level; ``mass`` are those of the
    round before. Edges of weight zero have been ruled out and stay away.
    """
    atoms = np.array(dictionary.atoms, dtype=np.float64, order="C")
    inverses = [np.linalg.inv(m) for _, m in dictionary.graphs.precisions(atoms)]
    means, edges, found = np.zeros_like(atoms), np.zeros_like(atoms), np.zeros_like(mass)
    order = rng.permutation(np.flatnonzero(atoms))
    patterns = np.ascontiguousarray(dictionary.patterns, dtype=bool)
    usage, distances = (np.ascontiguousarray(a, dtype=np.float64) for a in (usage, distances))
    native.draw_weights(
        atoms, np.concatenate(inverses), (patterns, usage, distances),
        (levels.values, levels.log_prior(mass)), (order, rng.random_sample(len(order))),
        (means, edges, found),
    )  # fmt: skip
    return atoms, means, edges, found
