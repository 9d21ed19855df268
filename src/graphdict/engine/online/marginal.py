"""The marginal model in a stream: online expectation-maximisation.

Given the posterior of the patterns, all that atoms and probabilities need of the samples are
averages: squared differences of each atom's samples (moments), how often patterns were active
(usage) and drawn (draws), how often a chain stayed (stays). A batch is one E-step, its averages are
mixed with those so far, and M-steps on the mixture follow.

The penalty that makes atoms sparse is concave: under it, an edge that is gone stays away. Atoms are
therefore kept dense, without it, and those with exact zeros are derived from them for every batch,
as a fit to all samples does in the end. So edges can return.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from graphdict.core import graphs
from graphdict.core.marginal.dictionary import Dictionary
from graphdict.core.marginal.likelihood import NOISE, PatternGraphs
from graphdict.core.marginal.penalty import FadingPenalty, with_toll
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.marginal.em import maximise
from graphdict.engine.marginal.learn import Settings, pull_for
from graphdict.engine.marginal.passes import Expectation, expect
from graphdict.engine.marginal.samples import open_data
from graphdict.engine.marginal.support import prune
from graphdict.engine.online.stream import Batch, Rules, Statistics

__all__ = ["MARGINAL_RULES"]

STEPS, ROUNDS = 5, 10  # on the atoms, and rounds of them for a batch at most
SETTLED = 1e-3  # change of a round, relative to the largest weight, that is none


def check(model: Any) -> None:
    """Refuse what a stream has no place for."""
    if model.prior == "hierarchy":
        raise ValueError(
            'prior="hierarchy" divides the whole duration of the signals, which a stream does not '
            'have: use prior="markov" or "independent" for partial_fit'
        )
    if model.average:
        raise ValueError(
            f"average={model.average} goes through all samples many times, which a stream does not "
            "keep: use average=0 for partial_fit"
        )


def recall(model: Any) -> Statistics:
    """The statistics at which the dictionary of a fitted model is what it is."""
    shown = model._active_atoms.astype(np.float64)
    probabilities = model.pattern_probabilities_
    pattern_graphs = PatternGraphs.of(model.patterns_, shown, model.noise_)
    push = pattern_graphs.resistances(shown, probabilities)
    _, penalty = _penalties(model, probabilities, len(model.coefficients_), shown.shape[1])
    # Of an edge that is zero, or was on its way there, only a bound is known: it is taken to be
    # about to appear.
    fading = penalty.width if penalty.toll > 0 else 0.0
    moments = np.where(shown > fading, push - penalty.slope(shown), push)
    return {
        "usage": probabilities,
        "draws": probabilities,
        "stays": np.array(float(model.stay_probability_)),
        "atoms": _dense(shown, penalty.width),
        "shown": shown,
        "moments": np.maximum(moments, 0),
        "probabilities": probabilities,
    }


@single_threaded_blas
def follow(model: Any, statistics: Statistics, batch: Batch) -> tuple[Statistics, dict[str, Any]]:
    """One E-step on the batch, its statistics averaged in, and M-steps on the averages."""
    stay = float(statistics["stays"]) if model.prior == "markov" else None
    shown = statistics["shown"]
    pattern_graphs = PatternGraphs.of(model.patterns_, shown, model.noise_)
    dictionary = Dictionary(pattern_graphs, shown, statistics["probabilities"], stay)
    with open_data(batch.signals, model.window_size, len(model.patterns_)) as data:
        expected = expect(data, dictionary, coefficients=True)
        coefficients = np.repeat(expected.coefficients, data.counts, axis=0)
    samples, rows = expected.samples, expected.windows
    new = {
        "moments": expected.distances / samples,
        "usage": expected.usage / samples,
        "draws": expected.draws / rows,
        "stays": np.array(expected.stays / max(rows - 1, 1)),
    }
    for name in new:
        part = batch.of_edges if name == "moments" else batch.share
        new[name] = statistics[name] + part * (new[name] - statistics[name])
    if rows == 1:  # nothing to stay from
        new["stays"] = statistics["stays"]
    shrink, penalty = _penalties(model, new["usage"], batch.weight, shown.shape[1])
    averages = expected._replace(
        usage=new["usage"] * samples,
        draws=new["draws"] * rows,
        stays=float(new["stays"]) * (rows - 1),
        distances=new["moments"] * samples,
    )
    law = Settings(prior=model.prior).law
    dense = dictionary.with_atoms(statistics["atoms"])
    dense = _settle(dense, averages, shrink, law)
    sparse = dense
    if model.sparsity > 0:
        sparse = _settle(dense, averages, penalty, law)
        sparse = prune(sparse, sparse.atoms > penalty.width)
    evidence = expected.log_likelihood
    new |= {
        "atoms": dense.atoms,
        "shown": sparse.atoms,
        "probabilities": sparse.probabilities,
    }
    return {**statistics, **new}, {
        "atoms_": sparse.atoms,
        "coefficients_": np.clip(coefficients, 0, 1).astype(batch.signals.dtype),
        "pattern_probabilities_": sparse.probabilities,
        "stay_probability_": sparse.stay or 0.0,
        "log_likelihood_": evidence,
        "objective_": -2 * evidence + penalty.value(shown),
    }


def _settle(
    dictionary: Dictionary, averages: Expectation, penalty: FadingPenalty, law: str
) -> Dictionary:
    """M-steps on averages until the atoms hardly move."""
    for _ in range(ROUNDS):
        before = dictionary.atoms
        dictionary = maximise(dictionary, averages, penalty, law, STEPS)
        change = np.abs(dictionary.atoms - before).max(initial=0)
        if change <= SETTLED * before.max(initial=0):
            break
    return dictionary


def _penalties(
    model: Any, usage: NDArray, samples: float, edges: int
) -> tuple[FadingPenalty, FadingPenalty]:
    """What dense and sparse atoms pay that were learned from so many samples, as in a fit."""
    patterns, variance = model.patterns_, model.noise_ / NOISE
    shrink = pull_for(patterns, model.alpha_w)
    per_atom = float((usage @ patterns).mean()) * samples
    apart = patterns.sum(axis=1).max() <= 1
    return shrink, with_toll(
        shrink, model.sparsity, round(samples), per_atom, edges, apart, variance
    )


def _dense(atoms: NDArray, least: float) -> NDArray:
    """No weight below ``least``, but between nodes that an atom holds apart."""
    dense = np.maximum(atoms, least)
    nodes = graphs.n_nodes(atoms.shape[1])
    rows, cols = graphs.edge_index(nodes)
    for atom, weights in enumerate(atoms):
        _, labels = connected_components(graphs.adjacency(weights > 0), directed=False)
        dense[atom, labels[rows] != labels[cols]] = 0
    return dense


MARGINAL_RULES = Rules(check, recall, follow, kept=200, starts=1)
