"""Random imputation of missing values, for what need not be exact: starts, the size of signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.missing import draw_missing
from graphdict.core.marginal.random_rows import RowRandom, standard_normals

LOOKED_AT, LOOKS = 1 << 16, 16  # samples that the covariance is learned from, in so many runs
FLOOR = 1e-3  # least eigenvalue of the covariance, relative to their mean


@dataclass(frozen=True)
class Imputer:
    """Draws missing values given the observed ones, under one covariance for all samples."""

    covariance: NDArray  # (N, N)
    random: RowRandom

    @classmethod
    def learn(cls, signals: Any, rng: np.random.RandomState) -> Imputer:
        """Return the imputer of prepared signals (T, N) with NaN; of very many, some are read."""
        random = RowRandom.take(rng, len(signals), standard_normals, signals.shape[1])
        if len(signals) <= LOOKED_AT:
            return cls(_overall_covariance(signals[: len(signals)]), random)
        size = LOOKED_AT // LOOKS
        starts = np.linspace(0, len(signals) - size, LOOKS).astype(int)
        some = np.concatenate([signals[start : start + size] for start in starts])
        return cls(_overall_covariance(some), random)

    def impute(self, signals: NDArray, first: int) -> NDArray:
        """Return complete signals (T, N) of zero mean over nodes, the samples from ``first`` on."""
        rows = slice(first, first + len(signals))
        noise = self.random.rows(rows, standard_normals, signals.shape[1])
        chosen = np.zeros(len(signals), dtype=np.intp)
        filled = draw_missing(signals, self.covariance[None], chosen, noise)
        return (filled - filled.mean(axis=1, keepdims=True)).astype(signals.dtype)


def _overall_covariance(signals: NDArray) -> NDArray:
    """Return the covariance (N, N) that distances of observed pairs give, made positive.

    Pairs that were never observed together are as far apart as pairs usually are.
    """
    seen = np.isfinite(signals).astype(np.float64)
    filled = np.where(seen > 0, signals, 0.0).astype(np.float64)
    squares = np.square(filled).T @ seen
    sums, pairs = squares + squares.T - 2 * filled.T @ filled, seen.T @ seen
    known = (pairs > 0) & ~np.eye(len(pairs), dtype=bool)
    usual = float(np.mean(sums[known] / pairs[known])) if known.any() else 1.0
    distances = np.divide(sums, pairs, out=np.full_like(sums, usual), where=pairs > 0)
    np.fill_diagonal(distances, 0)
    centre = np.eye(len(distances)) - 1 / len(distances)
    values, vectors = np.linalg.eigh(-centre @ distances @ centre / 2)
    values = np.maximum(values, FLOOR * max(float(values.mean()), 1e-300))
    return (vectors * values) @ vectors.T
