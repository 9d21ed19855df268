"""The M-step: atoms, pattern probabilities and the probability to stay from expected statistics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import ExpectedStatistics
from graphdict.core.marginal.patterns import fit_probabilities
from graphdict.core.marginal.protocols import AtomPenalty

ATOM_STEPS = 3  # on the atoms for each pass over the samples


def m_step(
    dictionary: PatternDictionary,
    expected: ExpectedStatistics,
    penalty: AtomPenalty,
    pattern_prior: str = "independent",
    atom_steps: int = ATOM_STEPS,
) -> PatternDictionary:
    """Return the dictionary after an M-step, with ``atom_steps`` steps on the atoms.

    Each raises the expected log-likelihood minus the penalty. How pattern probabilities are fitted,
    see :func:`~graphdict.core.marginal.patterns.fit_probabilities`; positions in time that are
    known beforehand have none to fit.
    """
    averages = tuple(sums / expected.samples for sums in expected.statistics)
    usage = expected.usage / expected.samples
    likelihood, atoms = dictionary.likelihood.m_step(
        dictionary.atoms, averages, usage, penalty, atom_steps
    )
    dictionary = replace(dictionary, likelihood=likelihood, atoms=atoms)
    if dictionary.known_in_time:
        return dictionary
    probabilities = fit_probabilities(
        dictionary.patterns, expected.draws, dictionary.probabilities, pattern_prior
    )
    stay = dictionary.stay
    if stay is not None and expected.steps:
        stay = float(np.clip(expected.stays / expected.steps, 0.0, 1 - 1e-6))
    return replace(dictionary, probabilities=probabilities, stay=stay)
