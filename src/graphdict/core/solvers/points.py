"""A point of BiPDS: what was computed there, and how far from optimal it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.problem import Problem
from graphdict.core.protocols import BlockStates
from graphdict.core.solvers.base import relative_size
from graphdict.core.solvers.primal_dual import PassSums
from graphdict.core.solvers.step_sizes import NO_SIGMA, split_step


@dataclass(frozen=True)
class Point:
    """One point of the iteration and what was computed there; objective only at checks."""

    iteration: int
    atoms: Floats
    split_atoms: tuple[Floats, ...]  # duals of the terms that have no direct prox
    states: BlockStates
    steps: tuple[float, float, float]  # that led here
    lipschitz: float  # of the smooth priors on the coefficients
    gradient_atoms: Floats
    sums: PassSums
    atom_images: Floats | None = None  # ``M(W)``, where the operator lifts a map ``M``
    objective: float = np.nan

    def is_finite(self) -> bool:
        """Return whether all numbers at the point are finite."""
        arrays = self.atoms, self.gradient_atoms
        return not self.sums.non_finite and all(bool(np.isfinite(a).all()) for a in arrays)


def residuals(problem: Problem, fixed: str | None, before: Point, after: Point) -> dict[str, float]:
    """Return the relative distance from optimality in each variable, at the new point.

    Each is a subgradient at the new point, so all vanish together only where it is stationary,
    whatever the step sizes; a small step alone would not show that.
    """
    tau_atoms, tau, sigma = after.steps
    sums = after.sums
    found = {"dual": 0.0}
    if sigma > NO_SIGMA:  # a step of zero holds its variable
        found["dual"] = relative_size(sums.squared_dual_gap**0.5, sums.squared_mixed_images**0.5)
    if fixed != "atoms" and tau_atoms:
        gap = (before.atoms - after.atoms) / tau_atoms
        gap += after.gradient_atoms - before.gradient_atoms
        fit = np.linalg.norm(before.gradient_atoms) + np.linalg.norm(after.gradient_atoms)
        found["atoms"] = relative_size(np.linalg.norm(gap), fit)
        if after.split_atoms:
            step = split_step(tau_atoms, len(after.split_atoms))
            gaps = [
                (old - new) / step + after.atoms - before.atoms
                for old, new in zip(before.split_atoms, after.split_atoms, strict=True)
            ]
            size = np.linalg.norm(after.atoms)
            found["split_atoms"] = relative_size(np.linalg.norm(gaps), size)
    if fixed != "coefficients" and tau:
        gap = sums.squared_coefficient_gap**0.5
        found["coefficients"] = relative_size(gap, sums.squared_energies**0.5)
        if problem.coefficient_priors.split:
            gap, size = sums.squared_split_gap**0.5, sums.squared_coefficients**0.5
            found["split_coefficients"] = relative_size(gap, size)
    return found
