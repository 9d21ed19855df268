"""Whether signals ask for more than the paper's model, a power of 1 and Gaussian tails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filter_search import common_factor, present_edges
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import IDENTITY
from graphdict.core.marginal.tails import MOST_TAILS
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_starts import FilteredRuns, filtered
from graphdict.engine.marginal.held_out import held_out_evidence
from graphdict.engine.marginal.passes import e_step

TAIL_STEPS = 2  # to find tails before it is asked whether they pay
ONE = 1.05  # powers up to which are 1 for one graph
ONE_OF_SEVERAL = 1.1  # and on the support of several, of which some edges are missing
SUPPORT_STEPS = 30  # to learn a power on a support
CLEARLY = 2.0  # standard errors
DISSOLVED = 0.9  # share of pairs that are joined, from which on a graph says nothing
REFITTING = 10  # iterations without the penalty that the plain search has
STATE_STEPS = 40  # on atoms of given states


class PlainFits(NamedTuple):
    """Fits with a power of 1 and Gaussian tails, where they are asked for."""

    fit: Callable[[], Fit]  # to all samples
    short_fit: Callable[[int], Fit]  # given the number of starts, to a subsample


def suffices(runs: FilteredRuns, dictionary: PatternDictionary, one: PatternDictionary) -> bool:
    """Return whether neither tails nor another power pay on what the plain search found.

    ``one`` is the graph of all samples, whose likelihood says what is learned.
    """
    dictionary = _as_filtered(dictionary, filtered(one), MOST_TAILS)
    if tails_pay(runs, dictionary):
        return False
    if filtered(one).filter.parameter <= ONE:
        return True
    gaussian = replace(filtered(dictionary), tails=np.inf, learns_tails=False, learns_filter=True)
    targets, _ = runs.expect(replace(dictionary, likelihood=gaussian))
    learned, _ = gaussian.minimise(dictionary.atoms, targets, SUPPORT_STEPS)
    return learned.parameter <= ONE_OF_SEVERAL


def with_states(runs: FilteredRuns, dictionary: PatternDictionary) -> PatternDictionary:
    """Return a plain dictionary whose atoms are fitted to the samples of another one's."""
    likelihood = replace(
        filtered(dictionary), filter=IDENTITY, tails=np.inf, learns_tails=False,
        learns_filter=False, pool=None,
    )  # fmt: skip
    return _fit_anew(runs, dictionary, likelihood)


def from_plain_states(
    runs: FilteredRuns, plain: PatternDictionary, one: PatternDictionary
) -> PatternDictionary:
    """Return a dictionary with the tails of ``one`` graph, in the states of a plain one.

    Edges that its samples rule out are removed. Its power is the one that is given, or 1.
    """
    gaussian = replace(filtered(one), learns_tails=False, learns_filter=False, pool=None)
    states = _as_filtered(plain, gaussian, np.inf)
    likelihood = replace(filtered(one), filter=runs.settings.filter or IDENTITY)
    return runs.rule_out(_fit_anew(runs, states, likelihood))


def _fit_anew(
    runs: FilteredRuns, states: PatternDictionary, likelihood: FilteredLikelihood
) -> PatternDictionary:
    """Return atoms of all edges under a likelihood, fitted to the samples of some states."""
    targets, _ = runs.expect(replace(states, likelihood=replace(filtered(states), pool=None)))
    dense = likelihood.for_atoms(np.ones_like(states.atoms), states.patterns)
    atoms = dense.weight_scales(targets)
    atoms = atoms * common_factor(dense, atoms, targets)
    _, atoms = dense.minimise(atoms, targets, STATE_STEPS)
    return replace(states, likelihood=dense.for_atoms(atoms), atoms=atoms)


def explains_as_well(
    runs: FilteredRuns,
    plains: Sequence[PatternDictionary],
    other: PatternDictionary,
    errors: float = CLEARLY,
) -> bool:
    """Return whether a filter or tails do not gain clearly over some plain dictionary.

    The gain is that of held-out segments of time, and clear above ``errors`` standard errors.
    Where a filter joins nearly all pairs of nodes, graphs have dissolved: it then has to gain what
    the information criterion asks for the edges that it has more. Plain dictionaries have been
    learned with a penalty: for the comparison their weights are fitted without.
    """
    gaussian = replace(filtered(other), learns_tails=False, learns_filter=False, pool=None)
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
    """Return a Gaussian dictionary as one of a filtered likelihood, with power 1."""
    likelihood = replace(likelihood, filter=IDENTITY, tails=tails)
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
