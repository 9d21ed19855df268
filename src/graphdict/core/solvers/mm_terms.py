"""Which problems majorise-minimise (MM) can minimise: those whose terms have updates.

They are those of exact classes, since a subclass may be another function, and of barriers that
decrease with every edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphdict.core.operators import LinearMap
from graphdict.core.terms import L1, LogBarrier, LogDet, NonNegative, Orthogonality, UnitBox
from graphdict.core.terms.base import Barrier, is_exactly, name_of

TRIAL_SIZES = (1e-2, 1.0, 1e2)  # of graphs on which a barrier must decrease


def mm_lacks(
    barrier: Barrier,
    atom_terms: Sequence[Any],
    coefficient_terms: Sequence[Any],
    linear: LinearMap | None = None,
    n_edges: int = 0,
) -> str | None:
    """Return why MM cannot minimise a problem of these terms, or None where it can.

    Where ``linear``, what the barrier sees of graphs with so many edges, is given, it is tried
    whether the barrier decreases.
    """
    if not hasattr(barrier, "slope"):
        return f"the barrier {name_of(barrier)} lacks slope(rows)"
    if linear is not None and _grows_with_edges(barrier, linear, n_edges):
        return f"the barrier {name_of(barrier)} grows with the weight of some edge"
    for term in atom_terms:
        if not is_exactly(term, NonNegative, L1, Orthogonality):
            return f"the atom prior {name_of(term)} has no multiplicative update"
    for term in coefficient_terms:
        if not is_exactly(term, UnitBox, L1):
            return f"the coefficient prior {name_of(term)} has no multiplicative update"
    return None


def _grows_with_edges(barrier: Any, linear: LinearMap, n_edges: int) -> bool:
    """Return whether a barrier, if it is none of ours, grows with an edge of some trial graphs."""
    if is_exactly(barrier, LogBarrier, LogDet):
        return False
    graphs = 1 + np.random.default_rng(0).random((3, n_edges))
    for size in TRIAL_SIZES:
        rows = linear.apply(size * graphs)
        slopes = linear.adjoint(barrier.slope(rows[np.isfinite(barrier.values(rows))]))
        if (slopes < -1e-6 * np.abs(slopes).max(initial=0)).any():
            return True
    return False
