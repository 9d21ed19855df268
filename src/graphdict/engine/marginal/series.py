"""Passes over the samples of the marginal model that know no dictionary: their size and memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.graphs import zero_sum_basis
from graphdict.core.marginal.random_rows import RowRandom, random_memberships
from graphdict.core.marginal.spectra import reduce_moments
from graphdict.engine.executor import Shard
from graphdict.engine.marginal.samples import OpenSignals, WindowedSignals
from graphdict.native.products import weighted_distances

LEAST_SQUARE = 1e-200  # that can be divided by
LAGS, LAGS_PER_NODE = 200, 3  # at most, at which samples are compared with later ones


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
    if values[-1] <= LEAST_SQUARE:  # nothing varies
        return 1.0
    scales = np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    whitening = zero_sum_basis(data.nodes) @ (vectors / scales)
    before = data.executor.scan(_last_samples, [], None, lags)
    _, (sums,) = data.executor.map_blocks(_autocorrelations, [before], whitening, lags)
    squares = np.square(sums[1:] / np.maximum(sums[0], 1e-300)).mean(axis=1) - 1 / data.total
    ends = np.flatnonzero(squares <= 1 / data.total)
    return float(1 + 2 * squares[: ends[0] if len(ends) else lags].sum())


def observed_pairs(data: OpenSignals) -> float:
    """Return the share of the pairs of values that were observed, over all samples."""
    _, (pairs,) = data.executor.map_blocks(_observed_pairs, [])
    return float(pairs) / (data.total * data.nodes * (data.nodes - 1))


# On blocks ------------------------------------------------------------------------------------


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


def _all_moments(samples: WindowedSignals, rows: slice) -> Any:
    signals = samples.imputed_block(rows).signals.astype(np.float64)
    return None, (signals.T @ signals,)


def _last_samples(samples: WindowedSignals, rows: slice, before: Any, lags: int) -> NDArray:
    """Return a copy of the last samples (at most ``lags``) that precede the next block."""
    signals, starts = samples.imputed_block(rows).signals, samples.sample_starts_in(rows)
    if starts:
        signals, before = signals[starts[-1] :], None
    signals = signals[-lags:]
    if before is None or len(signals) == lags:
        return signals.copy()  # a view would keep the whole block
    return np.concatenate((before, signals))[-lags:]


def _autocorrelations(
    samples: WindowedSignals, rows: slice, before: Any, whitening: NDArray, lags: int
) -> Any:
    signals = samples.imputed_block(rows).signals.astype(np.float64) @ whitening
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


def _observed_pairs(samples: WindowedSignals, rows: slice) -> Any:
    seen = np.isfinite(samples.block(rows).signals).sum(axis=1, dtype=np.float64)
    return None, (float(seen @ (seen - 1)),)
