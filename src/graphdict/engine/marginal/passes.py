"""Passes over the samples of the marginal model under a dictionary: sums to learn from.

Every block is given the same message, an :class:`~graphdict.core.marginal.e_step.EStep`. Where
there is a Markov chain, two scans come first that carry forward and backward messages from block to
block; after that blocks are independent of each other and the posterior of each is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import Posterior, backward_message, forward_message
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import EStep, ExpectedStatistics
from graphdict.core.marginal.protocols import SignalBlock
from graphdict.core.marginal.random_rows import RowRandom, even_memberships
from graphdict.core.protocols import BlockStates, Step
from graphdict.engine.executor import Shard
from graphdict.engine.marginal.samples import OpenSignals, WindowedSignals
from graphdict.engine.sources import too_large


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
    step = make_e_step(data, dictionary, inverse_temperature)
    states, (usage, draws, stays, log_evidence, *sums) = data.executor.map_blocks(
        with_posterior, chain_messages(data, step), step, _e_step, statistics, coefficients
    )
    found = ExpectedStatistics(
        data.total, data.windows, usage=usage, draws=draws, stays=stays, log_evidence=log_evidence,
        statistics=tuple(sums), chains=data.chains,
    )  # fmt: skip
    return found._replace(coefficients=data.executor.gather(states)) if coefficients else found


def second_moments(
    data: OpenSignals, dictionary: PatternDictionary
) -> tuple[NDArray, NDArray, NDArray]:
    """Return sums over the samples in which each atom is active.

    Their number (K,), in how many of them each node is silent (K, N), and ``x x'`` (K, N, N).
    """
    return _sums_with_posterior(data, dictionary, _second_moments)


def random_statistics(
    data: OpenSignals, dictionary: PatternDictionary, rng: np.random.RandomState
) -> tuple[NDArray, tuple[NDArray, ...]]:
    """Return usage (C,) and statistics under random soft memberships in place of the posterior.

    Both are divided by the number of samples.
    """
    step, count = make_e_step(data, dictionary), len(dictionary.patterns)
    random = RowRandom.take(rng, data.windows, even_memberships, count)
    _, sums = data.executor.map_shards(_random_statistics, [], random, step)
    usage, *statistics = (each / data.total for each in sums)
    return usage, tuple(statistics)


def e_step_by_halves(
    data: OpenSignals, dictionary: PatternDictionary, n_segments: int
) -> list[tuple[NDArray, tuple[NDArray, ...]]]:
    """Return usage (C,) and statistics of either half of the samples, as posteriors have them.

    Of ``n_segments`` segments of time every second one is of the other half. Sums are divided by
    the number of all samples.
    """
    return [e_step_of_half(data, dictionary, n_segments, half) for half in (0, 1)]


def e_step_of_half(
    data: OpenSignals,
    dictionary: PatternDictionary,
    n_segments: int,
    half: int,
    inverse_temperature: float = 1.0,
) -> tuple[NDArray, tuple[NDArray, ...]]:
    """Return what :func:`e_step_by_halves` does, of the first half (0) or the second (1)."""
    step = make_e_step(data, dictionary, inverse_temperature)
    usage, *statistics = data.executor.map_blocks(
        _at_half, chain_messages(data, step), step, _e_step_of_half, n_segments, half
    )[1]
    return usage / data.total, tuple(each / data.total for each in statistics)


def evidence_by_segment(
    data: OpenSignals, dictionary: PatternDictionary, n_segments: int, half: int | None = None
) -> NDArray:
    """Return sums of ``log p(x_t)`` over the samples of each of ``n_segments`` segments of time.

    They are those of :func:`e_step_by_halves`: segments of the first half come first, third, ...
    With a ``half`` (0 or 1) only those of this half are asked for, and others are undefined.
    """
    step = make_e_step(data, dictionary)
    _, (evidence,) = data.executor.map_blocks(
        _at_half, chain_messages(data, step), step, _evidence_by_segment, n_segments, half
    )
    return evidence


def tail_densities(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return mean log-densities for :func:`graphdict.core.marginal.tails.best_tails`."""
    return _sums_with_posterior(data, dictionary, _tail_densities)[0] / data.total


def certainty_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the sum (C,) of squared responsibilities of each pattern over all samples.

    It is the number of samples of the pattern where responsibilities are 0 or 1, and less where
    they are in between.
    """
    return _sums_with_posterior(data, dictionary, _certainty)[0]


def make_e_step(
    data: OpenSignals, dictionary: PatternDictionary, inverse_temperature: float = 1.0
) -> EStep:
    """Return the E-step that a pass sends to every block."""
    return EStep.prepare(
        dictionary, data.windows, missing=data.windowed.has_missing,
        inverse_temperature=inverse_temperature, starts=tuple(data.windowed.starts.tolist()),
    )  # fmt: skip


def chain_messages(data: OpenSignals, step: EStep) -> list[BlockStates]:
    """Return what :func:`with_posterior` needs of each block in a chain; None each elsewhere.

    Those are its scaled likelihoods, where they were kept, and the messages (C,) from the windows
    before and after it.
    """
    if step.dictionary.stay is None:
        return [data.empty_states] * 3
    scaled = keep_if_small(data, _scaled_likelihoods, step)
    forward = data.executor.scan(_forward, [scaled], None, step)
    backward = data.executor.scan(_backward, [scaled], None, step, reverse=True)
    return [scaled, forward, backward]


def keep_if_small(data: OpenSignals, compute: Step, step: EStep) -> BlockStates:
    """Return ``compute`` of every block if it fits in memory and is used again, else None each."""
    shape = (data.windows, len(step.dictionary.patterns))
    if data.in_one_block or too_large(shape, np.float64):
        return data.empty_states
    return data.executor.map_blocks(compute, [], step)[0]


# On blocks: with their posterior ----------------------------------------------------------------


class BlockPosterior(NamedTuple):
    """Some windows with their posterior, and the E-step that found it."""

    samples: WindowedSignals
    rows: slice
    step: EStep
    block: SignalBlock
    posterior: Posterior

    @property
    def responsibilities(self) -> NDArray:
        """The posterior (windows, C) of the patterns."""
        return self.posterior.responsibilities


def with_posterior(
    samples: WindowedSignals, rows: slice, scaled: Any, forward: Any, backward: Any,
    step: EStep, read: Step, *message: Any,
) -> Any:  # fmt: skip
    """Return ``read(found, *message)`` of a block: a step over :func:`chain_messages`.

    ``found`` is its :class:`BlockPosterior`.
    """
    block = _block_of(samples, rows, scaled)
    posterior = step.posterior(
        block, samples.first + rows.start, scaled, forward, backward, starts=samples.starts_in(rows)
    )
    return read(BlockPosterior(samples, rows, step, block, posterior), *message)


def _sums_with_posterior(data: OpenSignals, dictionary: PatternDictionary, read: Step) -> Any:
    """Return the sums that ``read`` finds in the :class:`BlockPosterior` of each block."""
    step = make_e_step(data, dictionary)
    return data.executor.map_blocks(with_posterior, chain_messages(data, step), step, read)[1]


def _block_of(samples: WindowedSignals, rows: slice, scaled: Any) -> SignalBlock:
    """Return some windows, with what was kept of them when their likelihoods were found."""
    block = samples.block(rows)
    return block if scaled is None or scaled.kept is None else block._replace(kept=scaled.kept)


def _e_step(found: BlockPosterior, statistics: bool, coefficients: bool) -> Any:
    step, posterior = found.step, found.posterior
    sums = step.sums(found.block, posterior, statistics)
    return step.coefficients(posterior) if coefficients else None, sums


def _second_moments(found: BlockPosterior) -> Any:
    step, block = found.step, found.samples.imputed_block(found.rows)
    weights = block.repeat_windows(found.responsibilities @ step.activations)
    signals = block.signals.astype(np.float64)
    silent = weights.T @ (np.square(signals) <= step.dictionary.likelihood.noise)
    moments = np.stack([(signals.T * weight) @ signals for weight in weights.T])
    return None, (weights.sum(axis=0), silent, moments)


def _tail_densities(found: BlockPosterior) -> Any:
    likelihood: Any = found.step.dictionary.likelihood
    densities = likelihood.tail_densities(found.step.factors, found.block, found.responsibilities)
    return None, (densities,)


def _certainty(found: BlockPosterior) -> Any:
    return None, (found.block.counts @ np.square(found.responsibilities),)


def _random_statistics(shard: Shard, columns: Any, random: RowRandom, step: EStep) -> Any:
    samples: WindowedSignals = shard.backend
    own = slice(samples.first, samples.first + samples.rows)
    members = random.rows(own, even_memberships, len(step.dictionary.patterns))
    return shard.map(_member_statistics, [[members[rows] for rows in shard.blocks]], step)


def _member_statistics(samples: WindowedSignals, rows: slice, members: NDArray, step: EStep) -> Any:
    block = samples.block(rows)
    statistics = step.dictionary.likelihood.statistics(step.factors, block, members)
    return None, (block.counts @ members, *statistics)


# On blocks: halves of the samples -----------------------------------------------------------------


def _at_half(
    samples: WindowedSignals, rows: slice, scaled: Any, forward: Any, backward: Any,
    step: EStep, read: Step, n_segments: int, half: int | None,
) -> Any:  # fmt: skip
    """Return ``read`` of a block as in :func:`with_posterior`, with the segment of each window.

    Windows of the other half are left out where they do not matter.
    """
    block = _block_of(samples, rows, scaled)
    segments = _segments_of(samples, rows, step, n_segments)
    own = segments % 2 == half
    if half is not None and step.dictionary.stay is None and own.any():
        signals = block.signals[block.repeat_windows(own)]
        block, segments = SignalBlock(signals, block.counts[own], {}), segments[own]
    posterior = step.posterior(
        block, samples.first + rows.start, scaled, forward, backward, starts=samples.starts_in(rows)
    )
    return read(BlockPosterior(samples, rows, step, block, posterior), segments, n_segments, half)


def _e_step_of_half(found: BlockPosterior, segments: NDArray, n_segments: int, half: int) -> Any:
    step, block, shares = found.step, found.block, found.responsibilities
    if step.windows == 1:  # whose samples are halved instead, since none of it may be empty
        shares = block.repeat_windows(shares)
        block = SignalBlock(block.signals, np.ones(len(shares), dtype=int))
        segments = np.arange(len(shares)) * n_segments // len(shares)
    own = shares * (segments % 2 == half)[:, None]
    statistics = step.dictionary.likelihood.statistics(step.factors, block, own)
    return None, (block.counts @ own, *statistics)


def _evidence_by_segment(
    found: BlockPosterior, segments: NDArray, n_segments: int, half: int | None
) -> Any:
    values = found.posterior.log_evidence
    return None, (np.bincount(segments, weights=values, minlength=n_segments),)


def _segments_of(samples: WindowedSignals, rows: slice, step: EStep, n_segments: int) -> NDArray:
    """Return which of ``n_segments`` segments of time each window of some rows is in.

    Where states last over windows, segments are numbered so that even and odd ones follow no
    rhythm: states that take turns would else be in one half each.
    """
    windows = samples.first + np.arange(rows.start, rows.stop)
    count = min(n_segments, step.windows)
    found = windows * count // step.windows
    return thue_morse_numbers(count)[found] if step.windows < samples.total else found


def thue_morse_numbers(count: int) -> NDArray:
    """Return a permutation of range(count) whose parity follows the Thue-Morse sequence.

    By it segments of time are numbered whose even and odd numbers are two halves: states that take
    turns then do not all fall into one of them.
    """
    odd = np.array([bin(segment).count("1") % 2 == 1 for segment in range(count)])
    order = np.concatenate([np.flatnonzero(~odd), np.flatnonzero(odd)])
    evens = (count + 1) // 2
    numbers = np.empty(count, dtype=int)
    numbers[order[:evens]] = np.arange(0, count, 2)
    numbers[order[evens:]] = np.arange(1, count, 2)
    return numbers


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
    return forward_message(likelihoods, *step.chain, carried, starts=samples.starts_in(rows))


def _backward(
    samples: WindowedSignals, rows: slice, scaled: Any, carried: Any, step: EStep
) -> NDArray | None:
    likelihoods = step.scaled_likelihoods(samples.block(rows)) if scaled is None else scaled
    return backward_message(likelihoods, *step.chain, carried, starts=samples.starts_in(rows))
