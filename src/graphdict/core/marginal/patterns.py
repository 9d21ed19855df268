"""Activation patterns: which sets of atoms may be active together, and how probable each is.

A pattern ``c`` is a row of zeros and ones over the K atoms. Its probability ``pi_c`` is either free
or log-linear,

    pi_c  proportional to  a_|c| prod_{k in c} theta_k,

under which atoms are independent given how many are active.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "count_patterns",
    "default_max_active",
    "enumerate_patterns",
    "fit_probabilities",
    "uniform_probabilities",
]

COMFORTABLE = 5000  # patterns that a fit handles within seconds to minutes
LARGEST = 200_000
FLOOR = 1e-12  # of a probability, so that no pattern is lost for good
CYCLES = 3


def count_patterns(n_atoms: int, max_active: int) -> int:
    """Return the number of non-empty sets of at most ``max_active`` atoms."""
    return sum(comb(n_atoms, size) for size in range(1, max_active + 1))


def default_max_active(n_atoms: int) -> int:
    """Return the largest number of active atoms that leaves at most 5,000 patterns."""
    size = 1
    while size < n_atoms and count_patterns(n_atoms, size + 1) <= COMFORTABLE:
        size += 1
    return size


def enumerate_patterns(n_atoms: int, max_active: int) -> NDArray[np.bool_]:
    """Return all sets of 1 to ``max_active`` atoms as boolean rows (C, K), smallest sets first."""
    count = count_patterns(n_atoms, max_active)
    if count > LARGEST:
        raise ValueError(
            f"max_active={max_active} of n_atoms={n_atoms} gives {count} activation patterns; "
            f"at most {LARGEST} are handled: lower max_active to {default_max_active(n_atoms)}"
        )
    patterns = np.zeros((count, n_atoms), dtype=bool)
    row = 0
    for size in range(1, max_active + 1):
        for active in combinations(range(n_atoms), size):
            patterns[row, active] = True
            row += 1
    return patterns


def uniform_probabilities(patterns: NDArray) -> NDArray:
    """Return probabilities (C,): all numbers of active atoms alike, all sets of a size alike."""
    sizes = patterns.sum(axis=1)
    _, inverse, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    return 1 / (counts[inverse] * len(counts))


def fit_probabilities(patterns: NDArray, counts: NDArray, current: NDArray, prior: str) -> NDArray:
    """Return probabilities (C,) that raise the log-prior of expected pattern ``counts`` (C,).

    With ``prior="free"`` they are the relative counts. The log-linear prior, "independent", has no
    closed form; each step of iterative proportional fitting matches one of its marginals (a size,
    an atom) exactly and never lowers ``sum_c counts_c log pi_c``. "sizes" leaves the odds of the
    atoms as they are.
    """
    share = counts / counts.sum()
    if prior == "free":
        return _floored(share)
    probabilities = current.copy()
    sizes = patterns.sum(axis=1)
    for _ in range(CYCLES):
        expected = np.bincount(sizes, weights=share)
        present = np.bincount(sizes, weights=probabilities)
        probabilities *= (expected / np.where(present > 0, present, 1))[sizes]
        for atom in patterns.T if prior == "independent" else ():
            target, mass = share[atom].sum(), probabilities[atom].sum()
            # An atom that is in every pattern, or in none, has no odds to fit.
            if 0 < mass < 1 and 0 < target < 1:
                probabilities *= np.where(atom, target / mass, (1 - target) / (1 - mass))
        probabilities /= probabilities.sum()
    return _floored(probabilities)


def _floored(probabilities: NDArray) -> NDArray:
    """Return probabilities (C,) none of which is below a floor."""
    raised = np.maximum(probabilities, FLOOR)
    return raised / raised.sum()
