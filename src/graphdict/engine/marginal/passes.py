"""Passes over the samples of the marginal model: sums for learning, and what is said of each.

A pass is told a view of the dictionary. Where there is a chain, two sweeps come first: messages are
carried from block to block, forward and backward, after which blocks are independent of each other
and the posterior of each is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import (
    Posterior,
    backward_message,
    best_message,
    forward_message,
    most_probable_path,
)
from graphdict.core.marginal.chance import Chance, memberships
from graphdict.core.marginal.dictionary import Dictionary
from graphdict.core.marginal.missing import expected_distances
from graphdict.core.marginal.view import View
from graphdict.engine.executor import Shard, map_blocks_of_shard
from graphdict.engine.marginal.samples import Data, Samples
from graphdict.engine.sources import put_together, too_large
from graphdict.native.products import weighted_distances

__all__ = [
    "Expectation",
    "coefficients_by_window",
    "coefficients_of",
    "evidence_of",
    "expect",
    "mean_square",
    "path_of",
    "probabilities_of",
    "random_distances",
    "second_moments",
]


class Expectation(NamedTuple):
    """What an M-step needs of the posterior: sums over samples or windows."""

    samples: int
    windows: int
    usage: NDArray  # (C,) expected number of samples of each pattern
    draws: NDArray  # (C,)
    stays: float
    evidence: float  # log p of all samples
    distances: NDArray  # (K, E) expected sums of squared differences where each atom is active
    coefficients: NDArray = np.empty((0, 0))  # (windows, K) posterior mean, where asked for

    @property
    def log_likelihood(self) -> float:
        """Of a sample."""
        return self.evidence / self.samples


def expect(
    data: Data,
    dictionary: Dictionary,
    temper: float = 1.0,
    *,
    distances: bool = True,
    coefficients: bool = False,
) -> Expectation:
    """The E-step; without ``distances`` where no M-step follows."""
    view = View.of(data, dictionary, temper)
    states, sums = data.executor.map_blocks(
        _expect, _messages(data, view), view, distances, coefficients
    )
    found = Expectation(data.total, data.windows, *sums)
    return found._replace(coefficients=data.executor.gather(states)) if coefficients else found


def second_moments(data: Data, dictionary: Dictionary) -> tuple[NDArray, NDArray, NDArray]:
    """Of the samples of each atom: their number (K,), how many of them are silent at each node
    (K, N), and their second moments (K, N, N), as sums.
    """
    view = View.of(data, dictionary)
    return data.executor.map_blocks(_second_moments, _messages(data, view), view)[1]


def mean_square(data: Data) -> float:
    """Of all values; 1 where there is no variation at all."""
    _, (total,) = data.executor.map_blocks(_squares, [])
    return total / (data.total * data.nodes) or 1.0


def random_distances(data: Data, rng: np.random.RandomState, count: int) -> NDArray:
    """Mean squared differences (K, E) over random soft memberships."""
    chance = Chance.take(rng, data.windows, memberships, count)
    _, (distances, mass) = data.executor.map_shards(_random_distances, [], chance, count)
    return distances / np.maximum(mass, 1e-12)[:, None]


def coefficients_of(data: Data, dictionary: Dictionary, out: Any = None) -> NDArray:
    """Posterior mean (T, K) of the activations of each sample."""
    pieces = _stream(data, dictionary, _coefficients)
    return put_together(pieces, data.counts, len(dictionary.atoms), data.dtype, out)


def coefficients_by_window(data: Data, dictionary: Dictionary) -> NDArray:
    """The same as one array with a row for each window."""
    return np.concatenate(list(_stream(data, dictionary, _coefficients)))


def probabilities_of(data: Data, dictionary: Dictionary) -> NDArray:
    """Posterior (T, C) of the patterns of each sample."""
    pieces = _stream(data, dictionary, _probabilities)
    return put_together(pieces, data.counts, len(dictionary.patterns), np.float64)


def evidence_of(data: Data, dictionary: Dictionary) -> NDArray:
    """``log p(x_t)`` (T,), given the past where there is a chain; windows share theirs equally."""
    pieces = _stream(data, dictionary, _evidence)
    return put_together(pieces, data.counts, 1, np.float64)[:, 0]


def path_of(data: Data, dictionary: Dictionary) -> NDArray:
    """Index (T,) of the most probable pattern of each sample, or of the most probable path."""
    if dictionary.stay is None:
        pieces = _stream(data, dictionary, _likeliest)
        return put_together(pieces, data.counts, 1, np.int64)[:, 0]
    view, executor = View.of(data, dictionary), data.executor
    kept = _kept(data, _log_likelihoods, view)
    before = executor.scan(_best, [kept], None, view)
    last = executor.scan(_previous, [kept, before], None, view, reverse=True)
    work = partial(map_blocks_of_shard, _path)
    pieces = (rows for rows, _ in executor.stream(work, view, columns=[kept, before, last]))
    return put_together(pieces, data.counts, 1, np.int64)[:, 0]


def _stream(data: Data, dictionary: Dictionary, what: Any) -> Iterator[NDArray]:
    """What is said of windows, a part of them after the other."""
    view = View.of(data, dictionary)
    work = partial(map_blocks_of_shard, _say)
    for rows, _ in data.executor.stream(work, what, view, columns=_messages(data, view)):
        yield rows


def _messages(data: Data, view: View) -> list[Any]:
    """What a posterior needs beside the block itself: nothing, or the ends of a chain."""
    if view.dictionary.stay is None:
        return []
    kept = _kept(data, _scaled, view)
    before = data.executor.scan(_forward, [kept], None, view)
    after = data.executor.scan(_backward, [kept], None, view, reverse=True)
    return [kept, before, after]


def _kept(data: Data, step: Any, view: View) -> Any:
    """What sweeps need of every block, kept unless it is too large or needed only once."""
    shape = (data.windows, len(view.dictionary.patterns))
    if data.in_one_block or too_large(shape, np.float64):
        return data.nothing
    return data.executor.map_blocks(step, [], view)[0]


# On blocks ------------------------------------------------------------------------------------


def _expect(samples: Samples, rows: slice, *given: Any) -> Any:
    *messages, view, distances, coefficients = given
    posterior = view.posterior(samples, rows, *messages)
    block = samples.block(rows)
    means = posterior.probabilities @ view.patterns
    if samples.size == 1:
        usage = posterior.probabilities.sum(axis=0)
    else:
        usage = block.counts @ posterior.probabilities
    sums: Any = 0.0
    if distances and view.covariances is not None:
        shares = block.by_sample(posterior.probabilities)
        sums = expected_distances(block.signals, view.covariances, view.patterns, shares)
    elif distances:
        weights = block.by_sample(means).astype(block.signals.dtype, copy=False)
        sums = weighted_distances(block.signals, weights).astype(np.float64)
    evidence = float(posterior.evidence.sum())
    found = (usage, posterior.draws, posterior.stays, evidence, sums)
    return means if coefficients else None, found


def _second_moments(samples: Samples, rows: slice, *given: Any) -> Any:
    *messages, view = given
    posterior = view.posterior(samples, rows, *messages)
    block = samples.complete(rows)
    weights = block.by_sample(posterior.probabilities @ view.patterns)
    signals = block.signals.astype(np.float64)
    silent = weights.T @ (np.square(signals) <= view.dictionary.graphs.noise)
    moments = np.stack([(signals.T * weight) @ signals for weight in weights.T])
    return None, (weights.sum(axis=0), silent, moments)


def _squares(samples: Samples, rows: slice) -> Any:
    signals = samples.complete(rows).signals
    return None, (float(np.square(signals).sum(dtype=np.float64)),)


def _random_distances(shard: Shard, columns: Any, chance: Chance, count: int) -> Any:
    samples: Any = shard.backend
    here = slice(samples.first, samples.first + samples.rows)
    members = chance.rows(here, memberships, count)
    return shard.map(_member_distances, [[members[rows] for rows in shard.blocks]])


def _member_distances(samples: Samples, rows: slice, members: NDArray) -> Any:
    block = samples.complete(rows)
    weights = block.by_sample(members).astype(block.signals.dtype)
    distances = weighted_distances(block.signals, weights).astype(np.float64)
    return None, (distances, weights.sum(axis=0, dtype=np.float64))


# Along a chain --------------------------------------------------------------------------------


def _scaled(samples: Samples, rows: slice, view: View) -> Any:
    return view.scaled(samples, rows), ()


def _forward(samples: Samples, rows: slice, kept: Any, before: Any, view: View) -> NDArray:
    likelihoods = view.scaled(samples, rows) if kept is None else kept
    return forward_message(likelihoods, *view.chain, before)


def _backward(samples: Samples, rows: slice, kept: Any, after: Any, view: View) -> NDArray:
    likelihoods = view.scaled(samples, rows) if kept is None else kept
    return backward_message(likelihoods, *view.chain, after)


def _log_likelihoods(samples: Samples, rows: slice, view: View) -> Any:
    return view.log_likelihoods(samples, rows), ()


def _best(samples: Samples, rows: slice, kept: Any, before: Any, view: View) -> NDArray:
    values = view.log_likelihoods(samples, rows) if kept is None else kept
    return best_message(values, *view.chain, before)


def _previous(
    samples: Samples, rows: slice, kept: Any, before: Any, last: int | None, view: View
) -> int:
    values = view.log_likelihoods(samples, rows) if kept is None else kept
    return most_probable_path(values, *view.chain, before, last)[1]


def _path(samples: Samples, rows: slice, kept: Any, before: Any, last: Any, view: View) -> Any:
    values = view.log_likelihoods(samples, rows) if kept is None else kept
    return most_probable_path(values, *view.chain, before, last)[0][:, None], ()


# What is said of windows ----------------------------------------------------------------------


def _say(samples: Samples, rows: slice, *given: Any) -> Any:
    *messages, what, view = given
    posterior = view.posterior(samples, rows, *messages)
    return what(posterior, view, samples.counts[rows]), ()


def _coefficients(posterior: Posterior, view: View, counts: NDArray) -> NDArray:
    return np.clip(posterior.probabilities @ view.patterns, 0, 1)


def _probabilities(posterior: Posterior, view: View, counts: NDArray) -> NDArray:
    return posterior.probabilities


def _evidence(posterior: Posterior, view: View, counts: NDArray) -> NDArray:
    return (posterior.evidence / counts)[:, None]


def _likeliest(posterior: Posterior, view: View, counts: NDArray) -> NDArray:
    return posterior.probabilities.argmax(axis=1)[:, None]
