"""A point of BiPDS: what was computed there, and how far from optimal it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem
from graphdict.core.protocols import BlockStates
from graphdict.core.solvers.primal_dual import PassSums
from graphdict.core.solvers.step_sizes import NO_SIGMA, split_step

__all__ = ["Point", "residuals"]


@dataclass(frozen=True)
class Point:
    """One point of the iteration and what was computed there; objective only at checks."""

    iteration: int
    atoms: NDArray[np.float64]
    split_atoms: tuple[NDArray[np.float64], ...]  # duals of the terms that have no direct prox
    states: BlockStates
    steps: tuple[float, float, float]  # that led here
    lipschitz: float  # of the smooth priors on the coefficients
    gradient_atoms: NDArray[np.float64]
    sums: PassSums
    image: NDArray[np.float64] | None = None  # ``M(W)``, where the operator is the lift of an ``M``
    objective: float = np.nan

    def is_finite(self) -> bool:
        """Return whether all numbers at the point are finite."""
        arrays = self.atoms, self.gradient_atoms
        return not self.sums.wrong and all(bool(np.isfinite(a).all()) for a in arrays)


def residuals(problem: Problem, fixed: str | None, before: Point, after: Point) -> dict[str, float]:
    """Return the relative distance from optimality in each variable, at the new point.

    Each is a subgradient at the new point, so all vanish together only where it is stationary,
    whatever the step sizes; a small step alone would not show that.
    """
    tau_atoms, tau, sigma = after.steps
    sums = after.sums
    moves = sigma > NO_SIGMA  # a step of zero holds its variable
    found = {"dual": _relative(sums.dual_gap**0.5, sums.image**0.5) if moves else 0.0}
    if fixed != "atoms" and tau_atoms:
        gap = (before.atoms - after.atoms) / tau_atoms
        gap += after.gradient_atoms - before.gradient_atoms
        fit = np.linalg.norm(before.gradient_atoms) + np.linalg.norm(after.gradient_atoms)
        found["atoms"] = _relative(np.linalg.norm(gap), fit)
        if after.split_atoms:
            step = split_step(tau_atoms, len(after.split_atoms))
            gaps = [
                (old - new) / step + after.atoms - before.atoms
                for old, new in zip(before.split_atoms, after.split_atoms, strict=True)
            ]
            size = np.linalg.norm(after.atoms)
            found["split_atoms"] = _relative(np.linalg.norm(gaps), size)
    if fixed != "coefficients" and tau:
        found["coefficients"] = _relative(sums.coefficient_gap**0.5, sums.energy**0.5)
        if problem.coefficients.split:
            found["split_coefficients"] = _relative(sums.split_gap**0.5, sums.size**0.5)
    return found


def _relative(size: Any, reference: Any) -> float:
    """Return ``size / reference``, ``size`` where the reference is zero, and inf at an overflow."""
    if not (np.isfinite(size) and np.isfinite(reference)):
        return np.inf
    return float(size / reference) if reference > 0 else float(size)
