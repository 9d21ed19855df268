"""Signals with missing values under a precision: what is expected of them, given the others.

A sample ``x`` is known up to a constant and has a precision ``F`` with ``F 1 = 0``, positive
elsewhere. With observed nodes ``o`` and missing nodes ``m``,

    E[x_m | x_o] = -F_mm^-1 F_mo x_o,      Cov[x_m | x_o] = F_mm^-1,

the energy of what was observed is that of the completed sample, and its precision has the
log-determinant ``log det F - log det F_mm + log(|o| / N)`` on signals that sum to zero. Only
matrices of the missing nodes are inverted, once for all samples with the same gaps.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Integers

BLOCK_BYTES = 1 << 26


class MissingNodes(NamedTuple):
    """Samples that miss the same number of values."""

    nodes: Integers  # (sets, m) which nodes are missing
    rows: Integers  # samples
    which: Integers  # the set of each of them

    @property
    def entries(self) -> tuple[Integers, Integers]:
        """Rows and columns (sets, m, m) of matrices of the missing nodes."""
        return self.nodes[:, :, None], self.nodes[:, None, :]


class Completed(NamedTuple):
    """Samples under one precision, missing values expected from the others."""

    signals: NDArray  # (T, N)
    log_determinants: NDArray  # (T,) of the precision of what was observed, less that of all nodes
    covariances: list[NDArray]  # (sets, m, m) of missing values, for each of the gaps


class ObservedSignals:
    """Signals (T, N) with NaN where values are missing."""

    def __init__(self, signals: NDArray):
        missing = np.isnan(signals)
        self.signals = np.where(missing, 0.0, signals)
        self.seen = self.signals.shape[1] - missing.sum(axis=1)
        missing[self.seen == 0, 0] = False  # known up to a constant: one value says nothing
        self.missing = missing

    @property
    def dimensions(self) -> NDArray:
        """Number (T, 1) of dimensions that were observed."""
        return np.maximum(self.seen - 1, 0)[:, None]

    @cached_property
    def gaps(self) -> list[MissingNodes]:
        """Samples with gaps, by how many values they miss."""
        rows = np.flatnonzero(self.missing.any(axis=1))
        packed = np.packbits(self.missing[rows], axis=1)
        _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        which = which.ravel()
        sets = self.missing[rows[first]]
        sizes = sets.sum(axis=1)
        found = []
        for size in np.unique(sizes):
            for chosen in _pieces(np.flatnonzero(sizes == size), int(size)):
                position_of = np.full(len(sets), -1)
                position_of[chosen] = np.arange(len(chosen))
                own = np.flatnonzero(position_of[which] >= 0)
                nodes = np.nonzero(sets[chosen])[1].reshape(len(chosen), size)
                found.append(MissingNodes(nodes, rows[own], position_of[which[own]]))
        return found

    def complete(self, precision: NDArray) -> Completed:
        """Return the samples as a precision (N, N) completes them."""
        signals = self.signals.copy()
        pulls = self.signals @ precision
        logs = np.zeros(len(signals))
        covariances = []
        for gap in self.gaps:
            matrices = precision[gap.entries]
            logs[gap.rows] -= np.linalg.slogdet(matrices)[1][gap.which]
            inverses = np.linalg.inv(matrices)
            entries = gap.rows[:, None], gap.nodes[gap.which]
            signals[entries] = -np.einsum("tij,tj->ti", inverses[gap.which], pulls[entries])
            covariances.append(inverses)
        logs += np.log(np.maximum(self.seen, 1) / self.signals.shape[1])
        return Completed(signals, logs, covariances)

    def spread(self, completed: Completed, shares: NDArray) -> NDArray:
        """Return the covariances (N, N) of missing values, summed with a share (T,) of each."""
        size = self.signals.shape[1]
        total = np.zeros(size * size)
        for gap, covariances in zip(self.gaps, completed.covariances, strict=True):
            mass = np.bincount(gap.which, shares[gap.rows], len(gap.nodes))
            rows, columns = np.broadcast_arrays(*gap.entries)
            weighted = (mass[:, None, None] * covariances).ravel()
            total += np.bincount((rows * size + columns).ravel(), weighted, size * size)
        return total.reshape(size, size)


def _pieces(sets: NDArray, size: int) -> list[NDArray]:
    """Return the sets cut into pieces whose matrices are small."""
    count = max(1, BLOCK_BYTES // (8 * size * size))
    return np.split(sets, range(count, len(sets), count))
