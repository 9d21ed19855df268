"""Whether signals ask for more than the paper's model, a power of 1 and Gaussian tails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filter_search import common_factor, present_edges
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import PowerFilter
from graphdict.core.marginal.tails import MOST_TAILS
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_starts import FilteredRuns, filtered
from graphdict.engine.marginal.held_out import held_out_evidence
from graphdict.engine.marginal.passes import e_step

__all__ = [
    "ONE",
    "PlainFits",
    "criterion",
    "explains_as_well",
    "suffices",
    "tails_pay",
    "with_states",
]

TAIL_STEPS = 2  # to find tails before it is asked whether they pay
ONE = 1.05  # powers up to which are 1 for one graph
ONE_OF_SEVERAL = 1.1  # and on the support of several, of which some edges are missing
SUPPORT_STEPS = 30  # to learn a power on a support
CLEARLY = 2.0  # standard errors
DISSOLVED = 0.9  # share of pairs that are joined, from which on a graph says nothing
REFITTING = 10  # iterations without the penalty that the plain search has
STATE_STEPS = 40  # on plain atoms of given states


class PlainFits(NamedTuple):
    """Fits with a power of 1 and Gaussian tails, where they are asked for."""

    fit: Callable[[], Fit]  # to all samples
    sketch: Callable[[int], Fit]  # of so many starts, to as many samples as a search needs


def suffices(runs: FilteredRuns, dictionary: PatternDictionary, one: PatternDictionary) -> bool:
    """Return whether neither tails nor another power pay on what the plain search found.

    ``one`` is the graph of all samples, whose likelihood says what is learned.
    """
    dictionary = _as_filtered(dictionary, filtered(one), MOST_TAILS)
    if tails_pay(runs, dictionary):
        return False
    if filtered(one).filter.parameter <= ONE:
        return True
    gaussian = replace(filtered(dictionary), tails=np.inf, learns_tails=False, learns_power=True)
    targets, _ = runs.expect(replace(dictionary, likelihood=gaussian))
    learned, _ = gaussian.minimise(dictionary.atoms, targets, SUPPORT_STEPS)
    return learned.parameter <= ONE_OF_SEVERAL


def with_states(runs: FilteredRuns, dictionary: PatternDictionary) -> PatternDictionary:
    """Return a plain dictionary whose atoms are fitted to the samples of another one's."""
    likelihood = replace(filtered(dictionary), learns_tails=False, learns_power=False, pool=None)
    targets, _ = runs.expect(replace(dictionary, likelihood=likelihood))
    plain = _as_filtered(dictionary, likelihood, np.inf)
    dense = filtered(plain).for_atoms(np.ones_like(dictionary.atoms))
    atoms = dense.weight_scales(targets)
    atoms = atoms * common_factor(dense, atoms, targets)
    _, atoms = dense.minimise(atoms, targets, STATE_STEPS)
    return replace(plain, likelihood=dense.for_atoms(atoms), atoms=atoms)


def explains_as_well(
    runs: FilteredRuns,
    plains: Sequence[PatternDictionary],
    other: PatternDictionary,
    errors: float = CLEARLY,
) -> bool:
    """Return whether a filter or tails do not gain clearly over some plain dictionary.

    The gain is that of held-out blocks of time, and clear above so many of its standard errors.
    Where a filter joins nearly all pairs of nodes, graphs have dissolved: it then has to gain what
    the information criterion asks for the edges that it has more. Plain dictionaries have been
    learned with a penalty: for the comparison their weights are fitted without.
    """
    gaussian = replace(filtered(other), learns_tails=False, learns_power=False, pool=None)
    judged, edges = held_out_evidence(runs, other), _count_edges(runs, other)
    samples = runs.effective_samples
    for each in plains:
        plain = runs.run(_as_filtered(each, gaussian, np.inf), REFITTING, 4).dictionary
        before = held_out_evidence(runs, plain)
        if not judged.is_clearly_better_than(before, errors):
            return True
        if edges < DISSOLVED * other.atoms.size:
            continue
        gain = (judged.total - before.total) * samples / runs.data.total
        if gain < 0.5 * (edges - _count_edges(runs, plain)) * float(np.log(samples)):
            return True
    return False


def _count_edges(runs: FilteredRuns, dictionary: PatternDictionary) -> int:
    """Return how many edges all atoms have that are more than rounding."""
    targets, _ = runs.expect(dictionary)
    return int(present_edges(filtered(dictionary), dictionary.atoms, targets).sum())


def _as_filtered(
    dictionary: PatternDictionary, likelihood: FilteredLikelihood, tails: float
) -> PatternDictionary:
    """Return a Gaussian dictionary under the same likelihood by another name."""
    likelihood = replace(likelihood, filter=PowerFilter(1.0), tails=tails)
    likelihood = likelihood.for_atoms(dictionary.atoms, dictionary.patterns)
    return replace(dictionary, likelihood=likelihood)


def tails_pay(runs: FilteredRuns, dictionary: PatternDictionary) -> bool:
    """Return whether tails gain what the information criterion asks of a parameter."""
    likelihood = filtered(dictionary)
    if np.isinf(likelihood.tails) or not likelihood.learns_tails:
        return not np.isinf(likelihood.tails)
    for _ in range(TAIL_STEPS):
        dictionary = runs.renew_tails(dictionary)
    gaussian = replace(dictionary, likelihood=replace(likelihood, tails=np.inf))
    evidence = [
        e_step(runs.data, each, statistics=False).log_evidence for each in (dictionary, gaussian)
    ]
    return evidence[0] - evidence[1] > 0.5 * np.log(runs.data.total)


def criterion(runs: FilteredRuns, dictionary: PatternDictionary) -> float:
    """Return the Bayesian information criterion, edges counted."""
    edges, samples = _count_edges(runs, dictionary), runs.effective_samples
    expected = e_step(runs.data, dictionary, statistics=False)
    return -2 * samples * expected.log_likelihood + edges * float(np.log(samples))
