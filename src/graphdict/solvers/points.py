"""A point of BiPDS, and the pass over blocks of samples that evaluates everything there.

The dual step into a point and the gradients at it need the same samples, so one pass serves both.
Only the gradient in the atoms and four numbers leave a block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem
from graphdict.solvers.blocks import Blocks
from graphdict.solvers.steps import split_step
from graphdict.terms import base

__all__ = ["Evaluator", "Point"]


@dataclass(frozen=True)
class Point:
    """One point of the iteration and what was computed there."""

    atoms: NDArray
    coefficients: NDArray
    dual: NDArray
    split_atoms: tuple[NDArray, ...]  # duals of the terms that have no direct prox
    split_coefficients: tuple[NDArray, ...]
    gradient_atoms: NDArray  # of everything but the direct proxes, dual included
    gradient_coefficients: NDArray
    steps: tuple[float, float, float]  # that led here
    objective: float = np.nan  # this and the sizes below only where it was checked
    image_size: float = np.nan
    energy_size: float = np.nan
    dual_gap: float = np.nan

    def is_finite(self) -> bool:
        arrays = (self.atoms, self.gradient_atoms, self.gradient_coefficients, self.dual)
        return all(bool(np.isfinite(array).all()) for array in arrays)

    def snapshot(self) -> Point:
        """With a dual of its own: the buffer of an iterate is reused two iterations later."""
        return replace(self, dual=self.dual.copy())


class Evaluator:
    """Evaluates points of one problem; what a fixed variable makes constant is computed once."""

    def __init__(
        self,
        problem: Problem,
        fixed: str | None,
        blocks: Blocks,
        coefficients: NDArray,
        atoms: NDArray,
    ):
        self.problem = problem
        self.fixed = fixed
        self.blocks = blocks
        self.weights = problem.weights.astype(coefficients.dtype)[:, None]
        self.root_weights = np.sqrt(self.weights)
        self.energies: NDArray | None = None
        self.distances: NDArray | None = None
        if fixed == "atoms":
            self.energies = problem.fit.energies(atoms)
        if fixed == "coefficients":
            self.distances = problem.fit.weighted_distances(self.weights * coefficients)

    def evaluate(
        self,
        point: Point,
        check: bool,
        before: NDArray | None = None,
        ahead: tuple[NDArray, NDArray] | None = None,
    ) -> Point:
        """The dual step into ``point.dual`` (where there is one before), then all gradients."""
        problem, operator, barrier = self.problem, self.problem.operator, self.problem.barrier
        gradient_coefficients = np.zeros_like(point.coefficients)
        sigma = point.steps[2]

        def visit(rows: slice) -> tuple[Any, ...]:
            coefficients, dual = point.coefficients[rows], point.dual[rows]
            extrapolated: Any = 0.0
            if before is not None and ahead is not None:
                extrapolated = operator.forward(ahead[0][rows], ahead[1])
                raised = before[rows] + sigma * extrapolated
                dual[...] = base.prox_conjugate(barrier, raised, sigma)
            if self.energies is None:
                energies = problem.fit.energies(point.atoms, rows)
            else:
                energies = self.energies[rows]
            if self.fixed != "coefficients":
                pull = energies + operator.adjoint_coefficients(dual, point.atoms)
                gradient_coefficients[rows] = pull
            gradient_atoms: Any = 0.0
            if self.fixed != "atoms":
                weighted = self.weights[rows] * coefficients
                gradient_atoms = operator.adjoint_atoms(weighted, dual)
                if self.distances is None:
                    gradient_atoms += problem.fit.weighted_distances(weighted, rows)
            if not check:
                return (gradient_atoms,)
            image = operator.forward(coefficients, point.atoms)
            value = problem.samples_value(rows, coefficients, energies, image)
            moved = 0.0 if before is None else (before[rows] - dual) / sigma
            gap = moved + extrapolated - image
            sizes = [_square(gap), _square(image), _square(self.root_weights[rows] * energies)]
            return (gradient_atoms, value, *sizes)

        parts = list(zip(*self.blocks.map(visit)))
        gradient_atoms = np.zeros_like(point.atoms)
        if self.fixed != "atoms":
            gradient_atoms = sum(parts[0][1:], parts[0][0])
            gradient_atoms += 0.0 if self.distances is None else self.distances
            gradient_atoms += problem.atoms.gradient(point.atoms)
            gradient_atoms += sum(point.split_atoms, 0.0)
        if self.fixed != "coefficients":
            gradient_coefficients += problem.coefficients.gradient(point.coefficients)
            gradient_coefficients += sum(point.split_coefficients, 0.0)
        found: dict[str, Any] = {}
        if check:
            priors = problem.priors_value(point.coefficients, point.atoms)
            value, gap, image, energy = (float(sum(part)) for part in parts[1:])
            found = {
                "objective": value + priors, "dual_gap": gap**0.5, "image_size": image**0.5,
                "energy_size": energy**0.5,
            }  # fmt: skip
        return replace(
            point, gradient_atoms=gradient_atoms, gradient_coefficients=gradient_coefficients,
            **found,
        )  # fmt: skip

    def residuals(self, before: Point, after: Point) -> dict[str, float]:
        """Relative distance from optimality in each variable, at the new point.

        Each is a subgradient at the new point, so all vanish together only where it is
        stationary, whatever the step sizes; a small step alone would not show that.
        """
        tau_atoms, tau_coefficients, _ = after.steps
        found = {"dual": _relative(after.dual_gap, after.image_size)}
        if self.fixed != "atoms":
            gap = (before.atoms - after.atoms) / tau_atoms
            gap += after.gradient_atoms - before.gradient_atoms
            fit = np.linalg.norm(before.gradient_atoms) + np.linalg.norm(after.gradient_atoms)
            found["atoms"] = _relative(np.linalg.norm(gap), fit)
        if self.fixed != "coefficients":
            gap = (before.coefficients - after.coefficients) / tau_coefficients
            gap += after.gradient_coefficients - before.gradient_coefficients
            size = np.linalg.norm(self.root_weights * gap)
            found["coefficients"] = _relative(size, after.energy_size)
        for name, tau in (("atoms", tau_atoms), ("coefficients", tau_coefficients)):
            old, new = getattr(before, name), getattr(after, name)
            duals = getattr(before, f"split_{name}"), getattr(after, f"split_{name}")
            if self.fixed != name and duals[0]:
                step = split_step(tau, len(duals[0]))
                gaps = [(y - y_new) / step + new - old for y, y_new in zip(*duals, strict=True)]
                found[f"split_{name}"] = _relative(np.linalg.norm(gaps), np.linalg.norm(new))
        return found


def _square(x: NDArray) -> float:
    return float(np.vdot(x, x))


def _relative(size: Any, reference: Any) -> float:
    """``size`` against ``reference``; absolute where there is nothing to compare with."""
    return float(size / reference) if reference > 0 else float(size)
