"""One iteration of BiPDS on a block of samples: the steps that an executor runs.

The dual step into a point and the gradients at it need the same samples, so one pass does both
(:meth:`graphdict.core.protocols.Backend.primal_dual_pass`). Only the gradient in the atoms, a Gram
matrix and a few numbers leave a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem, TermGroup
from graphdict.core.protocols import Backend, Deferred, deferred
from graphdict.core.solvers.step_sizes import split_step
from graphdict.native import log_barrier, proxes

__all__ = [
    "BlockIterate",
    "CheckNumbers",
    "Moved",
    "PassMessage",
    "PassSums",
    "advance",
    "ascend_split_duals",
    "begin",
    "check_numbers",
    "check_sums",
    "descend",
    "evaluate",
    "follow",
    "movable_arrays",
    "move",
    "restore",
    "without_overflow",
]


class BlockIterate(NamedTuple):
    """The state of a block: everything of an iterate that is the size of the samples."""

    coefficients: NDArray[np.float64]
    dual: NDArray[np.float64]
    # In the coefficients, of all but the direct proxes, dual included.
    gradient: NDArray[np.float64] | None
    split_duals: tuple[NDArray[np.float64], ...]  # of the terms that have no direct prox
    energies: NDArray[np.float64] | None  # of fixed atoms


class Moved(NamedTuple):
    """Coefficients after their primal step."""

    coefficients: NDArray[np.float64]
    split_duals: tuple[NDArray[np.float64], ...]
    extra: Any  # what priors and split-off duals add to the gradient there


class PassMessage(NamedTuple):
    """What a pass over the samples needs, the same for all samples."""

    atoms: NDArray[np.float64]
    extrapolated: NDArray[np.float64]  # atoms
    tau: float  # step of the coefficients
    sigma: float  # step of the dual
    check: bool  # whether objective and residuals are wanted
    fixed: str | None
    atom_move: log_barrier.AtomMove | None = None  # the same for images that are vectors


class PassSums(NamedTuple):
    """Sums over a block; numbers only where the point is checked, all squares but the value."""

    gradient_atoms: Any
    gram: Any  # Delta' diag(p) Delta
    value: float = 0.0
    dual_gap: float = 0.0
    image: float = 0.0
    energy: float = 0.0
    coefficient_gap: float = 0.0
    split_gap: float = 0.0
    size: float = 0.0  # of the coefficients
    wrong: int = 0  # entries that are not finite
    mixed_dual: Any = 0.0  # Delta' diag(p) Y, whose M* the gradient in the atoms lacks still


class CheckNumbers(NamedTuple):
    """What a check needs of all arrays of a block: the value, then squares."""

    value: float  # of the objective, but for priors
    dual_gap: float
    image: float
    energy: float
    coefficient_gap: float
    size: float


# Steps ----------------------------------------------------------------------------------------


def begin(
    backend: Backend, rows: slice, coefficients: NDArray[np.float64], dual: NDArray[np.float64],
    extra: Any, step: PassMessage,
) -> Any:  # fmt: skip
    """Find gradients and objective at a given point."""
    problem = backend.problem
    split_duals = tuple(np.zeros_like(coefficients) for _ in problem.coefficients.split)
    energies = problem.fit.energies(step.atoms, rows) if step.fixed == "atoms" else None
    if extra is None:
        extra = problem.coefficients.gradient(coefficients, rows)
    iterate = BlockIterate(coefficients, dual, None, split_duals, energies)
    return evaluate(problem, rows, iterate, extra, None, step)


@deferred
def advance(backend: Backend, rows: slice, before: BlockIterate, step: PassMessage) -> Deferred:
    """Take one iteration of Algorithm 1 for samples that no prior ties to others."""
    group = backend.problem.coefficients
    moved: Moved | None = None
    if step.fixed == "coefficients":
        moved = Moved(before.coefficients, before.split_duals, 0.0)
    elif not (backend.moves_coefficients and step.fixed is None and group.box is not None):
        moved = move(
            group, before.coefficients, before.gradient, before.split_duals, step.tau, rows
        )
    return backend.primal_dual_pass(rows, before, moved, step)


@deferred
def follow(
    backend: Backend, rows: slice, before: BlockIterate, coefficients: NDArray[np.float64],
    extra: NDArray[np.float64], *rest: Any,
) -> Deferred:  # fmt: skip
    """Take one iteration where the coefficients were moved together with all others."""
    *split_duals, step = rest
    moved = Moved(coefficients, tuple(split_duals), extra)
    return backend.primal_dual_pass(rows, before, moved, step)


def restore(
    backend: Backend,
    rows: slice,
    dual: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    *rest: Any,
) -> Any:
    """Make the state of a stored iterate from its arrays."""
    *arrays, atoms, fixed = rest
    gradient = arrays.pop(0) if arrays else None
    energies = backend.problem.fit.energies(atoms, rows) if fixed == "atoms" else None
    return BlockIterate(coefficients, dual, gradient, tuple(arrays), energies), ()


def without_overflow(backend: Backend, rows: slice, iterate: BlockIterate) -> Any:
    """Return the state with a finite dual."""
    return iterate._replace(dual=np.nan_to_num(iterate.dual)), ()


def movable_arrays(iterate: BlockIterate) -> NDArray[np.float64]:
    """Return coefficients, their gradient and the duals of split-off terms side by side."""
    return np.hstack([iterate.coefficients, iterate.gradient, *iterate.split_duals])  # type: ignore[list-item]


# The primal step ------------------------------------------------------------------------------


def move(
    group: TermGroup,
    coefficients: NDArray[np.float64],
    gradient: Any,
    split_duals: Sequence[NDArray[np.float64]],
    tau: float,
    rows: slice = slice(None),
) -> Moved:
    """Take a proximal gradient step of the coefficients, and dual steps of split-off terms."""
    moved = descend(group, coefficients, gradient, tau, rows)
    raised = ascend_split_duals(group, split_duals, 2 * moved - coefficients, tau, rows)
    return Moved(moved, raised, group.gradient(moved, rows) + sum(raised, 0.0))


def descend(
    group: TermGroup,
    x: NDArray[np.float64],
    gradient: NDArray[np.float64],
    tau: float,
    rows: slice = slice(None),
) -> NDArray[np.float64]:
    """Take a proximal gradient step of a variable, in its precision, whatever a prior returns."""
    gradient = np.asarray(gradient, dtype=x.dtype)
    if group.box is not None:
        return proxes.projected_step(x, gradient, tau, group.box)
    return np.asarray(group.prox(x - tau * gradient, tau, rows), dtype=x.dtype)


def ascend_split_duals(
    group: TermGroup,
    duals: Sequence[NDArray[np.float64]],
    extrapolated: NDArray[np.float64],
    tau: float,
    rows: slice = slice(None),
) -> tuple[NDArray[np.float64], ...]:
    """Take dual steps of the split-off terms, whose operator is the identity."""
    if not duals or not tau:
        return tuple(duals)
    sigma = split_step(tau, len(duals))
    return tuple(
        group.prox_conjugate(term, dual + sigma * extrapolated, sigma, rows)
        for term, dual in zip(group.split, duals, strict=True)
    )


# At a new point -------------------------------------------------------------------------------


def evaluate(
    problem: Problem,
    rows: slice,
    iterate: BlockIterate,
    extra: Any,
    before: BlockIterate | None,
    step: PassMessage,
) -> tuple[BlockIterate, PassSums]:
    """Find the gradients at a point; its objective and residuals where it is checked."""
    operator, fixed = problem.operator, step.fixed
    coefficients, dual = iterate.coefficients, iterate.dual
    energies: Any = iterate.energies
    weighted = problem.shares(rows, coefficients) * coefficients
    if energies is None and (fixed != "coefficients" or step.check):
        energies = problem.fit.energies(step.atoms, rows)
    if fixed != "coefficients":
        gradient = energies + operator.adjoint_coefficients(dual, step.atoms) + extra
        iterate = iterate._replace(gradient=gradient)
    gradient_atoms: Any = 0.0
    if fixed != "atoms":
        gradient_atoms = operator.adjoint_atoms(weighted, dual)
        if fixed is None:
            gradient_atoms += problem.fit.weighted_distances(weighted, rows)
    sums = PassSums(gradient_atoms, weighted.T @ coefficients)
    if step.check:
        numbers = check_numbers(problem, rows, before, iterate, energies, step)
        sums = check_sums(problem, rows, before, iterate, sums, step, numbers)
    return iterate, sums


def check_numbers(
    problem: Problem,
    rows: slice,
    before: BlockIterate | None,
    after: BlockIterate,
    energies: NDArray[np.float64],
    step: PassMessage,
) -> CheckNumbers:
    """Return the objective without priors, and squared sizes that residuals are made of."""
    coefficients, gradient = after.coefficients, after.gradient
    image = problem.operator.forward(coefficients, step.atoms)
    value = problem.samples_value(rows, coefficients, energies, image)
    dual_gap, coefficient_gap = -image, 0.0
    if before is not None:
        # How far A(Delta, W) is from a subgradient of h* at the dual, which it is to be. It is
        # exactly zero where nothing moves any more.
        extrapolated = 2 * coefficients - before.coefficients
        dual_gap = problem.operator.forward(extrapolated, step.extrapolated) - image
        dual_gap += (before.dual - after.dual) / (step.sigma or 1.0)
        if gradient is not None and before.gradient is not None:
            slack = (
                gradient
                - before.gradient
                - (coefficients - before.coefficients) / (step.tau or 1.0)
            )
            coefficient_gap = _weighted_square(problem, rows, slack)
    return CheckNumbers(
        value, _square(dual_gap), _square(image), _weighted_square(problem, rows, energies),
        coefficient_gap, _square(coefficients),
    )  # fmt: skip


def check_sums(
    problem: Problem,
    rows: slice,
    before: BlockIterate | None,
    after: BlockIterate,
    sums: PassSums,
    step: PassMessage,
    numbers: CheckNumbers,
) -> PassSums:
    """Complete the sums of a checked point: with priors, and whether all is finite."""
    value, split_gap, wrong = numbers.value, 0.0, 0
    if problem.coefficients.separable:
        value += problem.coefficients.value(after.coefficients, rows) / problem.total
    if before is not None and after.split_duals and step.tau:
        change = after.coefficients - before.coefficients
        sigma = split_step(step.tau, len(after.split_duals))
        for old, new in zip(before.split_duals, after.split_duals, strict=True):
            split_gap += _square((old - new) / sigma + change)
    if not np.isfinite(numbers.dual_gap + numbers.coefficient_gap):
        # Which may be an overflow of the square alone.
        arrays = [array for array in (after.dual, after.gradient) if array is not None]
        wrong = sum(int(np.count_nonzero(~np.isfinite(array))) for array in arrays)
    return sums._replace(**{**numbers._asdict(), "value": value}, split_gap=split_gap, wrong=wrong)


def _square(x: NDArray[np.float64]) -> float:
    return float(np.vdot(x, x))


def _weighted_square(problem: Problem, rows: slice, x: NDArray[np.float64]) -> float:
    """Return the squared norm of rows, each counted by its share of the samples."""
    return float(problem.weights[rows] @ np.einsum("tk,tk->t", x, x))
