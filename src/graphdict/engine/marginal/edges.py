"""How sure the edges of a fit are, by one pass over its samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.confidence import (
    EdgeEstimates,
    edge_confidence,
    edge_estimates,
    edge_intervals,
)
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.signed import SignedLikelihood
from graphdict.engine.marginal.learn_filtered import MOST_FILTERED
from graphdict.engine.marginal.passes import certainty_of, e_step
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.series import memory_of, observed_pairs

MOST_NODES = 256  # for which errors of all pairs are found in good time
LEAST_OBSERVED = 0.5  # share of the pairs of values: the others are what the fit says of them


def measure_edges(
    data: OpenSignals, dictionary: PatternDictionary
) -> tuple[NDArray, NDArray, EdgeEstimates] | None:
    """Return the confidence (K, E) in edges, intervals (K, E, 2) of weights, and estimates.

    Samples count by how sure their pattern is, and those that only repeat what others say count
    once; where values are missing, they count by the share of pairs that were observed. Return None
    where this is not known: with most pairs missing, activations that are given by time, very many
    nodes or patterns.
    """
    observed = observed_pairs(data) if data.windowed.has_missing else 1.0
    if observed < LEAST_OBSERVED or dictionary.known_in_time or data.nodes > MOST_NODES:
        return None
    if len(dictionary.patterns) > MOST_FILTERED:
        return None
    likelihood = dictionary.likelihood
    if not isinstance(likelihood, FilteredLikelihood):
        given = dictionary.patterns, dictionary.atoms, likelihood.noise  # type: ignore[attr-defined]
        likelihood = FilteredLikelihood.of(*given)
        dictionary = replace(dictionary, likelihood=likelihood)
    expected = e_step(data, dictionary)
    moments = expected.statistics[0] / np.maximum(expected.usage, 1e-300)[:, None, None]
    counts = certainty_of(data, dictionary) * observed / memory_of(data)
    if np.isfinite(likelihood.tails):  # a sample of unknown loudness says a little less
        freedom = likelihood.tails + likelihood.dimensions
        counts = counts * freedom / (freedom + 2)
    estimates = edge_estimates(likelihood, dictionary.atoms, moments, counts)
    confidence = edge_confidence(estimates, signed=isinstance(likelihood, SignedLikelihood))
    return confidence, edge_intervals(estimates), estimates
