"""Passes over the samples of the marginal model under a dictionary: sums to learn from.

Every block is given the same message, an :class:`~graphdict.core.marginal.e_step.EStep`. Where
there is a Markov chain, two scans come first that carry forward and backward messages from block to
block; after that blocks are independent of each other and the posterior of each is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import (
    Posterior,
    backward_message,
    forward_message,
)
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import EStep, ExpectedStatistics
from graphdict.core.marginal.protocols import SignalBlock
from graphdict.core.marginal.random_rows import RowRandom, even_memberships
from graphdict.core.protocols import BlockStates, Step
from graphdict.engine.executor import Shard
from graphdict.engine.marginal.samples import OpenSignals, WindowedSignals
from graphdict.engine.sources import too_large

__all__ = [
    "block_of",
    "certainty_of",
    "e_step",
    "e_step_by_halves",
    "e_step_of_half",
    "evidence_by_block",
    "keep_if_small",
    "messages_of",
    "posterior_of",
    "prepare",
    "random_statistics",
    "second_moments",
    "tail_densities",
]


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
    step = prepare(data, dictionary, inverse_temperature)
    states, (usage, draws, stays, log_evidence, *sums) = data.executor.map_blocks(
        _e_step, messages_of(data, step), step, statistics, coefficients
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
    step = prepare(data, dictionary)
    return data.executor.map_blocks(_second_moments, messages_of(data, step), step)[1]


def random_statistics(
    data: OpenSignals, dictionary: PatternDictionary, rng: np.random.RandomState
) -> tuple[NDArray, tuple[NDArray, ...]]:
    """Return usage (C,) and statistics under random soft memberships in place of the posterior.

    Both are divided by the number of samples.
    """
    step, count = prepare(data, dictionary), len(dictionary.patterns)
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
    step = prepare(data, dictionary)
    given = messages_of(data, step), step, blocks, half
    usage, *statistics = data.executor.map_blocks(_e_step_of_half, *given)[1]
    return usage / data.total, tuple(each / data.total for each in statistics)


def evidence_by_block(
    data: OpenSignals, dictionary: PatternDictionary, blocks: int, half: int | None = None
) -> NDArray:
    """Return sums of ``log p(x_t)`` over the samples of each of so many blocks in time.

    They are the blocks of :func:`e_step_by_halves`: those of the first half come first, third, ...
    With a ``half`` (0 or 1) only those of this half are asked for, and others are undefined.
    """
    step = prepare(data, dictionary)
    given = messages_of(data, step), step, blocks, half
    return data.executor.map_blocks(_evidence_by_block, *given)[1][0]


def tail_densities(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return mean log-densities for :func:`graphdict.core.marginal.tails.best_tails`."""
    step = prepare(data, dictionary)
    _, (sums,) = data.executor.map_blocks(_tail_densities, messages_of(data, step), step)
    return sums / data.total


def certainty_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the sums (C,) of squared responsibilities: as many samples are known to be of each.

    Where responsibilities are 0 or 1 these are the numbers of samples.
    """
    step = prepare(data, dictionary)
    _, (sums,) = data.executor.map_blocks(_certainty, messages_of(data, step), step)
    return sums


def prepare(
    data: OpenSignals, dictionary: PatternDictionary, inverse_temperature: float = 1.0
) -> EStep:
    """Return the E-step that a pass sends to every block."""
    return EStep.prepare(
        dictionary, data.windows, missing=data.windowed.has_missing,
        inverse_temperature=inverse_temperature, starts=tuple(data.windowed.starts.tolist()),
    )  # fmt: skip


def messages_of(data: OpenSignals, step: EStep) -> list[BlockStates]:
    """Return what the posterior of a block needs beside it, in the order of its arguments.

    That is nothing, or in a chain: scaled likelihoods, forward messages, backward messages.
    """
    if step.dictionary.stay is None:
        return []
    scaled = keep_if_small(data, _scaled_likelihoods, step)
    forward = data.executor.scan(_forward, [scaled], None, step)
    backward = data.executor.scan(_backward, [scaled], None, step, reverse=True)
    return [scaled, forward, backward]


def keep_if_small(data: OpenSignals, compute: Step, step: EStep) -> BlockStates:
    """Return what scans need of every block, or None each where it is too large or used once."""
    shape = (data.windows, len(step.dictionary.patterns))
    if data.in_one_block or too_large(shape, np.float64):
        return data.empty_states
    return data.executor.map_blocks(compute, [], step)[0]


# On blocks: learning --------------------------------------------------------------------------


def block_of(samples: WindowedSignals, rows: slice, messages: list) -> SignalBlock:
    """Return some windows, with what was kept of them when their likelihoods were found."""
    block = samples.block(rows)
    kept = messages[0].kept if messages and messages[0] is not None else None
    return block if kept is None else block._replace(kept=kept)


def posterior_of(
    samples: WindowedSignals,
    rows: slice,
    step: EStep,
    messages: list,
    block: SignalBlock | None = None,
) -> Posterior:
    """Return the posterior of some windows, given what :func:`messages_of` has for their block."""
    block = samples.block(rows) if block is None else block
    starts = samples.starts_in(rows)
    return step.posterior(block, samples.first + rows.start, *messages, starts=starts)


def _e_step(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step, statistics, coefficients = given
    block = block_of(samples, rows, messages)
    posterior = posterior_of(samples, rows, step, messages, block)
    sums = step.sums(block, posterior, statistics)
    return step.coefficients(posterior) if coefficients else None, sums


def _second_moments(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    posterior = posterior_of(samples, rows, step, messages)
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
    block, places = _windows_of_half(samples, rows, messages, step, blocks, half)
    shares = posterior_of(samples, rows, step, messages, block).responsibilities
    if step.windows == 1:  # whose samples are halved instead, since none of it may be empty
        shares = block.repeat_windows(shares)
        block = SignalBlock(block.signals, np.ones(len(shares), dtype=int))
        places = np.arange(len(shares)) * blocks // len(shares)
    own = shares * (places % 2 == half)[:, None]
    statistics = step.dictionary.likelihood.statistics(step.factors, block, own)
    return None, (block.counts @ own, *statistics)


def _evidence_by_block(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step, blocks, half = given
    block, places = _windows_of_half(samples, rows, messages, step, blocks, half)
    values = posterior_of(samples, rows, step, messages, block).log_evidence
    return None, (np.bincount(places, weights=values, minlength=blocks),)


def _windows_of_half(
    samples: WindowedSignals,
    rows: slice,
    messages: list,
    step: EStep,
    blocks: int,
    half: int | None,
) -> tuple[SignalBlock, NDArray]:
    """Return some windows and their blocks in time; those of one half, if others do not matter."""
    block = block_of(samples, rows, messages)
    places = _time_blocks(samples, rows, step, blocks)
    own = places % 2 == half
    if half is None or step.dictionary.stay is not None or not own.any():
        return block, places
    signals = block.signals[block.repeat_windows(own)]
    return SignalBlock(signals, block.counts[own], {}), places[own]


def _time_blocks(samples: WindowedSignals, rows: slice, step: EStep, blocks: int) -> NDArray:
    """Return which of so many blocks in time each window of some rows belongs to."""
    places = samples.first + np.arange(rows.start, rows.stop)
    return places * min(blocks, step.windows) // step.windows


def _tail_densities(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    block = block_of(samples, rows, messages)
    given_block = block, posterior_of(samples, rows, step, messages, block).responsibilities
    return None, (step.dictionary.likelihood.tail_densities(step.factors, *given_block),)


def _certainty(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    shares = posterior_of(samples, rows, step, messages).responsibilities
    return None, (samples.block(rows).counts @ np.square(shares),)


# On blocks: along a chain ---------------------------------------------------------------------


def _scaled_likelihoods(samples: WindowedSignals, rows: slice, step: EStep) -> Any:
    block = samples.block(rows)
    scaled = step.scaled_likelihoods(block)
    if block.single and not samples.has_missing:  # else it would be more than the likelihoods
        scaled = scaled._replace(kept=block.kept)
    return scaled, ()


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


# On blocks: values for each window ------------------------------------------------------------
