"""Arrays as compiled passes over tiles of samples take them: rows and columns in fours.

A tile holds up to ``TILE`` samples, and compiled loops handle four edges, nodes or atoms at a time.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["PITCH", "TILE", "Packed", "pack", "pairs_of", "rows_of_tile", "transposed", "wider"]

TILE = 384
PITCH = TILE + 8  # rows that lie a power of two apart would share the same few lines of the cache


class Packed(NamedTuple):
    """The atoms as a pass takes them, filled up with zeros to multiples of four."""

    factors: NDArray  # the atoms (K, E)
    slopes: NDArray  # their degrees or spectra (K, N)
    reach: NDArray  # sigma times those of the atoms ahead (N, K)
    sigma: Any
    nodes: int
    edges: int


def pack(atoms: NDArray, images: NDArray, images_ahead: NDArray, sigma: float) -> Packed:
    """Atoms (K, E), their degrees or spectra (K, N), and those of the extrapolated atoms."""
    sigma, nodes, edges = atoms.dtype.type(sigma), images.shape[1], atoms.shape[1]
    return Packed(
        wider(atoms), wider(images), transposed(sigma * images_ahead), sigma, nodes, edges
    )


@lru_cache(maxsize=16)
def pairs_of(nodes: int) -> NDArray:
    """The two nodes of each edge (2, E); edges beyond the last join node 0 with itself."""
    pairs = np.array(np.triu_indices(nodes, 1))
    return np.pad(pairs, ((0, 0), (0, -pairs.shape[1] % 4)))


def rows_of_tile(dtype: np.dtype, *counts: int) -> list[NDArray]:
    """Arrays of so many rows to work in, not set; compiled code would take long to make them."""
    rows = np.empty((sum(counts), PITCH), dtype)
    ends = accumulate(counts)
    return [rows[end - count : end] for count, end in zip(counts, ends, strict=True)]


def transposed(matrix: NDArray) -> NDArray:
    """The transpose, with rows and columns of zeros up to multiples of four."""
    rows, columns = matrix.shape
    found = np.zeros((columns + -columns % 4, rows + -rows % 4), matrix.dtype)
    found[:columns, :rows] = matrix.T
    return found


def wider(matrix: NDArray) -> NDArray:
    """With columns of zeros up to a multiple of four."""
    rows, columns = matrix.shape
    if columns % 4 == 0 and matrix.flags.c_contiguous:
        return matrix
    wide = np.zeros((rows, columns + -columns % 4), matrix.dtype)
    wide[:, :columns] = matrix
    return wide
