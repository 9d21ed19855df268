"""Graphs that drift: atoms live on stretches of time, and which are active is known.

The atoms form a tree over the duration of the signals: one for all of it, two for its halves, four
for its quarters. An edge that lasts is paid for once, near the root, and one that comes or goes
lives further down. Or there is an atom for every stretch between two of several marks in time, so
that the whole life of an edge, whenever it begins and ends, can be that of one atom. A pattern is a
position in time, and its entry for an atom is the share of the atom's stretch in a moving window
two leaves (or marks) wide, so that graphs blend where stretches meet instead of jumping.
"""

from __future__ import annotations

from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

__all__ = ["hierarchy", "n_levels", "positions"]

PER_LEAF = 4  # positions in time for each leaf of the tree


def n_levels(n_atoms: int) -> float:
    """Halvings from all of the time to the shortest of ``n_atoms`` stretches, plus one."""
    return float(np.log2(_leaves(n_atoms))) + 1


def hierarchy(n_atoms: int) -> NDArray:
    """Activations (positions, K) of a tree of stretches, or of all of them, in [0, 1]."""
    leaves = _leaves(n_atoms)
    if _is_tree(n_atoms):
        lengths = [leaves >> level for level in range(leaves.bit_length())]
        ends = [(start, start + length) for length in lengths for start in range(0, leaves, length)]
    else:
        ends = list(combinations(range(leaves + 1), 2))
    leaf = np.arange(PER_LEAF * leaves) // PER_LEAF
    sharp = np.array([(start <= leaf) & (leaf < end) for start, end in ends], dtype=np.float64).T
    return uniform_filter1d(sharp, 2 * PER_LEAF, axis=0, mode="nearest")


def _is_tree(n_atoms: int) -> bool:
    """Whether it is one less than a power of two."""
    return n_atoms & (n_atoms + 1) == 0


def _leaves(n_atoms: int) -> int:
    """How many shortest stretches a full tree of ``n_atoms``, or else so many of all, has."""
    if _is_tree(n_atoms):
        return (n_atoms + 1) // 2
    count = (isqrt(8 * n_atoms + 1) - 1) // 2
    if count * (count + 1) // 2 == n_atoms:
        return count
    tree = 2 ** (n_atoms.bit_length() - 1) - 1
    raise ValueError(
        f'n_atoms={n_atoms} with prior="hierarchy" is no full binary tree of stretches of time: '
        f"use {tree} or {2 * tree + 1}; or {count * (count + 1) // 2} or "
        f"{(count + 1) * (count + 2) // 2}, all stretches between marks"
    )


def positions(rows: int, count: int, first: int = 0, some: int | None = None) -> NDArray[np.intp]:
    """Position in time, out of ``count``, of each of ``rows`` samples or windows.

    Or of ``some`` of them, from the one numbered ``first`` on.
    """
    last = rows if some is None else first + some
    return np.arange(first, last) * count // rows
