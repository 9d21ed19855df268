"""Priors on the dictionary of atoms ``W`` (K, E)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict.core.annotations import Floats


@dataclass(frozen=True)
class Orthogonality:
    """``alpha sum_{k < k'} <w_k, w_k'>``: an edge belongs to one atom rather than to several.

    Counting each pair once makes ``alpha (1 1' - I) W`` the exact gradient.

    Parameters
    ----------
    alpha : float
        Strength, not negative.
    """

    alpha: float

    def value(self, atoms: Floats) -> float:
        """Return the term at atoms (K, E)."""
        atoms = atoms.astype(np.float64, copy=False)  # products may be too large
        return self.alpha * float(np.vdot(atoms, atoms.sum(axis=0) - atoms)) / 2

    def gradient(self, atoms: Floats) -> Floats:
        """Return the gradient (K, E): of each atom, ``alpha`` times the sum of the others."""
        result: Floats = self.alpha * (atoms.sum(axis=0) - atoms)
        return result

    def lipschitz(self, atoms: Floats) -> float:
        """Return the largest eigenvalue in modulus of ``alpha (1 1' - I)``."""
        return self.alpha * max(len(atoms) - 1, 1)
