"""Graphs that change slowly: atoms live on intervals of time, and which are active is known.

The atoms form a tree over the duration of the signals: one for all of it, two for its halves, four
for its quarters. An edge that lasts is paid for once, near the root, and one that comes or goes
lives further down. Or there is an atom for every interval between two of several marks in time, so
that the whole life of an edge, whenever it begins and ends, can be that of one atom. A pattern is a
position in time, and its entry for an atom is the share of the atom's interval in a moving window
two leaves (or marks) wide, so that graphs blend where intervals meet instead of jumping.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from graphdict.core.annotations import Integers

PER_LEAF = 4  # positions in time for each leaf of the tree


def n_levels(n_atoms: int) -> float:
    """Return the number of halvings from all of the time to the shortest interval, plus one."""
    return float(np.log2(_leaves(n_atoms))) + 1


def hierarchy_patterns(n_atoms: int) -> NDArray:
    """Return activations (positions, K) in [0, 1] of a tree of intervals, or of all intervals."""
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
    """Return whether ``n_atoms`` is one less than a power of two."""
    return n_atoms & (n_atoms + 1) == 0


def _leaves(n_atoms: int) -> int:
    """Return the number of shortest intervals; raise where no hierarchy has ``n_atoms``."""
    if _is_tree(n_atoms):
        return (n_atoms + 1) // 2
    count = (isqrt(8 * n_atoms + 1) - 1) // 2
    if count * (count + 1) // 2 == n_atoms:
        return count
    tree = 2 ** (n_atoms.bit_length() - 1) - 1
    raise ValueError(
        f'n_atoms={n_atoms} with prior="hierarchy" is no full binary tree of intervals of time: '
        f"use {tree} or {2 * tree + 1}; or {count * (count + 1) // 2} or "
        f"{(count + 1) * (count + 2) // 2}, all intervals between marks"
    )


def time_positions(
    rows: int,
    count: int,
    first: int = 0,
    some: int | None = None,
    starts: Sequence[int] | Integers = (0,),
) -> Integers:
    """Return the position in time (rows,), out of ``count``, of each sample or window.

    With ``some``, those of so many rows from the one numbered ``first`` on: (some,). ``starts`` are
    the first rows of recordings, in each of which positions begin anew.
    """
    last = rows if some is None else first + some
    place = np.arange(first, last)
    begins = np.asarray(starts, dtype=np.intp)
    own = np.searchsorted(begins, place, side="right") - 1
    ends = np.append(begins[1:], rows)
    found: Integers = (place - begins[own]) * count // (ends - begins)[own]
    return found
