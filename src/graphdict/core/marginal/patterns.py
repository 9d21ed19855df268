"""Activation patterns: which sets of atoms may be active together, and how probable each is.

A pattern ``c`` is a row of activations of the K atoms: zeros and ones, or for graded activations
zeros and ``levels`` values up to one. Its probability ``pi_c`` is either free or log-linear,

    pi_c  proportional to  a_|c| prod_{k in c} theta_k(c_k),

under which atoms are independent given how many are active, and each has its own odds of every
level.
"""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans, Floats, Integers

COMFORTABLE = 5000  # patterns that a fit handles within seconds to minutes
LARGEST = 200_000
FLOOR = 1e-12  # of a probability, so that no pattern is lost for good
CYCLES = 3


def count_patterns(n_atoms: int, max_active: int, levels: int = 1) -> int:
    """Return the number of non-empty sets of at most ``max_active`` atoms, each at some level."""
    return sum(comb(n_atoms, size) * levels**size for size in range(1, max_active + 1))


def default_max_active(n_atoms: int, levels: int = 1) -> int:
    """Return the largest number of active atoms that leaves at most 5,000 patterns."""
    size = 1
    while size < n_atoms and count_patterns(n_atoms, size + 1, levels) <= COMFORTABLE:
        size += 1
    return size


def activation_levels(levels: int) -> Floats:
    """Return the activations (levels,) that an active atom may have: ``1/m, 2/m, ..., 1``."""
    return np.arange(1, levels + 1) / levels


def enumerate_patterns(n_atoms: int, max_active: int, levels: int = 1) -> NDArray:
    """Return all sets of 1 to ``max_active`` atoms as rows (C, K), smallest sets first.

    Rows are boolean where there is one level. With more of them they are numbers, and a set has a
    row for each combination of the levels of its atoms.
    """
    count = count_patterns(n_atoms, max_active, levels)
    if count > LARGEST:
        graded = f" at levels={levels}" if levels > 1 else ""
        less = f"lower max_active to {default_max_active(n_atoms, levels)}"
        if levels > 1:
            less += ", or levels"
        raise ValueError(
            f"max_active={max_active} of n_atoms={n_atoms}{graded} gives {count} activation "
            f"patterns; at most {LARGEST} are handled: {less}"
        )
    values = activation_levels(levels)
    patterns = np.zeros((count, n_atoms), dtype=bool if levels == 1 else np.float64)
    row = 0
    for size in range(1, max_active + 1):
        graded_sets = list(product(values, repeat=size))
        for active in combinations(range(n_atoms), size):
            patterns[row : row + len(graded_sets), active] = graded_sets
            row += len(graded_sets)
    return patterns


def pattern_sizes(patterns: NDArray) -> Integers:
    """Return the number of active atoms (C,) of patterns (C, K)."""
    return np.count_nonzero(patterns, axis=1)


def uniform_probabilities(patterns: NDArray) -> NDArray:
    """Return probabilities (C,): all numbers of active atoms alike, all patterns of one alike."""
    sizes = pattern_sizes(patterns)
    _, inverse, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    return 1 / (counts[inverse] * len(counts))


def fit_probabilities(patterns: NDArray, counts: NDArray, current: NDArray, prior: str) -> NDArray:
    """Return probabilities (C,) that raise the log-prior of expected pattern ``counts`` (C,).

    With ``prior="free"`` they are the relative counts. The log-linear prior, "independent", has no
    closed form; each step of iterative proportional fitting matches one of its marginals (a size,
    an atom at a level) exactly and never lowers ``sum_c counts_c log pi_c``. "sizes" leaves the
    odds of the atoms as they are.
    """
    share = counts / counts.sum()
    if prior == "free":
        return _floored(share)
    probabilities = current.copy()
    sizes = pattern_sizes(patterns)
    events = _atoms_at_levels(patterns) if prior == "independent" else []
    for _ in range(CYCLES):
        expected = np.bincount(sizes, weights=share)
        present = np.bincount(sizes, weights=probabilities)
        probabilities *= (expected / np.where(present > 0, present, 1))[sizes]
        for event in events:
            target, mass = share[event].sum(), probabilities[event].sum()
            # An atom that is in every pattern, or in none, has no odds to fit.
            if 0 < mass < 1 and 0 < target < 1:
                probabilities *= np.where(event, target / mass, (1 - target) / (1 - mass))
        probabilities /= probabilities.sum()
    return _floored(probabilities)


def _atoms_at_levels(patterns: NDArray) -> list[Booleans]:
    """Return, for each atom at each level, which patterns (C,) have that atom at that level."""
    if patterns.dtype == bool:
        return list(patterns.T)
    return [atom == level for atom in patterns.T for level in np.unique(atom[atom > 0])]


def _floored(probabilities: NDArray) -> NDArray:
    """Return probabilities (C,) that are at least as large as a floor."""
    raised = np.maximum(probabilities, FLOOR)
    return raised / raised.sum()
