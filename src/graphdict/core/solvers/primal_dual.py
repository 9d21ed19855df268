"""One iteration of BiPDS on a block of samples: the steps that an executor runs.

The dual step into a point and the gradients at it need the same samples, so one pass does both
(:meth:`graphdict.core.protocols.Backend.primal_dual_pass`). Only the gradient in the atoms, a Gram
matrix and a few numbers leave a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, Deferred, returns_deferred
from graphdict.core.solvers.step_sizes import split_step
from graphdict.core.term_group import TermGroup
from graphdict.native import proxes


class BlockIterate(NamedTuple):
    """The state of a block: everything of an iterate that is the size of the samples."""

    coefficients: Floats
    dual: Floats
    # In the coefficients, of all but the direct proxes, dual included.
    gradient: Floats | None
    split_duals: tuple[Floats, ...]  # of the terms that have no direct prox
    energies: Floats | None  # of fixed atoms


class MovedCoefficients(NamedTuple):
    """The coefficients of a block after their primal step, and what follows from it."""

    coefficients: Floats
    split_duals: tuple[Floats, ...]  # after their own step
    extra: Any  # what smooth priors and split_duals add to the gradient there


class PassMessage(NamedTuple):
    """What a pass over the samples needs, the same for all samples."""

    atoms: Floats  # after their step
    extrapolated: Floats  # twice these minus those before
    tau: float  # step of the coefficients
    sigma: float  # step of the dual
    check: bool  # whether objective and residuals are wanted
    fixed: str | None
    # ``M(W)`` of both, where the operator lifts a map ``M``.
    atom_images: Floats | None = None
    extrapolated_atom_images: Floats | None = None


class PassSums(NamedTuple):
    """What a pass finds, summed over blocks; numbers are zero where the point is not checked.

    A *gap* is the distance from optimality in one variable. Gaps and what they are compared with
    are squared, so that they can be summed. Checkpoints keep the sums in this order.
    """

    gradient_atoms: Any  # (K, E)
    gram: Any  # Delta' diag(p) Delta (K, K)
    value: float = 0.0  # of the objective, but for priors on atoms and those that tie rows
    squared_dual_gap: float = 0.0
    squared_mixed_images: float = 0.0  # A(Delta, W)
    squared_energies: float = 0.0  # of e(W)
    squared_coefficient_gap: float = 0.0
    squared_split_gap: float = 0.0  # of the duals of split-off terms
    squared_coefficients: float = 0.0
    non_finite: int = 0  # number of entries that are infinite or NaN
    mixed_dual: Any = 0.0  # Delta' diag(p) Y, whose M* the gradient in the atoms lacks still


class CheckNumbers(NamedTuple):
    """The numbers of :class:`PassSums` that compiled loops find too, in their order."""

    value: float  # of the objective, but for priors
    squared_dual_gap: float
    squared_mixed_images: float
    squared_energies: float
    squared_coefficient_gap: float
    squared_coefficients: float


# Steps ----------------------------------------------------------------------------------------


def initial_step(
    backend: Backend, rows: slice, coefficients: Floats, dual: Floats,
    extra: Any, message: PassMessage,
) -> Any:  # fmt: skip
    """Return the state of a block at the starting point, and the sums of the pass there.

    ``extra`` is the gradient of priors that tie samples together, None where none does.
    """
    problem = backend.problem
    split_duals = tuple(np.zeros_like(coefficients) for _ in problem.coefficient_priors.split)
    held = message.fixed == "atoms"
    energies = problem.signal_term.energies(message.atoms, rows) if held else None
    if extra is None:
        extra = problem.coefficient_priors.gradient(coefficients, rows)
    iterate = BlockIterate(coefficients, dual, None, split_duals, energies)
    return evaluate(problem, rows, message, before=None, after=iterate, extra=extra)


@returns_deferred
def separable_step(
    backend: Backend, rows: slice, before: BlockIterate, message: PassMessage
) -> Deferred:
    """Take one iteration on a block whose coefficients no prior ties to those of others."""
    group = backend.problem.coefficient_priors
    moved: MovedCoefficients | None = None
    if message.fixed == "coefficients":
        moved = MovedCoefficients(before.coefficients, before.split_duals, 0.0)
    elif not (backend.moves_coefficients and message.fixed is None and group.box is not None):
        moved = coefficient_step(
            group, before.coefficients, before.gradient, before.split_duals,
            tau=message.tau, rows=rows,
        )  # fmt: skip
    return backend.primal_dual_pass(rows, before, moved, message)


@returns_deferred
def coupled_step(
    backend: Backend, rows: slice, before: BlockIterate, coefficients: Floats,
    extra: Floats, *rest: Any,
) -> Deferred:  # fmt: skip
    """Take one iteration on a block whose coefficients were moved before, with those of all others.

    ``rest`` are the block's duals of split-off terms, and the message.
    """
    *split_duals, message = rest
    moved = MovedCoefficients(coefficients, tuple(split_duals), extra)
    return backend.primal_dual_pass(rows, before, moved, message)


def restore(backend: Backend, rows: slice, dual: Floats, coefficients: Floats, *rest: Any) -> Any:
    """Return the state of a block from the arrays that a checkpoint kept.

    ``rest`` are the gradient and the duals of split-off terms, where coefficients are not fixed,
    then the atoms and which variable is fixed.
    """
    *arrays, atoms, fixed = rest
    gradient = arrays.pop(0) if arrays else None
    energies = backend.problem.signal_term.energies(atoms, rows) if fixed == "atoms" else None
    return BlockIterate(coefficients, dual, gradient, tuple(arrays), energies), ()


def without_overflow(backend: Backend, rows: slice, iterate: BlockIterate) -> Any:
    """Return the state with a finite dual: zero for NaN, the largest number for infinity."""
    return iterate._replace(dual=np.nan_to_num(iterate.dual)), ()


def movable_arrays(iterate: BlockIterate) -> Floats:
    """Return coefficients, their gradient and the duals of split-off terms side by side."""
    return np.hstack([iterate.coefficients, iterate.gradient, *iterate.split_duals])  # type: ignore[list-item]


# The primal step ------------------------------------------------------------------------------


def coefficient_step(
    group: TermGroup,
    coefficients: Floats,
    gradient: Any,
    split_duals: Sequence[Floats],
    *,
    tau: float,
    rows: slice = slice(None),
) -> MovedCoefficients:
    """Take a proximal gradient step of the coefficients, and dual steps of split-off terms."""
    moved = primal_step(group, coefficients, gradient, tau, rows)
    split_duals = ascend_split_duals(group, split_duals, 2 * moved - coefficients, tau, rows)
    extra = group.gradient(moved, rows) + sum(split_duals, 0.0)
    return MovedCoefficients(moved, split_duals, extra)


def primal_step(
    group: TermGroup, x: Floats, gradient: Floats, tau: float, rows: slice = slice(None)
) -> Floats:
    """Return ``x`` after a proximal gradient step by the priors of a group, in its precision."""
    gradient = np.asarray(gradient, dtype=x.dtype)
    if group.box is not None:
        return proxes.projected_step(x, gradient, tau, group.box)
    return np.asarray(group.prox(x - tau * gradient, tau, rows), dtype=x.dtype)


def ascend_split_duals(
    group: TermGroup,
    duals: Sequence[Floats],
    extrapolated: Floats,
    tau: float,
    rows: slice = slice(None),
) -> tuple[Floats, ...]:
    """Return the duals of the split-off terms after a step; their operator is the identity."""
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
    message: PassMessage,
    *,
    before: BlockIterate | None,
    after: BlockIterate,
    extra: Any,
) -> tuple[BlockIterate, PassSums]:
    """Return the iterate ``after`` a step with its gradient, and the sums of the pass.

    ``extra`` is what priors and split-off duals add to the gradient; ``before`` is None at the
    starting point.
    """
    operator, fixed = problem.operator, message.fixed
    coefficients, dual = after.coefficients, after.dual
    energies: Any = after.energies
    weighted = problem.share_weighted(rows, coefficients)
    if energies is None and (fixed != "coefficients" or message.check):
        energies = problem.signal_term.energies(message.atoms, rows)
    if fixed != "coefficients":
        gradient = energies + operator.adjoint_coefficients(dual, message.atoms) + extra
        after = after._replace(gradient=gradient)
    gradient_atoms: Any = 0.0
    if fixed != "atoms":
        gradient_atoms = operator.adjoint_atoms(weighted, dual)
        if fixed is None:
            gradient_atoms += problem.signal_term.weighted_distances(weighted, rows)
    sums = PassSums(gradient_atoms, weighted.T @ coefficients)
    if message.check:
        numbers = check_numbers(
            problem, rows, message, before=before, after=after, energies=energies
        )
        sums = check_sums(problem, rows, message, sums, before=before, after=after, numbers=numbers)
    return after, sums


def check_numbers(
    problem: Problem,
    rows: slice,
    message: PassMessage,
    *,
    before: BlockIterate | None,
    after: BlockIterate,
    energies: Floats,
) -> CheckNumbers:
    """Return the objective without priors, and squared sizes that residuals are made of."""
    coefficients, gradient = after.coefficients, after.gradient
    mixed_images = problem.operator.forward(coefficients, message.atoms)
    value = problem.samples_value(rows, coefficients, energies, mixed_images)
    dual_gap, squared_coefficient_gap = -mixed_images, 0.0
    if before is not None:
        # How far A(Delta, W) is from a subgradient of h* at the dual, which it is to be. It is
        # exactly zero where nothing moves any more.
        extrapolated = 2 * coefficients - before.coefficients
        dual_gap = problem.operator.forward(extrapolated, message.extrapolated) - mixed_images
        dual_gap += (before.dual - after.dual) / (message.sigma or 1.0)
        if gradient is not None and before.gradient is not None:
            slack = (
                gradient
                - before.gradient
                - (coefficients - before.coefficients) / (message.tau or 1.0)
            )
            squared_coefficient_gap = _weighted_square(problem, rows, slack)
    return CheckNumbers(
        value=value,
        squared_dual_gap=_square(dual_gap),
        squared_mixed_images=_square(mixed_images),
        squared_energies=_weighted_square(problem, rows, energies),
        squared_coefficient_gap=squared_coefficient_gap,
        squared_coefficients=_square(coefficients),
    )


def check_sums(
    problem: Problem,
    rows: slice,
    message: PassMessage,
    sums: PassSums,
    *,
    before: BlockIterate | None,
    after: BlockIterate,
    numbers: CheckNumbers,
) -> PassSums:
    """Return the sums of a pass with the numbers of a check.

    Beside those given, these are the value of priors on coefficients, the gap of split-off terms,
    and how many entries are not finite.
    """
    value, squared_split_gap, non_finite = numbers.value, 0.0, 0
    if problem.coefficient_priors.separable:
        value += problem.coefficient_priors.value(after.coefficients, rows) / problem.total
    if before is not None and after.split_duals and message.tau:
        change = after.coefficients - before.coefficients
        sigma = split_step(message.tau, len(after.split_duals))
        for old, new in zip(before.split_duals, after.split_duals, strict=True):
            squared_split_gap += _square((old - new) / sigma + change)
    if not np.isfinite(numbers.squared_dual_gap + numbers.squared_coefficient_gap):
        # Which may be an overflow of the square alone.
        arrays = [array for array in (after.dual, after.gradient) if array is not None]
        non_finite = sum(int(np.count_nonzero(~np.isfinite(array))) for array in arrays)
    found = {**numbers._asdict(), "value": value}
    return sums._replace(**found, squared_split_gap=squared_split_gap, non_finite=non_finite)


def _square(x: Floats) -> float:
    return float(np.vdot(x, x))


def _weighted_square(problem: Problem, rows: slice, x: Floats) -> float:
    """Return the squared norm of rows, each counted by its share of the samples."""
    return float(problem.shares[rows] @ np.einsum("tk,tk->t", x, x))
