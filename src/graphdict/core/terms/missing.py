"""Signals with gaps: squared differences of the pairs that were observed, made to stand for all.

With ``s_tij = 1`` where both nodes of a pair were observed in sample (or window) t,

    z~_tij = a_t b_ij s_tij z_tij + (1 - a_t q_t) mean_ij,      q_t = mean of b_ij s_tij over pairs

take the place of the squared differences ``z``. ``b`` makes up for pairs that are seldom observed
together and ``a_t = 1 / max(q_t, 1/3)`` for samples that miss more than others: where gaps have
nothing to do with the values, the expected objective is that of the complete signals, and so are
the degrees of its graphs. What a sample with hardly any observed pair lacks is taken from the mean
over samples: one of which nothing was observed counts as an average one, and gets its coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats, Integers

ALL = slice(None)
BLOCK_BYTES = 1 << 22
LEAST = 1 / 3
ROUNDS = 12


@dataclass(frozen=True)
class Gaps:
    """How observed pairs stand for all: their weights ``b`` (E,) and mean differences (E,)."""

    pairs: Floats
    means: Floats

    @classmethod
    def learn(cls, signals: Floats, counts: Integers) -> Gaps:
        """Return the gaps of prepared signals (T, N) with NaN, in windows of ``counts`` samples."""
        edges = graphs.n_edges(signals.shape[1])
        return cls._learn(lambda: (seen for _, *seen in _blocks(signals, counts)), edges)

    @classmethod
    def of_windows(cls, means: Floats, seen: Floats) -> Gaps:
        """Return the gaps of windows from mean squares (B, E), zero where not ``seen``."""
        return cls._learn(lambda: [(means, seen)], means.shape[1])

    @classmethod
    def _learn(cls, blocks: Callable[[], Iterable[Any]], edges: int) -> Gaps:
        """Return the gaps of blocks of means and of what was seen; ``blocks`` is called often."""
        pairs = np.ones(edges)
        for _ in range(ROUNDS):
            total, mass, sums = 0.0, np.zeros(len(pairs)), np.zeros(len(pairs))
            for means, seen in blocks():
                scale, share = _scales(seen, pairs)
                total += float(scale @ share)
                mass += scale @ seen
                sums += scale @ means
            pairs = np.divide(total, mass, out=np.zeros_like(mass), where=mass > 0)
        # Pairs that were never observed together are as far apart as pairs usually are.
        known = mass > 0
        usual = float(np.mean(sums[known] / mass[known])) if known.any() else 1.0
        return cls(pairs, np.divide(sums, mass, out=np.full_like(sums, usual), where=known))

    @classmethod
    def of_graphs(cls, weights: Floats) -> Gaps:
        """Return the gaps of new signals, for a model of complete ones with this mean graph (E,).

        An average sample has the difference between any two nodes that this graph explains best.
        """
        total = float(weights.sum(dtype=np.float64))
        nodes = graphs.n_nodes(len(weights))
        usual = nodes / total if total > 0 else 1.0
        return cls(np.ones(len(weights)), np.full(len(weights), usual))

    def sum_of_distances(self, signals: Floats) -> Floats:
        """Return ``sum_t z~_t`` (E,)."""
        counts = np.ones(len(signals), dtype=np.intp)
        result: Floats = self.distances(signals, counts).sum(axis=0, dtype=np.float64)
        return result

    def distances(self, signals: Floats, counts: Integers) -> Floats:
        """Return ``z~`` of each window (B, E); of each sample where windows have one."""
        filled = np.empty((len(counts), len(self.pairs)), dtype=signals.dtype)
        for windows, means, seen in _blocks(signals, counts):
            filled[windows] = self.fill(means, seen)
        return filled

    def fill(self, means: Floats, seen: Floats) -> Floats:
        """Return ``z~`` (B, E) of windows from their means where pairs were ``seen``."""
        scale, share = _scales(seen, self.pairs)
        block = means * (scale[:, None] * self.pairs)
        block += (1 - scale * share)[:, None] * self.means
        never = self.pairs == 0
        block[:, never] = self.means[never]
        return block


class GappySmoothness:
    """The smoothness term of signals with gaps, whose distances are formed a block at a time."""

    def __init__(self, signals: Floats, gaps: Gaps):
        self.signals = signals
        self.gaps = gaps

    def part(self, rows: slice) -> GappySmoothness:
        return GappySmoothness(self.signals[rows], self.gaps)

    def features(self, rows: slice = ALL) -> Floats:
        return np.nan_to_num(self.signals[rows])

    def energies(self, atoms: Floats, rows: slice = ALL) -> Floats:
        blocks = [block @ atoms.T for _, block in self._blocks(rows)]
        return np.concatenate(blocks).astype(atoms.dtype, copy=False)

    def weighted_distances(self, coefficients: Floats, rows: slice = ALL) -> Floats:
        total = np.zeros((coefficients.shape[1], len(self.gaps.pairs)), dtype=coefficients.dtype)
        for some, block in self._blocks(rows):
            total += coefficients[some].T @ block
        return total

    def _blocks(self, rows: slice) -> Iterator[tuple[slice, Floats]]:
        signals = self.signals[rows]
        size = max(1, BLOCK_BYTES // (8 * len(self.gaps.pairs)))
        for start in range(0, len(signals), size):
            some = slice(start, min(start + size, len(signals)))
            yield some, self.gaps.distances(signals[some], np.ones(some.stop - start, np.intp))


def _scales(seen: Floats, pairs: Floats) -> tuple[Floats, Floats]:
    """Return ``a`` and ``q`` of each row, as the module defines them."""
    share = seen @ pairs / max(1, int(np.count_nonzero(pairs)))
    return 1 / np.maximum(share, LEAST), share


def _blocks(signals: Floats, counts: Integers) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield mean squared differences of some windows, zero where unseen, and what was seen."""
    edges = graphs.n_edges(signals.shape[1])
    ends = np.cumsum(counts)
    size = max(1, BLOCK_BYTES // (int(counts.max()) * edges * 8))
    for start in range(0, len(counts), size):
        windows = slice(start, min(start + size, len(counts)))
        rows = slice(ends[start] - counts[start], ends[windows][-1])
        squares = graphs.squared_differences(signals[rows].astype(np.float64))
        seen = np.isfinite(squares)
        firsts = ends[windows] - counts[windows] - rows.start
        number = np.add.reduceat(seen.astype(np.float64), firsts, axis=0)
        sums = np.add.reduceat(np.where(seen, squares, 0), firsts, axis=0)
        yield windows, sums / np.maximum(number, 1), (number > 0).astype(np.float64)
