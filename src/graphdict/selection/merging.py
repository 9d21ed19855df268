"""Fits with one atom fewer, to begin at: the two atoms that are most alike become one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from graphdict.metrics import cosines


def merged(fitted: Any) -> Any:
    """Return a copy of a fit of exclusive states in which the two most alike atoms are one.

    It is one to begin at (``start`` of :func:`graphdict.selection.trials.fit_quietly`), not to use.
    Return None where atoms are not exclusive, or where there are fewer than two.
    """
    count = len(fitted.atoms_)
    if count < 2 or not np.array_equal(fitted.patterns_, np.eye(count, dtype=bool)):
        return None
    atoms = np.asarray(fitted.atoms_, dtype=np.float64)
    alike = np.where(np.tri(count, dtype=bool), -np.inf, cosines(atoms, atoms))
    first, second = np.unravel_index(int(alike.argmax()), alike.shape)
    probabilities = np.asarray(fitted.pattern_probabilities_, dtype=np.float64)
    both = max(float(probabilities[first] + probabilities[second]), np.finfo(float).tiny)
    start = copy.copy(fitted)
    start.atoms_ = np.delete(atoms, second, axis=0)
    start.atoms_[first] = (probabilities[[first, second]] / both) @ atoms[[first, second]]
    start.pattern_probabilities_ = np.delete(probabilities, second)
    start.pattern_probabilities_[first] = both
    start.patterns_ = np.eye(count - 1, dtype=bool)
    start.n_atoms = count - 1
    return start
