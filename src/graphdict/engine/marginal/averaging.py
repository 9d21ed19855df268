"""Atoms averaged over their posterior, in place of the single most probable ones.

Where atoms overlap, the most probable dictionary fits the very samples it explains: patterns and
atoms confirm each other's errors. Here an E-step alternates with one draw of all weights, edge by
edge, from their distribution given everything else, and the expected weights of many such rounds
are averaged. In the prior an edge is absent with some probability, or its weight is uniform up to
twice the size of a strong edge, or larger with a small probability; these probabilities are learned
on the way. A round takes one pass over the samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.likelihood import NOISE, SMALLEST
from graphdict.core.marginal.m_step import m_step
from graphdict.core.marginal.protocols import AtomPenalty
from graphdict.core.solvers.base import Callback, Progress, warn_interrupted
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.passes import e_step
from graphdict.engine.marginal.sample_values import coefficients_by_window
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.tasks import advance

FADED = 10 * SMALLEST  # of the signals' precision: a weight that only pruning would make zero
STRONG = 0.2  # share of the weights, the largest ones, whose mean is the size of a strong edge
ABSENT, LEAST, MOST = 1e-4, 0.05, 2.0  # relative to it: no edge, and the range of common weights
KEPT = ("round", "previous", "counts", "sums")  # by a checkpoint
COMMON, BEYOND = 8, 1.5  # number of common weights, and the ratio of those that are larger


@dataclass(frozen=True)
class WeightLevels:
    """Weights that an edge may have: none, ``COMMON`` equally probable ones, and larger ones."""

    values: NDArray  # (levels,) ascending

    @classmethod
    def of(cls, atoms: NDArray, variance: float = 1.0) -> WeightLevels:
        """Return levels that cover the weights of atoms (K, E), for signals of some variance."""
        faded = FADED / variance
        ordered = np.sort(atoms[atoms > 0])
        strong = ordered[-max(1, round(STRONG * ordered.size)) :]
        strong = strong[strong > faded] if strong[-1] > faded else strong[-1:]
        # Between channels that are nearly copies of each other a weight can be of any size.
        size = min(float(strong.mean()), 1.5 * float(np.median(strong)))
        values = [ABSENT * size, *np.linspace(LEAST * size, MOST * size, COMMON)]
        while values[-1] < ordered[-1]:
            values.append(BEYOND * values[-1])
        return cls(np.array(values))

    def initial_shares(self) -> NDArray:
        """Return the share (levels,) of the weights expected at each level at first."""
        larger = len(self.values) - 1 - COMMON
        return np.array([1 - STRONG, *[STRONG / COMMON] * COMMON, *[1e-3] * larger])

    def log_prior(self, counts: NDArray) -> NDArray:
        """Return the log-probability (levels,) of each level, learned from ``counts`` of weights.

        The counts (levels,) are smoothed by one weight more at each level.
        """
        counts = counts + 1
        counts[1 : COMMON + 1] = counts[1 : COMMON + 1].mean()
        return np.log(counts / counts.sum())


def average_draws(
    data: OpenSignals,
    fit: Fit,
    penalty: AtomPenalty,
    *,
    draws: int,
    pattern_prior: str,
    rng: np.random.RandomState,
    callback: Callback | None = None,
    stage: Any = None,
) -> Fit:
    """Return ``fit`` with atoms, probabilities and ``stay`` averaged over rounds that follow it.

    There are ``draws`` of them, after half as many that are not counted. Edges that were not ruled
    out have no weight of zero in the average; ``edge_probabilities`` says how often they were
    there. The objective is that of ``penalty`` at the average: higher than at its minimum. A
    ``stage`` of a checkpoint is asked where to begin and told where to go on.
    """
    dictionary, rounds = fit.dictionary, draws // 2 + draws
    if not dictionary.atoms.any():
        return fit
    levels = WeightLevels.of(dictionary.atoms, dictionary.likelihood.noise / NOISE)
    counts = levels.initial_shares() * np.count_nonzero(dictionary.atoms)
    sums: dict[str, Any] = dict.fromkeys((*_averaged(dictionary), "edges", "count"), 0.0)
    first, interrupted, previous = 0, False, fit.objective
    if stage is not None and stage.saved is not None:
        first, previous, counts, sums = (stage.saved[name] for name in KEPT)
        dictionary = dictionary.with_state(stage.saved["dictionary"])
        rng.set_state(tuple(stage.saved["random"]))
    index = first - 1
    try:
        for index in range(first, rounds):
            expected = e_step(data, dictionary)
            # One more draw of each pattern than expected: none is ever ruled out.
            smoothed = expected._replace(draws=expected.draws + 1)
            dictionary = m_step(dictionary, smoothed, penalty, pattern_prior, atom_steps=0)
            drawn = dictionary.likelihood.draw_atoms(
                dictionary.atoms, expected.statistics, expected.usage,
                levels=levels.values, log_prior=levels.log_prior(counts), rng=rng,
            )  # fmt: skip
            counts = drawn.counts
            dictionary = replace(dictionary, atoms=drawn.atoms)
            if index >= draws // 2:
                means = replace(dictionary, atoms=drawn.means)
                new = {**_averaged(means), "edges": drawn.edges, "count": 1}
                sums = {name: sums[name] + value for name, value in new.items()}
            if stage is not None:
                kept = zip(KEPT, (index + 1, previous, counts, sums), strict=True)
                stage.offer(partial(_state, dict(kept), dictionary, rng.get_state(legacy=True)))
            advance()
            if callback is not None:
                objective = -2 * expected.log_likelihood + penalty.value(drawn.atoms)
                change = abs(objective - previous) / max(1.0, abs(objective))
                previous = objective
                coefficients = partial(coefficients_by_window, data, dictionary)
                progress = Progress(index + 1, objective, change, drawn.atoms, coefficients)
                if callback(progress):
                    interrupted = True
                    break
    except KeyboardInterrupt:
        interrupted = True
        warn_interrupted(index + 1)
    if stage is not None and interrupted:
        stage.flush()
    sums = dict(sums)
    count = sums.pop("count")
    if not count:
        return replace(fit, interrupted=True)
    averages = {name: total / count for name, total in sums.items()}
    edge_probabilities = averages.pop("edges")
    dictionary = replace(dictionary, **averages)
    expected = e_step(data, dictionary, statistics=False)
    return replace(
        fit,
        dictionary=dictionary,
        usage=expected.usage @ dictionary.patterns,
        objective=-2 * expected.log_likelihood + penalty.value(dictionary.atoms),
        log_likelihood=expected.log_likelihood,
        interrupted=interrupted,
        edge_probabilities=edge_probabilities,
    )


def _state(kept: dict[str, Any], dictionary: PatternDictionary, random: Any) -> dict[str, Any]:
    """Return what draws need to go on from here, as a checkpoint keeps it."""
    return {**kept, "dictionary": dictionary.state(), "random": list(random)}


def _averaged(dictionary: PatternDictionary) -> dict[str, Any]:
    """Return the fields that are averaged."""
    parts = {"atoms": dictionary.atoms, "probabilities": dictionary.probabilities}
    return parts if dictionary.stay is None else {**parts, "stay": dictionary.stay}
