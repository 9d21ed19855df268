"""Whether signals ask for more than the paper's model, a power of 1 and Gaussian tails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import IDENTITY
from graphdict.core.marginal.power_search import common_factor, present_edges
from graphdict.core.marginal.tails import MOST_TAILS
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.filtered_em import FilteredEM, filtered_likelihood
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


def suffices(
    em: FilteredEM, dictionary: PatternDictionary, single_graph: PatternDictionary
) -> bool:
    """Return whether neither tails nor another power pay on what the plain search found.

    ``single_graph`` is the graph of all samples, whose likelihood says what is learned.
    """
    likelihood = filtered_likelihood(single_graph)
    tails = MOST_TAILS if likelihood.learns_tails else np.inf
    dictionary = _as_filtered(dictionary, likelihood, tails)
    if tails_pay(em, dictionary):
        return False
    one_is_plain = likelihood.filter.parameter <= ONE
    if one_is_plain and not em.settings.falls_apart:
        return True
    gaussian = replace(
        filtered_likelihood(dictionary), tails=np.inf, learns_tails=False, learns_filter=True
    )
    targets, _ = em.expect(replace(dictionary, likelihood=gaussian))
    learned, _ = gaussian.minimise(dictionary.atoms, targets, SUPPORT_STEPS)
    return learned.parameter <= ONE_OF_SEVERAL


def with_states(em: FilteredEM, dictionary: PatternDictionary) -> PatternDictionary:
    """Return a plain dictionary whose atoms are fitted to the samples of another one's."""
    likelihood = replace(
        filtered_likelihood(dictionary), filter=IDENTITY, tails=np.inf, learns_tails=False,
        learns_filter=False, pool=None,
    )  # fmt: skip
    return _fit_anew(em, dictionary, likelihood)


def from_plain_states(
    em: FilteredEM, plain: PatternDictionary, single_graph: PatternDictionary
) -> PatternDictionary:
    """Return a dictionary with the tails of ``single_graph``, in the states of a plain one.

    Edges that its samples rule out are removed. Its power is the one that is given, or 1.
    """
    gaussian = replace(
        filtered_likelihood(single_graph), learns_tails=False, learns_filter=False, pool=None
    )
    states = _as_filtered(plain, gaussian, np.inf)
    likelihood = replace(filtered_likelihood(single_graph), filter=em.settings.filter or IDENTITY)
    return em.rule_out(_fit_anew(em, states, likelihood))


def _fit_anew(
    em: FilteredEM, states: PatternDictionary, likelihood: FilteredLikelihood
) -> PatternDictionary:
    """Return atoms of all edges under a likelihood, fitted to the samples of some states."""
    targets, _ = em.expect(
        replace(states, likelihood=replace(filtered_likelihood(states), pool=None))
    )
    dense = likelihood.for_atoms(np.ones_like(states.atoms), states.patterns)
    atoms = dense.weight_scales(targets)
    atoms = atoms * common_factor(dense, atoms, targets)
    _, atoms = dense.minimise(atoms, targets, STATE_STEPS)
    return replace(states, likelihood=dense.for_atoms(atoms), atoms=atoms)


def explains_as_well(
    em: FilteredEM,
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
    gaussian = replace(
        filtered_likelihood(other), learns_tails=False, learns_filter=False, pool=None
    )
    judged, edges = held_out_evidence(em, other), _count_edges(em, other)
    samples = em.effective_samples
    for each in plains:
        plain = em.run(_as_filtered(each, gaussian, np.inf), REFITTING, 4).dictionary
        before = held_out_evidence(em, plain)
        if not judged.is_clearly_better_than(before, errors):
            return True
        if edges < DISSOLVED * other.atoms.size:
            continue
        gain = (judged.total - before.total) * samples / em.data.total
        if gain < 0.5 * (edges - _count_edges(em, plain)) * float(np.log(samples)):
            return True
    return False


def _count_edges(em: FilteredEM, dictionary: PatternDictionary) -> int:
    """Return how many edges all atoms have that are more than rounding."""
    targets, _ = em.expect(dictionary)
    return int(present_edges(filtered_likelihood(dictionary), dictionary.atoms, targets).sum())


def _as_filtered(
    dictionary: PatternDictionary, likelihood: FilteredLikelihood, tails: float
) -> PatternDictionary:
    """Return a Gaussian dictionary as one of a filtered likelihood, with power 1."""
    likelihood = replace(likelihood, filter=IDENTITY, tails=tails)
    likelihood = likelihood.for_atoms(dictionary.atoms, dictionary.patterns)
    return replace(dictionary, likelihood=likelihood)


def tails_pay(em: FilteredEM, dictionary: PatternDictionary) -> bool:
    """Return whether tails gain what the information criterion asks of a parameter."""
    likelihood = filtered_likelihood(dictionary)
    if np.isinf(likelihood.tails) or not likelihood.learns_tails:
        return not np.isinf(likelihood.tails)
    for _ in range(TAIL_STEPS):
        dictionary = em.renew_tails(dictionary)
    gaussian = replace(dictionary, likelihood=replace(likelihood, tails=np.inf))
    evidence = [
        e_step(em.data, each, statistics=False).log_evidence for each in (dictionary, gaussian)
    ]
    return evidence[0] - evidence[1] > 0.5 * np.log(em.data.total)


def criterion(em: FilteredEM, dictionary: PatternDictionary) -> float:
    """Return the Bayesian information criterion, edges counted."""
    edges, samples = _count_edges(em, dictionary), em.effective_samples
    expected = e_step(em.data, dictionary, statistics=False)
    return -2 * samples * expected.log_likelihood + edges * float(np.log(samples))
