"""How well atoms of one half of the samples explain the other half, by which choices are made.

Segments of time alternate between the halves. Atoms are fitted to the moments of one half, as the
responsibilities of the fit at hand have them, and judged by the marginal likelihood of the other
half, whose responsibilities and gains are found anew under these atoms. Chosen so are how many
samples atoms have in common, the power of the filter, how many edges go, and whether there is a
filter at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.elimination import unprofitable_edges
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_graphs import PooledSamples
from graphdict.core.marginal.power_search import Halves, Judge, add_own_pool, common_factor
from graphdict.core.marginal.support import prune_edges
from graphdict.engine.marginal.filtered_em import HALVES_SEGMENTS, FilteredEM, filtered_likelihood
from graphdict.engine.marginal.filtered_starts import random_filtered_start
from graphdict.engine.marginal.passes import e_step_of_half, evidence_by_segment
from graphdict.engine.tasks import advance

SETTLED = 2e-5  # decrease of a half's loss in some steps, for each value, that is none
STEPS = 1000  # on the atoms of a half at most, until its loss has settled
POOL_ITERATIONS, POOL_STEPS = 8, 5  # of EM on a half, and on the atoms in each
STARTS = 2  # in each half, where states are found anew
MORE_IN_COMMON = 3.0, 10.0, 30.0  # pooled samples to try first, in units of the dimension
LESS_IN_COMMON = 1.0, 0.0  # and where more than the first are too many


class Judged(NamedTuple):
    """Atoms of either half, and what they say of the other."""

    evidence: NDArray  # (segments,) log-evidence of each under the other half's atoms
    atoms: tuple[NDArray, NDArray]  # (K, E) of either half

    @property
    def total(self) -> float:
        """Log-evidence of all samples."""
        total = float(self.evidence.sum())
        return total if np.isfinite(total) else -np.inf

    def is_clearly_better_than(self, other: Judged, errors: float = 1.0) -> bool:
        """Return whether the gain over all segments exceeds ``errors`` standard errors of it."""
        gains = self.evidence - other.evidence
        return bool(gains.sum() > errors * len(gains) ** 0.5 * gains.std(ddof=1))


def held_out_evidence(
    em: FilteredEM,
    dictionary: PatternDictionary,
    halves: Halves | None = None,
    starts: Sequence[NDArray] | None = None,
) -> Judged:
    """Return the log-evidence of each half under atoms of the other, segment by segment.

    ``starts`` are the atoms (K, E) of either half to begin with, those of all samples by default.
    The filter stays that of the dictionary.
    """
    halves = em.halves(dictionary) if halves is None else halves
    starts = (dictionary.atoms, dictionary.atoms) if starts is None else starts
    likelihood = replace(filtered_likelihood(dictionary), learns_filter=False)
    settled, found = SETTLED * likelihood.dimension, []
    for targets, start in zip(halves.fitted, starts, strict=True):
        _, atoms = likelihood.for_atoms(start).minimise(start, targets, STEPS, settled=settled)
        found.append(atoms)
    return _judge(em, dictionary, found)


def _judge(em: FilteredEM, dictionary: PatternDictionary, atoms: Sequence[NDArray]) -> Judged:
    """Return the log-evidence of each half under given atoms (K, E) of the other."""
    evidence = np.zeros(HALVES_SEGMENTS)
    for half, own in enumerate(atoms):
        others = slice(1 - half, None, 2)
        given = dictionary.with_atoms(own), HALVES_SEGMENTS, 1 - half
        evidence[others] = evidence_by_segment(em.data, *given)[others]
    return Judged(evidence, (atoms[0], atoms[1]))


def without_unprofitable(
    em: FilteredEM, dictionary: PatternDictionary, halves: Halves, atoms: Sequence[NDArray]
) -> list[NDArray]:
    """Return atoms (K, E) of either half without some edges that do not pay in this half.

    Half of the samples lose half as much without an edge, so that edges cost half there: otherwise
    those that all samples show would go.
    """
    found = []
    for own, judged in zip(atoms, halves.judged, strict=True):
        whole = dictionary.with_atoms(own)
        given = judged.usage, em.effective_samples, 0.5 * em.settings.sparsity
        bad = unprofitable_edges(filtered_likelihood(whole), own, *given, last=False)
        found.append(prune_edges(whole, (own > 0) & ~bad).atoms)
    return found


def choose_pool(
    em: FilteredEM,
    dictionary: PatternDictionary,
    single_graph: PatternDictionary,
    rng: np.random.RandomState,
) -> tuple[PatternDictionary, bool]:
    """Return the dictionary with the number of pooled samples that lets halves explain each other.

    Here responsibilities are learned from one half as well: those of all samples know of the other
    half, and would ask for atoms that have less in common. A window has so many samples that no
    later step changes its state. So states that last over windows are found in each half anew.
    Halves of few windows tell little of how much less atoms should have in common than the first
    amount: there less has to be clearly better.

    Returned is also whether several atoms explain the other half better than ``single_graph``,
    which is asked of states that last over windows.
    """
    likelihood = filtered_likelihood(dictionary)
    if likelihood.pool is None:
        return dictionary, True
    lasting = em.data.lasting and not likelihood.flat.any()
    start: Sequence[NDArray] = (dictionary.atoms, dictionary.atoms)
    if lasting:
        start = [_learn_half_anew(em, dictionary, single_graph, half, rng) for half in (0, 1)]
    chosen, best = 0.0, None
    for amounts in (MORE_IN_COMMON, LESS_IN_COMMON):
        atoms, clearly = start, lasting and amounts is LESS_IN_COMMON
        for amount in amounts:
            tried = amount * likelihood.dimension / em.data.total
            atoms = [_learn_half(em, dictionary, half, atoms[half], tried) for half in (0, 1)]
            judged = _judge(em, dictionary, atoms)
            if best is not None and judged.total < best.total:
                break
            if best is not None and clearly and not judged.is_clearly_better_than(best):
                break
            chosen, best = amount, judged
            start = judged.atoms if amount == MORE_IN_COMMON[0] else start
        if chosen > MORE_IN_COMMON[0]:
            break
    assert best is not None
    share = chosen * likelihood.dimension / em.data.total
    pool = PooledSamples(likelihood.pool.moments, share)
    several = not lasting or best.total > held_out_evidence(em, single_graph).total
    return replace(dictionary, likelihood=replace(likelihood, pool=pool)), several


def _learn_half_anew(
    em: FilteredEM,
    dictionary: PatternDictionary,
    single_graph: PatternDictionary,
    half: int,
    rng: np.random.RandomState,
) -> NDArray:
    """Return atoms (K, E) that explain one half best, of annealed EM on it from random starts."""
    share = filtered_likelihood(dictionary).dimension / em.data.total
    best, most = dictionary.atoms, -np.inf
    for _ in range(STARTS):
        atoms = random_filtered_start(em, single_graph, dictionary.patterns, rng).atoms
        atoms = _learn_half(em, dictionary, half, atoms, share, em.temperatures)
        given = dictionary.with_atoms(atoms), HALVES_SEGMENTS, half
        own = evidence_by_segment(em.data, *given)[half::2].sum()
        if own > most:
            best, most = atoms, own
    return best


def _learn_half(
    em: FilteredEM,
    dictionary: PatternDictionary,
    half: int,
    atoms: NDArray,
    share: float,
    annealing: Sequence[float] = (),
) -> NDArray:
    """Return atoms (K, E) after EM on one half, pooled samples being ``share`` of all samples.

    ``annealing`` are inverse temperatures of the first iterations.
    """
    likelihood = filtered_likelihood(dictionary)
    for inverse_temperature in (*annealing, *[1.0] * POOL_ITERATIONS):
        given = replace(dictionary, atoms=atoms), HALVES_SEGMENTS, half, inverse_temperature
        usage, statistics = e_step_of_half(em.data, *given)
        targets = likelihood.targets(statistics, usage, pooled=False)
        pooled = add_own_pool(likelihood, targets, share)
        _, atoms = likelihood.minimise(atoms, pooled, POOL_STEPS)
        advance()
    return atoms


def judge_by_evidence(em: FilteredEM, dictionary: PatternDictionary) -> Judge:
    """Return what judges a likelihood by the held-out evidence of atoms fitted under it.

    The cost is minus twice the log-evidence per sample, times the number of independent samples.
    """
    halves = em.halves(dictionary)
    scale = -2 * em.effective_samples / em.data.total

    def judge(likelihood: FilteredLikelihood, atoms: NDArray) -> tuple[float, NDArray]:
        starts = [atoms * common_factor(likelihood, atoms, targets) for targets in halves.fitted]
        other = replace(dictionary, likelihood=likelihood)
        judged = held_out_evidence(em, other, halves, starts)
        return scale * judged.total, judged.atoms[1]

    return judge
