"""The marginal model in a stream: online expectation-maximisation.

Given the posterior of the patterns, all that atoms and probabilities need of the samples are
averages: the statistics of the likelihood (of the Gaussian one, the squared differences of each
atom's samples, "moments"), how often patterns were active ("usage") and drawn ("draws"), how often
a chain stayed ("stays"). A batch is one E-step, its averages are mixed with those so far, and
M-steps on the mixture follow.

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
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import ExpectedStatistics
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.m_step import m_step
from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.core.marginal.penalty import ConcavePenalty, shrinkage_for, with_sparsity
from graphdict.core.marginal.support import prune_edges
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.estimator_protocols import StreamedMarginal
from graphdict.engine.marginal.passes import e_step
from graphdict.engine.marginal.samples import open_signals
from graphdict.engine.online.stream import Batch, Statistics, StreamRules

ATOM_STEPS, M_STEPS = 5, 10  # steps on the atoms in an M-step, and M-steps for a batch at most
SETTLED = 1e-3  # change in an M-step, relative to the largest weight, that is none


def check(model: StreamedMarginal) -> None:
    """Raise where a parameter of the model cannot be used in a stream."""
    if model.prior == "hierarchy":
        raise ValueError(
            'prior="hierarchy" divides the whole duration of the signals, which a stream does not '
            'have: use prior="markov" or "independent" for partial_fit'
        )
    if model.signed:
        raise ValueError(
            "signed=True goes through all samples many times, which a stream does not keep: use "
            "signed=False for partial_fit"
        )
    if model.average:
        raise ValueError(
            f"average={model.average} goes through all samples many times, which a stream does not "
            "keep: use average=0 for partial_fit"
        )
    if model.filter_power not in ("auto", 1) or model.tails not in ("auto", "gaussian", np.inf):
        raise ValueError(
            f"filter_power={model.filter_power!r} and tails={model.tails!r} are not known in a "
            'stream: use filter_power=1 and tails="gaussian" for partial_fit'
        )


def statistics_of_fit(model: StreamedMarginal) -> Statistics:
    """Return the statistics at which M-steps would leave a fitted model as it is."""
    shown = model._active_atoms.astype(np.float64)
    probabilities = model.pattern_probabilities_
    likelihood = model._pattern_likelihood(shown)
    _, penalty = _penalties(model, probabilities, len(model.coefficients_), shown.shape[1])
    # Of an edge that is zero, or was on its way there, only a bound is known: it is taken to be
    # about to appear.
    threshold = penalty.width if penalty.strength > 0 else 0.0
    averages = likelihood.stationary_statistics(shown, probabilities, penalty, threshold)
    return {
        "usage": probabilities,
        "draws": probabilities,
        "stays": np.array(float(model.stay_probability_)),
        "atoms": _dense(shown, penalty.width),
        "shown": shown,
        "probabilities": probabilities,
        **dict(zip(likelihood.statistic_names, averages, strict=True)),
    }


@single_threaded_blas
def update(
    model: StreamedMarginal, statistics: Statistics, batch: Batch
) -> tuple[Statistics, dict[str, Any]]:
    """Take an E-step on the batch, mix its averages in, and take M-steps on the averages.

    Return the new statistics and the fitted attributes.
    """
    stay = float(statistics["stays"]) if model.prior == "markov" else None
    shown = statistics["shown"]
    likelihood = model._pattern_likelihood(shown)
    dictionary = PatternDictionary(likelihood, shown, statistics["probabilities"], stay)
    patterns = len(model.patterns_)
    with open_signals(
        batch.signals, model.window_size, patterns, recordings=batch.recordings
    ) as data:
        expected = e_step(data, dictionary, coefficients=True)
        coefficients = np.repeat(expected.coefficients, data.counts, axis=0)
    samples, rows = expected.samples, expected.windows
    names = likelihood.statistic_names
    new = {
        **{name: sums / samples for name, sums in zip(names, expected.statistics, strict=True)},
        "usage": expected.usage / samples,
        "draws": expected.draws / rows,
        "stays": np.array(expected.stays / max(expected.steps, 1)),
    }
    for name in new:
        part = batch.of_edges if name in names else batch.share
        new[name] = statistics[name] + part * (new[name] - statistics[name])
    if not expected.steps:  # nothing to stay from
        new["stays"] = statistics["stays"]
    shrink, penalty = _penalties(model, new["usage"], batch.weight, shown.shape[1])
    averages = expected._replace(
        usage=new["usage"] * samples,
        draws=new["draws"] * rows,
        stays=float(new["stays"]) * expected.steps,
        statistics=tuple(new[name] * samples for name in names),
    )
    prior = model._settings.pattern_prior
    dense = dictionary.with_atoms(statistics["atoms"])
    dense = _m_steps(dense, averages, shrink, prior)
    sparse = dense
    if model.sparsity > 0:
        sparse = _m_steps(dense, averages, penalty, prior)
        sparse = prune_edges(sparse, sparse.atoms > penalty.width)
    new |= {"atoms": dense.atoms, "shown": sparse.atoms, "probabilities": sparse.probabilities}
    return {**statistics, **new}, {
        "atoms_": sparse.atoms,
        "coefficients_": coefficients.astype(batch.signals.dtype),
        "gains_": np.ones(len(coefficients)),
        "pattern_probabilities_": sparse.probabilities,
        "stay_probability_": sparse.stay or 0.0,
        "log_likelihood_": expected.log_likelihood,
        "objective_": -2 * expected.log_likelihood + penalty.value(shown),
    }


def _m_steps(
    dictionary: PatternDictionary,
    averages: ExpectedStatistics,
    penalty: ConcavePenalty,
    pattern_prior: str,
) -> PatternDictionary:
    """Return the dictionary after M-steps on averages, taken until the atoms hardly move."""
    for _ in range(M_STEPS):
        before = dictionary.atoms
        dictionary = m_step(dictionary, averages, penalty, pattern_prior, ATOM_STEPS)
        change = np.abs(dictionary.atoms - before).max(initial=0)
        if change <= SETTLED * before.max(initial=0):
            break
    return dictionary


def _penalties(
    model: StreamedMarginal, usage: NDArray[Any], samples: float, edges: int
) -> tuple[ConcavePenalty, ConcavePenalty]:
    """Return the penalties on dense and on sparse atoms for so many samples, as in a fit.

    ``usage`` (C,) is the share of the samples that have each pattern.
    """
    patterns, variance = model.patterns_, model.noise_ / NOISE
    alpha: Any = getattr(model, "alpha_w_", model.alpha_w)
    shrink = shrinkage_for(patterns, alpha, variance)
    return shrink, with_sparsity(
        shrink, model.sparsity, samples=round(samples),
        per_atom=float((usage @ patterns).mean()) * samples, edges=edges,
        separate=pattern_sizes(patterns).max() <= 1, variance=variance,
    )  # fmt: skip


def _dense(atoms: NDArray[Any], least: float) -> NDArray[Any]:
    """Return atoms (K, E) with no weight below ``least`` but between components of an atom."""
    dense = np.maximum(atoms, least)
    nodes = graphs.n_nodes(atoms.shape[1])
    rows, cols = graphs.edge_index(nodes)
    for atom, weights in enumerate(atoms):
        _, labels = connected_components(graphs.adjacency(weights > 0), directed=False)
        dense[atom, labels[rows] != labels[cols]] = 0
    return dense


MARGINAL_RULES = StreamRules(check, statistics_of_fit, update, first_samples=200, starts=1)
