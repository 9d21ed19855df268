"""Whether signals ask for more than the paper's model, a power of 1 and Gaussian tails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filter_search import present_edges
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import PowerFilter
from graphdict.core.marginal.tails import MOST_TAILS
from graphdict.engine.marginal.filtered_starts import FilteredRuns, filtered
from graphdict.engine.marginal.held_out import held_out_evidence
from graphdict.engine.marginal.passes import e_step

__all__ = ["ONE", "criterion", "explains_as_well", "suffices", "tails_pay"]

TAIL_STEPS = 2  # to find tails before it is asked whether they pay
ONE = 1.05  # powers up to which are 1 for one graph
ONE_OF_SEVERAL = 1.1  # and on the support of several, of which some edges are missing
SUPPORT_STEPS = 30  # to learn a power on a support
CLEARLY = 2.0  # standard errors
DISSOLVED = 0.9  # share of pairs that are joined, from which on a graph says nothing
REFITTING = 10  # iterations without the penalty that the plain search has


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


def explains_as_well(
    runs: FilteredRuns, plain: PatternDictionary, other: PatternDictionary
) -> bool:
    """Return whether a filter or tails do not gain clearly over the plain dictionary.

    The gain is that of held-out blocks of time, and clear above two of its standard errors. Where a
    filter joins nearly all pairs of nodes, graphs have dissolved: it then has to gain what the
    information criterion asks for the edges that it has more. The plain dictionary has been learned
    with a penalty: for the comparison its weights are fitted without.
    """
    gaussian = replace(filtered(other), learns_tails=False, learns_power=False, pool=None)
    plain = _as_filtered(plain, gaussian, np.inf)
    plain = runs.run(plain, REFITTING, 4).dictionary
    first, second = (held_out_evidence(runs, each) for each in (plain, other))
    if not second.is_clearly_better_than(first, CLEARLY):
        return True
    before, after = (_count_edges(runs, each) for each in (plain, other))
    if after < DISSOLVED * other.atoms.size:
        return False
    samples = runs.effective_samples
    gain = (second.total - first.total) * samples / runs.data.total
    return gain < 0.5 * (after - before) * float(np.log(samples))


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
