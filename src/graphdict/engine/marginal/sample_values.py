"""What the marginal model says of each sample: coefficients, gains, evidence, likeliest pattern.

Values come from one shard of the samples after the other, and are put together as they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import most_probable_path, viterbi_message
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import EStep
from graphdict.engine.executor import map_blocks_of_shard
from graphdict.engine.marginal.passes import (
    BlockPosterior,
    chain_messages,
    keep_if_small,
    make_e_step,
    with_posterior,
)
from graphdict.engine.marginal.samples import OpenSignals, WindowedSignals
from graphdict.engine.sources import write_rows


def gains_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the posterior mean (T,) of the gain of each sample."""
    return np.concatenate(list(_stream(data, dictionary, _gains)))


def coefficients_of(data: OpenSignals, dictionary: PatternDictionary, out: Any = None) -> NDArray:
    """Return the posterior mean (T, K) of the activations of each sample, written to ``out``."""
    pieces = _stream(data, dictionary, _coefficients)
    return write_rows(pieces, data.counts, len(dictionary.atoms), data.dtype, out)


def coefficients_by_window(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the posterior mean (windows, K) of the activations of each window."""
    return np.concatenate(list(_stream(data, dictionary, _coefficients)))


def responsibilities_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the posterior (T, C) of the patterns of each sample."""
    pieces = _stream(data, dictionary, _responsibilities)
    return write_rows(pieces, data.counts, len(dictionary.patterns), np.float64)


def log_evidence_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return ``log p(x_t)`` (T,), given the past where there is a chain.

    The samples of a window share its log-evidence equally.
    """
    pieces = _stream(data, dictionary, _log_evidence)
    return write_rows(pieces, data.counts, 1, np.float64)[:, 0]


def most_probable_patterns(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the index (T,) of the most probable pattern of each sample.

    Where there is a chain, they are those of the most probable path (Viterbi).
    """
    if dictionary.stay is None:
        pieces = _stream(data, dictionary, _most_probable)
        return write_rows(pieces, data.counts, 1, np.int64)[:, 0]
    step, executor = make_e_step(data, dictionary), data.executor
    known = keep_if_small(data, _log_likelihoods, step)
    forward = executor.scan(_viterbi_forward, [known], None, step)
    last = executor.scan(_viterbi_backward, [known, forward], None, step, reverse=True)
    work = partial(map_blocks_of_shard, _path)
    pieces = (rows for rows, _ in executor.iter_shards(work, step, columns=[known, forward, last]))
    return write_rows(pieces, data.counts, 1, np.int64)[:, 0]


def _stream(data: OpenSignals, dictionary: PatternDictionary, read: Any) -> Iterator[NDArray]:
    """Yield what ``read`` finds (windows, ...) at the posterior, of one shard after the other."""
    step = make_e_step(data, dictionary)
    work = partial(map_blocks_of_shard, with_posterior)
    for rows, _ in data.executor.iter_shards(work, step, read, columns=chain_messages(data, step)):
        yield rows


# On blocks ------------------------------------------------------------------------------------


def _gains(found: BlockPosterior) -> Any:
    likelihood: Any = found.step.dictionary.likelihood
    return likelihood.posterior_gains(found.step.factors, found.block, found.responsibilities), ()


def _coefficients(found: BlockPosterior) -> Any:
    return found.step.coefficients(found.posterior), ()


def _responsibilities(found: BlockPosterior) -> Any:
    return found.responsibilities, ()


def _log_evidence(found: BlockPosterior) -> Any:
    return (found.posterior.log_evidence / found.block.counts)[:, None], ()


def _most_probable(found: BlockPosterior) -> Any:
    return found.responsibilities.argmax(axis=1)[:, None], ()


# On blocks, along a chain ---------------------------------------------------------------------


def _log_likelihoods(samples: WindowedSignals, rows: slice, step: EStep) -> Any:
    return step.log_likelihoods(samples.block(rows)), ()


def _viterbi_forward(
    samples: WindowedSignals, rows: slice, known: Any, carried: Any, step: EStep
) -> NDArray:
    values = step.log_likelihoods(samples.block(rows)) if known is None else known
    return viterbi_message(values, *step.chain, carried, starts=samples.starts_in(rows))


def _viterbi_backward(
    samples: WindowedSignals, rows: slice, known: Any, forward: Any, last: Any, step: EStep
) -> int | None:
    values = step.log_likelihoods(samples.block(rows)) if known is None else known
    starts = samples.starts_in(rows)
    return most_probable_path(values, *step.chain, forward, last, starts=starts)[1]


def _path(
    samples: WindowedSignals, rows: slice, known: Any, forward: Any, last: Any, step: EStep
) -> Any:
    values = step.log_likelihoods(samples.block(rows)) if known is None else known
    starts = samples.starts_in(rows)
    path, _ = most_probable_path(values, *step.chain, forward, last, starts=starts)
    return path[:, None], ()
