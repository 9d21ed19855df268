"""Passes of models with a log-barrier by compiled tiles; they find what the plain passes find.

They serve problems of smoothness with the logarithms of degrees, whose samples are single and at
hand, and those of powers in modes with the logarithms of spectra. Small ones are left to NumPy:
they are solved before a compiler would be done.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphdict.operators import Degrees, Spectra, linear_of
from graphdict.problem import Problem
from graphdict.solvers.passes import powers_at_hand, single_at_hand
from graphdict.terms import LogBarrier

__all__ = ["land", "push", "recode", "serves"]

SMALL = 1 << 17  # numbers in the images of all mixtures, times atoms


def serves(problem: Problem, atoms: NDArray) -> bool:
    """Whether the problem is of this kind and size."""
    linear = linear_of(problem.operator)
    return (
        type(problem.barrier) is LogBarrier
        and (
            (isinstance(linear, Degrees) and single_at_hand(problem, atoms))
            or (isinstance(linear, Spectra) and powers_at_hand(problem, atoms))
        )
        and problem.total * linear.size * len(atoms) >= SMALL
    )


def push(problem: Problem, rows: slice, coefficients: NDArray, images: NDArray) -> NDArray:
    """``(p Delta)' (1 / A(Delta, W))`` of some rows, where ``images`` are ``M(W)``."""
    from graphdict import barriers

    return barriers.push_on_atoms(coefficients, problem.weights[rows], images)


def recode(
    problem: Problem,
    rows: slice,
    coefficients: NDArray,
    atoms: NDArray,
    images: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
) -> tuple[NDArray, tuple[float, float, float, NDArray]]:
    """``rounds`` updates of the coefficients; value, squares of the residual, ``(p Delta)' Z``."""
    from graphdict import barriers, tiles

    fit, weights, edges = problem.fit, problem.weights[rows], _of_edges(problem)
    energies = tiles.energies(fit.signals[rows], atoms) if edges else fit.powers[rows] @ images.T
    recoded, numbers = barriers.recode(
        coefficients, weights, images, energies, atoms.dtype.type(shrinkage), rounds, stretch
    )
    weighted = weights[:, None].astype(atoms.dtype, copy=False) * recoded
    if edges:
        return recoded, (*numbers, tiles.weighted_distances(fit.signals[rows], weighted))
    return recoded, (*numbers, fit.weighted_distances(weighted, rows))


def land(problem: Problem, rows: slice, before: Any, moved: Any, step: Any) -> Any:
    """The dual step of BiPDS and all gradients where the coefficients have ``moved``.

    That is (coefficients, duals of other terms, what these add to the gradient); None where they
    are yet to be moved, which is done on the way. Finds coefficients, dual, gradient, energies, and
    as sums over samples the gradient in the atoms, the Gram matrix, and what ``M*`` is still to be
    taken of.
    """
    from graphdict import splitting

    edges = _of_edges(problem)
    samples = problem.fit.signals if edges else problem.fit.powers
    weights = problem.weights[rows].astype(step.atoms.dtype, copy=False)
    if moved is not None:
        goal: Any = splitting.Moved(moved[0], moved[2])
    else:
        low, high, alpha, slope = problem.coefficients.box  # type: ignore[misc]
        goal = splitting.Move(before.gradient, step.tau, step.tau * alpha, low, high, slope)
    found = splitting.advance(
        samples[rows], weights, step.packed, before.coefficients, before.dual, goal, not edges
    )
    sums = found.distances, found.gram, found.mixed
    return found.coefficients, found.dual, found.gradient, found.energies, sums


def _of_edges(problem: Problem) -> bool:
    return isinstance(linear_of(problem.operator), Degrees)
