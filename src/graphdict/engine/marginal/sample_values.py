"""What the marginal model says of each sample: coefficients, gains, evidence, likeliest pattern.

Values come from one shard of the samples after the other, and are put together as they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import Posterior, most_probable_path, viterbi_message
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import EStep
from graphdict.engine.executor import map_blocks_of_shard
from graphdict.engine.marginal.passes import (
    block_of,
    keep_if_small,
    messages_of,
    posterior_of,
    prepare,
)
from graphdict.engine.marginal.samples import OpenSignals, WindowedSignals
from graphdict.engine.sources import put_together

__all__ = [
    "coefficients_by_window",
    "coefficients_of",
    "gains_of",
    "log_evidence_of",
    "most_probable_patterns",
    "responsibilities_of",
]


def gains_of(data: OpenSignals, dictionary: PatternDictionary) -> NDArray:
    """Return the posterior mean (T,) of the gain of each sample."""
    step = prepare(data, dictionary)
    work = partial(map_blocks_of_shard, _gains)
    stream = data.executor.stream(work, step, columns=messages_of(data, step))
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
    step, executor = prepare(data, dictionary), data.executor
    known = keep_if_small(data, _log_likelihoods, step)
    forward = executor.scan(_viterbi_forward, [known], None, step)
    last = executor.scan(_viterbi_backward, [known, forward], None, step, reverse=True)
    work = partial(map_blocks_of_shard, _path)
    pieces = (rows for rows, _ in executor.stream(work, step, columns=[known, forward, last]))
    return put_together(pieces, data.counts, 1, np.int64)[:, 0]


def _stream(data: OpenSignals, dictionary: PatternDictionary, read: Any) -> Iterator[NDArray]:
    """Yield ``read(posterior, step, counts)`` (windows, ...) of one shard after the other."""
    step = prepare(data, dictionary)
    work = partial(map_blocks_of_shard, _read_posterior)
    for rows, _ in data.executor.stream(work, read, step, columns=messages_of(data, step)):
        yield rows


# On blocks ------------------------------------------------------------------------------------


def _gains(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, step = given
    block = block_of(samples, rows, messages)
    given_block = block, posterior_of(samples, rows, step, messages, block).responsibilities
    return step.dictionary.likelihood.posterior_gains(step.factors, *given_block), ()


def _read_posterior(samples: WindowedSignals, rows: slice, *given: Any) -> Any:
    *messages, read, step = given
    return read(posterior_of(samples, rows, step, messages), step, samples.counts[rows]), ()


def _coefficients(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return step.coefficients(posterior)


def _responsibilities(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return posterior.responsibilities


def _log_evidence(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return (posterior.log_evidence / counts)[:, None]


def _most_probable(posterior: Posterior, step: EStep, counts: NDArray) -> NDArray:
    return posterior.responsibilities.argmax(axis=1)[:, None]


# On blocks, along a chain ---------------------------------------------------------------------


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
