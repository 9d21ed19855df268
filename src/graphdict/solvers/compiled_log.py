"""Passes of models with a log-barrier by compiled tiles; they find what the plain passes find.

They serve problems of smoothness with the logarithms of degrees, whose samples are single and at
hand, and those of powers in modes with the logarithms of spectra. Small ones are left to NumPy:
they are solved before a compiler would be done.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphdict.operators import Bilinear, Degrees, Spectra
from graphdict.problem import Problem
from graphdict.solvers.passes import powers_at_hand, single_at_hand
from graphdict.terms import LogBarrier

__all__ = ["ascend", "push", "recode", "serves"]

SMALL = 1 << 17  # numbers in the images of all mixtures, times atoms


def serves(problem: Problem, atoms: NDArray) -> bool:
    """Whether the problem is of this kind and size."""
    linear = _linear(problem)
    return (
        type(problem.operator) is Bilinear
        and type(problem.barrier) is LogBarrier
        and (
            (isinstance(linear, Degrees) and single_at_hand(problem, atoms))
            or (isinstance(linear, Spectra) and powers_at_hand(problem, atoms))
        )
        and problem.total * linear.size * len(atoms) >= SMALL
    )


def push(problem: Problem, rows: slice, coefficients: NDArray, images: NDArray) -> NDArray:
    """``(p Delta)' (1 / A(Delta, W))`` of some rows, where ``images`` are ``M(W)``."""
    from graphdict import barriers

    shares = problem.weights[rows].astype(images.dtype, copy=False)
    return barriers.push_on_atoms(coefficients, shares, images)


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


def ascend(
    problem: Problem,
    rows: slice,
    step: Any,
    weighted: NDArray,
    ahead: NDArray,
    dual: NDArray,
    extra: Any,
) -> tuple[NDArray, NDArray, NDArray, Any, NDArray]:
    """The dual step of BiPDS at ``ahead``; energies, gradients in coefficients and atoms.

    ``weighted`` are the coefficients times shares, ``extra`` what else is in their gradient. Of the
    gradient in the atoms, the last array is what ``M*`` is still to be taken of.
    """
    from graphdict import barriers, tiles

    atoms, (images, images_ahead) = step.atoms, step.images
    powers: Any = None
    distances: Any = 0.0
    if _of_edges(problem):
        energies, distances = tiles.products(problem.fit.signals[rows], atoms, weighted)
    else:
        powers = problem.fit.powers[rows]
        energies = powers @ images.T
    gradient = energies + extra
    raised, mixed = barriers.ascend(
        weighted, images, ahead, images_ahead, dual, atoms.dtype.type(step.sigma), gradient
    )
    if powers is not None:  # they come before M* as the dual does
        mixed = mixed + weighted.T @ powers
    return raised, energies, gradient, distances, mixed


def _of_edges(problem: Problem) -> bool:
    return isinstance(_linear(problem), Degrees)


def _linear(problem: Problem) -> Any:
    """What the operator does to one graph, where it says so."""
    return getattr(problem.operator, "linear", None)
