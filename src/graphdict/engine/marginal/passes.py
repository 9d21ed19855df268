"""Passes over the samples of the marginal model: sums to learn from, and values for each sample.

Every block is given the same message, an :class:`~graphdict.core.marginal.e_step.EStep`. Where
there is a Markov chain, two scans come first that carry forward and backward messages from block to
block; after that blocks are independent of each other and the posterior of each is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import (
    Posterior,
    backward_message,
    forward_message,
    most_probable_path,
    viterbi_message,
)
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import EStep, ExpectedStatistics
from graphdict.core.marginal.protocols import SignalBlock
from graphdict.core.marginal.random_rows import RowRandom, even_memberships, random_memberships
from graphdict.core.marginal.spectra import reduce_moments, zero_sum_basis
from graphdict.core.protocols import BlockStates, Step
from graphdict.engine.executor import Shard, map_blocks_of_shard
from graphdict.engine.marginal.samples import OpenSignals, WindowedSignals
from graphdict.engine.sources import put_together, too_large
from graphdict.native.products import weighted_distances

__all__ = [
    "certainty_of",
    "coefficients_by_window",
    "coefficients_of",
    "e_step",
    "e_step_by_halves",
    "e_step_of_half",
    "evidence_by_block",
    "gains_of",
    "log_evidence_of",
    "mean_square",
    "memory_of",
    "most_probable_patterns",
    "random_distances",
    "random_statistics",
    "responsibilities_of",
    "second_moments",
    "tail_logs",
    "variances_of",
]

LEAST_SQUARE = 1e-200  # that can be divided by
LAGS, LAGS_PER_NODE = 200, 3  # at most, at which samples are compared with later ones


def e_step(
    data: OpenSignals,
    dictionary: PatternDictionary,
    inverse_temperature: float = 1.0,
    *,
    statistics: bool = True,
    coefficients: bool = False,
) -> ExpectedStatistics:
    """Return the E-step over all samples.

    Without the ``statistics`` of the likelihood where no M-step follows; with the posterior mean of
    the ``coefficients`` (windows, K) where they are asked for.
    """
    step = _prepare(data, dictionary, inverse_temperature)
    states, (usage, draws, stays, log_evidence, *sums) = data.executor.map_blocks(
        _e_step, _messages(data, step), step, statistics, coefficients
    )
    totals = data.total, data.windows, usage, draws, stays, log_evidence
    found = ExpectedStatistics(*totals, tuple(sums), chains=data.chains)
    return found._replace(coefficients=data.executor.gather(states)) if coefficients else found


def second_moments(
    data: OpenSignals, dictionary: PatternDictionary
) -> tuple[NDArray, NDArray, NDArray]:
    """Return sums over the samples in which each atom is active.

    Their number (K,), in how many of them each node is silent (K, N), and ``x x'`` (K, N, N).
    """
    step = _prepare(data, dictionary)
    return data.executor.map_blocks(_second_moments, _messages(data, step), step)[1]


def mean_square(data: OpenSignals) -> float:
    """Return the mean square of all values; 1 where there is no variation to speak of."""
    _, (total,) = data.executor.map_blocks(_squares, [])
    found = total / (data.total * data.nodes)
    return found if found > LEAST_SQUARE else 1.0


def random_distances(data: OpenSignals, rng: np.random.RandomState, count: int) -> NDArray:
    """Return mean squared differences (count, E) over random soft memberships of the windows."""
    random = RowRandom.take(rng, data.windows, random_memberships, count)
    _, (distances, mass) = data.executor.map_shards(_random_distances, [], random, count)
    return distances / np.maximum(mass, 1e-12)[:, None]


def random_statistics(
    data: OpenSignals, dictionary: PatternDictionary, rng: np.random.RandomState
) -> tuple[NDArray, tuple[NDArray, ...]]:
    """Return usage (C,) and statistics under random soft memberships in place of the posterior.

    Both are divided by the number of samples.
    """
    step, count = _prepare(data, dictionary), len(dictionary.patterns)
    random = RowRandom.take(rng, data.windows, even_memberships, count)
    _, sums = data.executor.map_shards(_random_statistics, [], random, step)
    usage, *statistics = (each / data.total for each in sums)
    return usage, tuple(statistics)


def e_step_by_halves(
    data: OpenSignals, dictionary: PatternDictionary, blocks: int
) -> list[tuple[NDArray, tuple[NDArray, ...]]]:
    """Return usage (C,) and statistics of either half of the samples, as posteriors have them.

    Of so many blocks in time every second one is of the other half. Sums are divided by the number
    of all samples.
    """
    return [e_step_of_half(data, dictionary, blocks, half) for half in (0, 1)]


def e_step_of_half(
    data: OpenSignals, dictionary: PatternDictionary, blocks: int, half: int
) -> tuple[NDArray, tuple[NDArray, ...]]:
    """Return what :func:`e_step_by_halves` does, of the first half (0) or the second (1)."""
    step = _prepare(data, dictionary)
    given = _messages(data, step), step, blocks, half
    usage, *statistics = data.executor.map_blocks(_e_step_of_half, *given)[1]
    return usage / data.total, tuple(each / data.total for each in statistics)


def evidence_by_block(data: OpenSignals, dictionary: PatternDictionary, blocks: int) -> NDArray:
    """Return sums of ``log p(x_t)`` over the samples of each of so many blocks in time.

    They are the blocks of :func:`e_step_by_halves`: those of the first half come first, third, ...
    """
    step = _prepare(data, dictionary)
    given = _messages(data, step), step, blocks
    return data.executor.map_blocks(_evidence_by_block, *given)[1][0]


def variances_of(data: OpenSignals) -> NDArray:
    """Return the variances (d,) of all signals along their principal directions, least first."""
    _, (moments,) = data.executor.map_blocks(_all_moments, [])
    return np.maximum(np.linalg.eigvalsh(reduce_moments(moments / data.total)), 0)


def memory_of(data: OpenSignals) -> float:
    """Return how many samples in a row count as one for second moments.

    That is one plus twice the sum of the squared autocorrelations of whitened signals, a mean over
    dimensions, up to the first lag at which they are those of white noise.
    """
    lags = min(LAGS, LAGS_PER_NODE * data.nodes, data.total // 10)
    if lags < 1:
        return 1.0
    _, (moments,) = data.executor.map_blocks(_all_moments, [])
    values, vectors = np.linalg.eigh(reduce_moments(moments / data.total))
    scales = np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    whitening = zero_sum_basis(data.nodes) @ (vectors / scales)
    before = data.executor.scan(_last_samples, [], None, lags)
    _, (sums,) = data.executor.map_blocks(_autocorrelations, [before], whitening, lags)
    squares = np.square(sums[1:] / np.maximum(sums[0], 1e-300)).mean(axis=1) - 1 / data.total
    ends = np.flatnonzero(squares <= 1 / data.total)
    return float(1 + 2 * squares[: ends[0] if len(ends) else lags].sum())


def tail_logs(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return means of ``log(1 + q / nu)`` for :func:`graphdict.core.marginal.tails.best_tails`."""
    step = _prepare(data, dictionary)
    _, (sums,) = data.executor.map_blocks(_tail_logs, _messages(data, step), step)
    return sums / data.total


def certainty_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the sums (C,) of squared responsibilities: as many samples are known to be of each.

    Where responsibilities are 0 or 1 these are the numbers of samples.
    """
    step = _prepare(data, dictionary)
    _, (sums,) = data.executor.map_blocks(_certainty, _messages(data, step), step)
    return sums


def gains_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the posterior mean (T,) of the gain of each sample."""
    step = _prepare(data, dictionary)
    work = partial(map_blocks_of_shard, _gains)
    stream = data.executor.stream(work, step, columns=_messages(data, step))
    return np.concatenate([rows for rows, _ in stream])


def coefficients_of(data: OpenSignals, dictionary: PatternDictionary, out: Any = None) -> NDArray:
    """Return the posterior mean (T, K) of the activations of each sample, written to ``out``."""
    pieces = _stream(data, dictionary, _coefficients)
    return put_together(pieces, data.counts, len(dictionary.atoms), data.dtype, out)


def coefficients_by_window(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the posterior mean (windows, K) of the activations of each window."""
    return np.concatenate(list(_stream(data, dictionary, _coefficients)))


def responsibilities_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the posterior (T, C) of the patterns of each sample."""
    pieces = _stream(data, dictionary, _responsibilities)
    return put_together(pieces, data.counts, len(dictionary.patterns), np.float64)


def log_evidence_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return ``log p(x_t)`` (T,), given the past where there is a chain.

    The samples of a window share its log-evidence equally.
    """
    pieces = _stream(data, dictionary, _log_evidence)
    return put_together(pieces, data.counts, 1, np.float64)[:, 0]


def most_probable_patterns(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the index (T,) of the most probable pattern of each sample.

    Where there is a chain, they are those of the most probable path (Viterbi).
    """
    if dictionary.stay is None:
        pieces = _stream(data, dictionary, _most_probable)
        return put_together(pieces, data.counts, 1, np.int64)[:, 0]
    step, executor = _prepare(data, dictionary), data.executor
    known = _keep_if_small(data, _log_likelihoods, step)
    forward = executor.scan(_viterbi_forward, [known], None, step)
    last = executor.scan(_viterbi_backward, [known, forward], None, step, reverse=True)
    work = partial(map_blocks_of_shard, _path)
    pieces = (rows for rows, _ in executor.stream(work, step, columns=[known, forward, last]))
    return put_together(pieces, data.counts, 1, np.int64)[:, 0]


def _prepare(
    data: OpenSignals, dictionary: PatternDictionary, inverse_temperature: float = 1.0
) -> EStep:
    return EStep.prepare(
        dictionary, data.windows, missing=data.windowed.has_missing,
        inverse_temperature=inverse_temperature, starts=tuple(data.windowed.starts.tolist()),
    )  # fmt: skip


def _stream(data: OpenSignals, dictionary: PatternDictionary, read: Any) -> Iterator[NDArray]:
    """Yield ``read(posterior, step, counts)`` (windows, ...) of one shard after the other."""
    step = _prepare(data, dictionary)
    work = partial(map_blocks_of_shard, _read_posterior)
    for rows, _ in data.executor.stream(work, read, step, columns=_messages(data, step)):
        yield rows


def _messages(data: OpenSignals, step: EStep) -> list[BlockStates]:
    """Return what the posterior of a block needs beside it, in the order of its arguments.

    That is nothing, or in a chain: scaled likelihoods, forward messages, backward messages.
    """
    if step.dictionary.stay is None:
        return []
    scaled = _keep_if_small(data, _scaled_likelihoods, step)
    forward = data.executor.scan(_forward, [scaled], None, step)
    backward = data.executor.scan(_backward, [scaled], None, step, reverse=True)
    return [scaled, forward, backward]


def _keep_if_small(data: OpenSignals, compute: Step, step: EStep) -> BlockStates:
    """Return what scans need of every block, or None each where it is too large or used once."""
    shape = (data.windows, len(step.dictionary.patterns))
    if data.in_one_block or too_large(shape, np.float64):
        return data.empty_states
    return data.executor.map_blocks(compute, [], step)[0]


# On blocks: learning --------------------------------------------------------------------------


def _posterior(
    samples: WindowedSignals,
    rows: slice,
    step: EStep,
    messages: list,
    block: SignalBlock | None = None,
) -> Posterior:
    block = samples.block(rows) if block is None else block
    starts = samples.starts_in(rows)
    return step.posterior(block, samples.first + rows.start, *messages, starts=starts)


def _e_step(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step, statistics, coefficients = given
    block = samples.block(rows)
    posterior = _posterior(samples, rows, step, messages, block)
    sums = step.sums(block, posterior, statistics)
    return step.coefficients(posterior) if coefficients else None, sums


def _second_moments(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    posterior = _posterior(samples, rows, step, messages)
    block = samples.imputed_block(rows)
    weights = block.repeat_windows(posterior.responsibilities @ step.activations)
    signals = block.signals.astype(np.float64)
    silent = weights.T @ (np.square(signals) <= step.dictionary.likelihood.noise)
    moments = np.stack([(signals.T * weight) @ signals for weight in weights.T])
    return None, (weights.sum(axis=0), silent, moments)


def _random_statistics(shard: Shard, columns: Any, random: RowRandom, step: EStep) -> Any:
    samples: WindowedSignals = shard.backend
    own = slice(samples.first, samples.first + samples.rows)
    members = random.rows(own, even_memberships, len(step.dictionary.patterns))
    return shard.map(_member_statistics, [[members[rows] for rows in shard.blocks]], step)


def _member_statistics(samples: WindowedSignals, rows: slice, members: NDArray, step: EStep) -> Any:
    block = samples.block(rows)
    statistics = step.dictionary.likelihood.statistics(step.factors, block, members)
    return None, (block.counts @ members, *statistics)


def _e_step_of_half(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step, blocks, half = given
    block = samples.block(rows)
    posterior = _posterior(samples, rows, step, messages, block)
    shares, places = posterior.responsibilities, _time_blocks(samples, rows, step, blocks)
    if step.windows == 1:  # whose samples are halved instead, since none of it may be empty
        shares = block.repeat_windows(shares)
        block = SignalBlock(block.signals, np.ones(len(shares), dtype=int))
        places = np.arange(len(shares)) * blocks // len(shares)
    own = shares * (places % 2 == half)[:, None]
    statistics = step.dictionary.likelihood.statistics(step.factors, block, own)
    return None, (block.counts @ own, *statistics)


def _evidence_by_block(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step, blocks = given
    values = _posterior(samples, rows, step, messages).log_evidence
    places = _time_blocks(samples, rows, step, blocks)
    return None, (np.bincount(places, weights=values, minlength=blocks),)


def _time_blocks(samples: WindowedSignals, rows: slice, step: EStep, blocks: int) -> NDArray:
    """Return which of so many blocks in time each window of some rows belongs to."""
    places = samples.first + np.arange(rows.start, rows.stop)
    return places * min(blocks, step.windows) // step.windows


def _all_moments(samples: WindowedSignals, rows: slice) -> Any:
    signals = samples.imputed_block(rows).signals.astype(np.float64)
    return None, (signals.T @ signals,)


def _last_samples(samples: WindowedSignals, rows: slice, before: Any, lags: int) -> NDArray:
    signals, starts = samples.block(rows).signals, samples.sample_starts_in(rows)
    if starts:
        signals, before = signals[starts[-1] :], None
    signals = signals[-lags:]
    if before is None or len(signals) == lags:
        return signals
    return np.concatenate((before, signals))[-lags:]


def _autocorrelations(
    samples: WindowedSignals, rows: slice, before: Any, whitening: NDArray, lags: int
) -> Any:
    signals = samples.block(rows).signals.astype(np.float64) @ whitening
    first, *others = np.split(signals, samples.sample_starts_in(rows))
    sums = sum((_lagged_products(own, lags) for own in others), np.zeros(()))
    if before is None or not len(first):
        return None, (sums + _lagged_products(first, lags),)
    before = before.astype(np.float64) @ whitening
    both = _lagged_products(np.concatenate((before, first)), lags)
    return None, (sums + both - _lagged_products(before, lags),)


def _lagged_products(signals: NDArray, lags: int) -> NDArray:
    """Return sums (lags + 1, d) of the products of signals (T, d) with those so much later."""
    count = len(signals)
    if not count:
        return np.zeros((lags + 1, signals.shape[1]))
    spectrum = np.fft.rfft(signals, 2 * count, axis=0)
    products = np.fft.irfft(np.square(np.abs(spectrum)), 2 * count, axis=0)[:count][: lags + 1]
    return np.pad(products, ((0, lags + 1 - len(products)), (0, 0)))


def _tail_logs(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    block = samples.block(rows)
    given_block = block, _posterior(samples, rows, step, messages, block).responsibilities
    return None, (step.dictionary.likelihood.tail_logs(step.factors, *given_block),)


def _certainty(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    shares = _posterior(samples, rows, step, messages).responsibilities
    return None, (samples.block(rows).counts @ np.square(shares),)


def _gains(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    block = samples.block(rows)
    given_block = block, _posterior(samples, rows, step, messages, block).responsibilities
    return step.dictionary.likelihood.posterior_gains(step.factors, *given_block), ()


def _squares(samples: WindowedSignals, rows: slice) -> Any:
    signals = samples.imputed_block(rows).signals
    return None, (float(np.square(signals).sum(dtype=np.float64)),)


def _random_distances(shard: Shard, columns: Any, random: RowRandom, count: int) -> Any:
    samples: WindowedSignals = shard.backend
    own = slice(samples.first, samples.first + samples.rows)
    members = random.rows(own, random_memberships, count)
    return shard.map(_member_distances, [[members[rows] for rows in shard.blocks]])


def _member_distances(samples: WindowedSignals, rows: slice, members: NDArray) -> Any:
    block = samples.imputed_block(rows)
    weights = block.repeat_windows(members).astype(block.signals.dtype)
    distances = weighted_distances(block.signals, weights).astype(np.float64)
    return None, (distances, weights.sum(axis=0, dtype=np.float64))


# On blocks: along a chain ---------------------------------------------------------------------


def _scaled_likelihoods(samples: WindowedSignals, rows: slice, step: EStep) -> Any:
    return step.scaled_likelihoods(samples.block(rows)), ()


def _forward(
    samples: WindowedSignals, rows: slice, scaled: Any, carried: Any, step: EStep
) -> NDArray:
    likelihoods = step.scaled_likelihoods(samples.block(rows)) if scaled is None else scaled
    return forward_message(likelihoods, *step.chain, carried, samples.starts_in(rows))


def _backward(
    samples: WindowedSignals, rows: slice, scaled: Any, carried: Any, step: EStep
) -> NDArray | None:
    likelihoods = step.scaled_likelihoods(samples.block(rows)) if scaled is None else scaled
    return backward_message(likelihoods, *step.chain, carried, samples.starts_in(rows))


def _log_likelihoods(samples: WindowedSignals, rows: slice, step: EStep) -> Any:
    return step.log_likelihoods(samples.block(rows)), ()


def _viterbi_forward(
    samples: WindowedSignals, rows: slice, known: Any, carried: Any, step: EStep
) -> NDArray:
    values = step.log_likelihoods(samples.block(rows)) if known is None else known
    return viterbi_message(values, *step.chain, carried, samples.starts_in(rows))


def _viterbi_backward(
    samples: WindowedSignals, rows: slice, known: Any, forward: Any, last: Any, step: EStep
) -> int | None:
    values = step.log_likelihoods(samples.block(rows)) if known is None else known
    return most_probable_path(values, *step.chain, forward, last, samples.starts_in(rows))[1]


def _path(
    samples: WindowedSignals, rows: slice, known: Any, forward: Any, last: Any, step: EStep
) -> Any:
    values = step.log_likelihoods(samples.block(rows)) if known is None else known
    return most_probable_path(values, *step.chain, forward, last, samples.starts_in(rows))[0][
        :, None
    ], ()


# On blocks: values for each window ------------------------------------------------------------


def _read_posterior(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, read, step = given
    return read(_posterior(samples, rows, step, messages), step, samples.counts[rows]), ()


def _coefficients(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return step.coefficients(posterior)


def _responsibilities(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return posterior.responsibilities


def _log_evidence(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return (posterior.log_evidence / counts)[:, None]


def _most_probable(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return posterior.responsibilities.argmax(axis=1)[:, None]
