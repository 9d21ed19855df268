"""Graphs that drift: atoms live on nested stretches of time, and which are active is known.

The atoms form a binary tree over the duration of the signals: one for all of it, two for its
halves, four for its quarters. An edge that lasts is paid for once, near the root, and one that
comes or goes lives further down. A pattern is a position in time, and its entry for an atom is the
share of the atom's stretch in a moving window two leaves wide, so that graphs blend where stretches
meet instead of jumping.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

__all__ = ["hierarchy", "n_levels", "positions"]

PER_LEAF = 4  # positions in time for each leaf of the tree


def n_levels(n_atoms: int) -> int:
    """Levels of the binary tree of ``n_atoms`` nodes."""
    levels = (n_atoms + 1).bit_length() - 1
    if 2**levels - 1 != n_atoms:
        raise ValueError(
            f'n_atoms={n_atoms} with prior="hierarchy" is no full binary tree of stretches of '
            f"time: use {2**levels - 1} or {2 ** (levels + 1) - 1}"
        )
    return levels


def hierarchy(n_atoms: int) -> NDArray:
    """Activations (positions, K) of a tree of stretches, in [0, 1], root first."""
    levels = n_levels(n_atoms)
    count = PER_LEAF * 2 ** (levels - 1)
    position = np.arange(count)
    stretches = [
        position * 2**level // count == part for level in range(levels) for part in range(2**level)
    ]
    sharp = np.array(stretches, dtype=np.float64).T
    return uniform_filter1d(sharp, 2 * PER_LEAF, axis=0, mode="nearest")


def positions(rows: int, count: int, first: int = 0, some: int | None = None) -> NDArray[np.intp]:
    """Position in time, out of ``count``, of each of ``rows`` samples or windows.

    Or of ``some`` of them, from the one numbered ``first`` on.
    """
    last = rows if some is None else first + some
    return np.arange(first, last) * count // rows
