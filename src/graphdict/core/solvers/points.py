"""Passes of BiPDS: the step of a block's coefficients and dual, then all gradients there.

The dual step into a point and the gradients at it need the same samples, so one pass serves both.
Only the gradient in the atoms, a Gram matrix and a few numbers leave a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.problem import Problem, TermGroup
from graphdict.core.solvers.passes import shares
from graphdict.core.solvers.steps import split_step
from graphdict.core.terms import base
from graphdict.engine.backends import compiled_exact, compiled_log
from graphdict.engine.executor import Staged, at_once
from graphdict.native import log_barrier, proxes

__all__ = [
    "Sample",
    "Step",
    "Sums",
    "advance",
    "again",
    "ascend",
    "begin",
    "calm",
    "descend",
    "follow",
    "movable",
    "move",
    "part_of",
]


class Sample(NamedTuple):
    """The state of a block: everything of an iterate that is the size of the samples."""

    coefficients: NDArray
    dual: NDArray
    gradient: NDArray | None  # in the coefficients, of all but the direct proxes, dual included
    splits: tuple[NDArray, ...]  # duals of the terms that have no direct prox
    energies: NDArray | None  # of fixed atoms


class Step(NamedTuple):
    """The message of a pass."""

    atoms: NDArray
    ahead: NDArray  # the atoms, extrapolated
    tau: float  # of the coefficients
    sigma: float
    check: bool
    fixed: str | None
    lead: log_barrier.AtomMove | None = (
        None  # of both, for the compiled passes of models with a log-barrier
    )


class Sums(NamedTuple):
    """What leaves a block; numbers only where the point is checked, squares all of them."""

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
    mixed: Any = 0.0  # ``Delta' diag(p) Y``, whose ``M*`` the gradient in the atoms lacks still


def begin(
    problem: Problem, rows: slice, coefficients: NDArray, dual: NDArray, extra: Any, step: Step
) -> Any:
    """The start: gradients and objective at a given point."""
    splits = tuple(np.zeros_like(coefficients) for _ in problem.coefficients.split)
    energies = problem.fit.energies(step.atoms, rows) if step.fixed == "atoms" else None
    if extra is None:
        extra = problem.coefficients.gradient(coefficients, rows)
    sample = Sample(coefficients, dual, None, splits, energies)
    return _evaluate(problem, rows, sample, extra, None, step)


@Staged
def advance(problem: Problem, rows: slice, sample: Sample, step: Step) -> Any:
    """One iteration of Algorithm 1, for samples that no prior ties to others."""
    if _compiled(problem, step):
        moved = None
        if problem.coefficients.box is None:
            moved = _move_on(problem, rows, sample, step)
        return _land(problem, rows, sample, moved, step)
    return at_once(_advance_plainly, problem, rows, sample, step)


def _advance_plainly(problem: Problem, rows: slice, sample: Sample, step: Step) -> Any:
    moved = _move_on(problem, rows, sample, step)
    return _land_plainly(problem, rows, sample, moved, step)


def _move_on(problem: Problem, rows: slice, sample: Sample, step: Step) -> Any:
    """New coefficients, as :func:`move` finds them, unless they are fixed."""
    if step.fixed == "coefficients":
        return sample.coefficients, sample.splits, 0.0
    group, before = problem.coefficients, sample.coefficients
    return move(group, before, sample.gradient, sample.splits, step.tau, rows)


@Staged
def follow(
    problem: Problem, rows: slice, sample: Sample, coefficients: NDArray, extra: NDArray, *rest: Any
) -> Any:
    """One iteration where the coefficients were moved together with all others."""
    *splits, step = rest
    moved = coefficients, tuple(splits), extra
    if _compiled(problem, step):
        return _land(problem, rows, sample, moved, step)
    return at_once(_land_plainly, problem, rows, sample, moved, step)


def _compiled(problem: Problem, step: Step) -> bool:
    """Whether there is a job for it; the part of a problem that is here knows, not the whole."""
    return step.lead is not None and compiled_log.serves(problem, step.atoms)


def move(
    group: TermGroup,
    coefficients: NDArray,
    gradient: Any,
    splits: Sequence[NDArray],
    tau: float,
    rows: slice = slice(None),
) -> tuple[NDArray, tuple[NDArray, ...], Any]:
    """New coefficients, new duals of split-off terms, and what both add to the gradient there."""
    moved = descend(group, coefficients, gradient, tau, rows)
    raised = ascend(group, splits, 2 * moved - coefficients, tau, rows) if splits else ()
    return moved, raised, group.gradient(moved, rows) + sum(raised, 0.0)


def descend(
    group: TermGroup, x: NDArray, gradient: NDArray, tau: float, rows: slice = slice(None)
) -> NDArray:
    """A proximal gradient step of a variable, in its precision, whatever a prior returns."""
    gradient = np.asarray(gradient, dtype=x.dtype)
    if group.box is not None:
        return proxes.projected_step(x, gradient, tau, group.box)
    return np.asarray(group.prox(x - tau * gradient, tau, rows), dtype=x.dtype)


def ascend(
    group: TermGroup,
    duals: Sequence[NDArray],
    ahead: NDArray,
    tau: float,
    rows: slice = slice(None),
) -> tuple[NDArray, ...]:
    """Dual steps of the split-off terms, whose operator is the identity."""
    if not duals:
        return ()
    sigma = split_step(tau, len(duals))
    return tuple(
        group.prox_conjugate(term, dual + sigma * ahead, sigma, rows)
        for term, dual in zip(group.split, duals, strict=True)
    )


def part_of(name: str, sample: Sample) -> NDArray:
    """One array of a state."""
    return getattr(sample, name)


def movable(sample: Sample) -> NDArray:
    """Coefficients, their gradient and the duals of split-off terms, side by side."""
    return np.hstack([sample.coefficients, sample.gradient, *sample.splits])  # type: ignore[list-item]


def again(problem: Problem, rows: slice, dual: NDArray, coefficients: NDArray, *rest: Any) -> Any:
    """The state of a stored iterate."""
    *arrays, atoms, fixed = rest
    gradient = arrays.pop(0) if arrays else None
    energies = problem.fit.energies(atoms, rows) if fixed == "atoms" else None
    return Sample(coefficients, dual, gradient, tuple(arrays), energies), ()


def calm(problem: Problem, rows: slice, sample: Sample) -> Any:
    """The state without the overflow of its dual."""
    return sample._replace(dual=np.nan_to_num(sample.dual)), ()


def _land(problem: Problem, rows: slice, before: Sample, moved: Any, step: Step) -> Any:
    """The dual step at the extrapolated point, and everything at the new one: a job."""
    job, read = compiled_log.land(problem, rows, before, moved, step)
    splits = () if moved is None else moved[1]
    return job, lambda: _landed(problem, rows, before, splits, step, *read())


def _land_plainly(problem: Problem, rows: slice, before: Sample, moved: Any, step: Step) -> Any:
    """The same at once, by NumPy or by the compiled loops of the exact model."""
    if step.fixed is None and compiled_exact.serves(problem, step.atoms):
        return _land_exactly(problem, rows, before, moved, step)
    coefficients, splits, extra = moved
    raised = before.dual + step.sigma * _ahead(problem, before, coefficients, step)
    dual = base.prox_conjugate(problem.barrier, raised, step.sigma)
    after = Sample(coefficients, dual, None, splits, before.energies)
    return _evaluate(problem, rows, after, extra, before, step)


def _land_exactly(problem: Problem, rows: slice, before: Sample, moved: Any, step: Step) -> Any:
    found = compiled_exact.land(problem, rows, before, moved, step)
    coefficients, dual, gradient, energies, (gradient_atoms, gram) = found
    after = Sample(coefficients, dual, gradient, moved[1], None)
    sums = Sums(gradient_atoms, gram)
    if step.check:
        sums = _inspect(problem, rows, before, after, energies, sums, step)
    return after, sums


def _landed(
    problem: Problem, rows: slice, before: Sample, splits: tuple[NDArray, ...], step: Step,
    coefficients: NDArray, dual: NDArray, gradient: NDArray, sums: Any, numbers: Sequence[float],
) -> Any:  # fmt: skip
    """What a compiled pass has found."""
    after = Sample(coefficients, dual, gradient, splits, None)
    gradient_atoms, gram, mixed = sums
    found = Sums(gradient_atoms, gram, mixed=mixed)
    if not step.check:
        return after, found
    return after, _complete(problem, rows, before, after, found, step, Numbers(*numbers))


def _ahead(problem: Problem, before: Sample, coefficients: NDArray, step: Step) -> NDArray:
    """What the operator returns at the extrapolated point."""
    return problem.operator.forward(2 * coefficients - before.coefficients, step.ahead)


def _evaluate(
    problem: Problem,
    rows: slice,
    sample: Sample,
    extra: Any,
    before: Sample | None,
    step: Step,
) -> Any:
    """Gradients at a point; its objective and residuals where it is checked."""
    operator, fixed = problem.operator, step.fixed
    coefficients, dual, _, _, kept = sample
    energies: Any = kept
    weighted = shares(problem, rows, coefficients) * coefficients
    if energies is None and (fixed != "coefficients" or step.check):
        energies = problem.fit.energies(step.atoms, rows)
    if fixed != "coefficients":
        gradient = energies + operator.adjoint_coefficients(dual, step.atoms) + extra
        sample = sample._replace(gradient=gradient)
    gradient_atoms: Any = 0.0
    if fixed != "atoms":
        gradient_atoms = operator.adjoint_atoms(weighted, dual)
        if fixed is None:
            gradient_atoms += problem.fit.weighted_distances(weighted, rows)
    sums = Sums(gradient_atoms, weighted.T @ coefficients)
    if not step.check:
        return sample, sums
    return sample, _inspect(problem, rows, before, sample, energies, sums, step)


def _gap(
    problem: Problem, before: Sample | None, after: Sample, image: NDArray, step: Step
) -> NDArray:
    """How far ``A(Delta, W)`` is from a subgradient of ``h*`` at the dual, which it is to be.

    It is exactly zero where nothing moves any more.
    """
    if before is None:
        return -image
    found = _ahead(problem, before, after.coefficients, step)
    found -= image
    found += (before.dual - after.dual) / step.sigma
    return found


class Numbers(NamedTuple):
    """What is found of a point that is checked, from all arrays of a block at once; squares."""

    value: float  # of the objective, but for priors; no square
    dual_gap: float
    image: float
    energy: float
    coefficient_gap: float
    size: float


def _inspect(
    problem: Problem,
    rows: slice,
    before: Sample | None,
    after: Sample,
    energies: NDArray,
    sums: Sums,
    step: Step,
) -> Sums:
    """Objective and residuals at a point."""
    coefficients, gradient = after.coefficients, after.gradient
    image = problem.operator.forward(coefficients, step.atoms)
    value = problem.samples_value(rows, coefficients, energies, image)
    dual_gap = _square(_gap(problem, before, after, image, step))
    coefficient_gap = 0.0
    if before is not None and gradient is not None:
        slack = gradient - before.gradient - (coefficients - before.coefficients) / step.tau
        coefficient_gap = _weighted_square(problem, rows, slack)
    energy = _weighted_square(problem, rows, energies)
    size = _square(coefficients)
    numbers = Numbers(value, dual_gap, _square(image), energy, coefficient_gap, size)
    return _complete(problem, rows, before, after, sums, step, numbers)


def _complete(
    problem: Problem,
    rows: slice,
    before: Sample | None,
    after: Sample,
    sums: Sums,
    step: Step,
    numbers: Numbers,
) -> Sums:
    """The sums of a point that is checked: with priors, and whether all is finite."""
    value, split_gap, wrong = numbers.value, 0.0, 0
    if problem.coefficients.separable:
        value += problem.coefficients.value(after.coefficients, rows) / problem.total
    if before is not None and after.splits:
        ahead = after.coefficients - before.coefficients
        for old, new in zip(before.splits, after.splits, strict=True):
            split_gap += _square((old - new) / split_step(step.tau, len(after.splits)) + ahead)
    if not np.isfinite(numbers.dual_gap + numbers.coefficient_gap):
        # Which may be an overflow of the square alone.
        arrays = [array for array in (after.dual, after.gradient) if array is not None]
        wrong = sum(int(np.count_nonzero(~np.isfinite(array))) for array in arrays)
    return sums._replace(**{**numbers._asdict(), "value": value}, split_gap=split_gap, wrong=wrong)


def _square(x: NDArray) -> float:
    return float(np.vdot(x, x))


def _weighted_square(problem: Problem, rows: slice, x: NDArray) -> float:
    """Squared size in which every row counts by its share of the samples."""
    return float(problem.weights[rows] @ np.einsum("tk,tk->t", x, x))
