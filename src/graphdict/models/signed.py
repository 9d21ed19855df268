"""Atoms whose edges may be negative: what settings go with them, and what a file may hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.marginal.signed import is_definite


def check_signed(model: Any) -> None:
    """Raise ValueError for settings of a GraphDictMarginal that ``signed=True`` does not know."""
    if not model.signed:
        return
    wrong = {
        "max_active": (model.max_active not in (None, 1), "1"),
        "levels": (model.levels != 1, "1"),
        "filter_power": (model.filter_power not in ("auto", 1), '1 or "auto"'),
        "prior": (model.prior == "hierarchy", '"independent", "free" or "markov"'),
        "average": (model.average > 0, "0"),
    }
    for name, (is_wrong, accepted) in wrong.items():
        if is_wrong:
            raise ValueError(
                f"signed=True cannot be used with {name}={getattr(model, name)!r}: one graph is "
                f"active at a time, and {name} must be {accepted}"
            )


def check_signed_atoms(atoms: NDArray[Any], active: NDArray[Any], signed: bool) -> None:
    """Raise ValueError for atoms (K, E) with negative weights that no fit could have left."""
    if not signed:
        if (atoms < 0).any():
            raise ValueError("atoms_ must be nonnegative unless signed is true")
        return
    rows, cols = graphs.edge_index(len(active))
    there = np.asarray(active)[rows] & np.asarray(active)[cols]
    if not all(is_definite(weights[there].astype(np.float64)) for weights in atoms):
        raise ValueError("atoms_ must be positive definite on signals that sum to zero")
