"""Random numbers for every sample, the same however the samples are cut and whoever draws them.

Rows are drawn in chunks of a fixed size: the first from the generator of the fit, each other from a
seed that it gives. Whoever needs some rows draws the chunks that they lie in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 16

Draw = Callable[[np.random.RandomState, int, int], NDArray]


@dataclass(frozen=True)
class RowRandom:
    """The random numbers of all rows, any part of which can be drawn again."""

    state: Any  # of the generator, for the first chunk
    seeds: NDArray  # of the other chunks
    count: int  # number of rows
    size: int  # rows of a chunk

    @classmethod
    def take(cls, rng: np.random.RandomState, count: int, draw: Draw, columns: int) -> RowRandom:
        """Return the numbers of ``count`` rows, and move the generator past them.

        ``draw`` and ``columns`` are those that :meth:`rows` will be called with.
        """
        state = rng.get_state()
        draw(rng, min(count, CHUNK), columns)
        further = max(-(-count // CHUNK) - 1, 0)
        seeds = rng.randint(2**31 - 1, size=further) if further else np.empty(0, dtype=int)
        return cls(state, seeds, count, CHUNK)

    def rows(self, rows: slice, draw: Draw, columns: int) -> NDArray:
        """Return ``draw(generator, rows, columns)`` for some of the rows: (rows, columns)."""
        pieces = []
        for chunk in range(rows.start // self.size, -(-rows.stop // self.size)):
            first = chunk * self.size
            drawn = draw(self._generator(chunk), min(self.size, self.count - first), columns)
            pieces.append(drawn[max(rows.start - first, 0) : rows.stop - first])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _generator(self, chunk: int) -> np.random.RandomState:
        if chunk:
            return np.random.RandomState(int(self.seeds[chunk - 1]))
        rng = np.random.RandomState(0)
        rng.set_state(self.state)
        return rng


def random_memberships(rng: np.random.RandomState, rows: int, columns: int) -> NDArray:
    """Return soft memberships (rows, columns), each row a draw that favours few columns."""
    return rng.dirichlet(np.full(columns, 0.5), size=rows)


def even_memberships(rng: np.random.RandomState, rows: int, columns: int) -> NDArray:
    """Return soft memberships (rows, columns), all shares of the columns alike probable."""
    return rng.dirichlet(np.ones(columns), size=rows)


def standard_normals(rng: np.random.RandomState, rows: int, columns: int) -> NDArray:
    """Return standard normal numbers (rows, columns)."""
    return rng.standard_normal((rows, columns))
