"""Passes of models with a log-barrier by compiled tiles; they find what the plain passes find.

They serve problems of smoothness with the logarithms of degrees, or of spectra, whose samples are
single and at hand. Small ones are left to NumPy: they are solved before a compiler would be done.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from graphdict.operators import Bilinear, Degrees, Spectra
from graphdict.problem import Problem
from graphdict.solvers.passes import single_at_hand
from graphdict.terms import LogBarrier

__all__ = ["ascend", "push", "recode", "serves"]

SMALL = 1 << 17  # numbers in the images of all mixtures, times atoms


def serves(problem: Problem, atoms: NDArray) -> bool:
    """Whether the problem is of this kind and size."""
    linear = _linear(problem)
    return (
        isinstance(problem.operator, Bilinear)
        and isinstance(linear, Degrees | Spectra)
        and type(problem.barrier) is LogBarrier
        and single_at_hand(problem, atoms)
        and problem.total * linear.size * len(atoms) >= SMALL
    )


def push(problem: Problem, rows: slice, coefficients: NDArray, atoms: NDArray) -> NDArray:
    """``R = A**(p Delta, 1 / A(Delta, W))`` of some rows."""
    from graphdict import barriers

    linear = _linear(problem)
    shares = problem.weights[rows].astype(atoms.dtype, copy=False)
    return linear.adjoint(barriers.push_on_atoms(coefficients, shares, linear.apply(atoms)))


def recode(
    problem: Problem,
    rows: slice,
    coefficients: NDArray,
    atoms: NDArray,
    shrinkage: float,
    rounds: int,
    stretch: bool,
) -> tuple[NDArray, tuple[float, float, float, NDArray]]:
    """``rounds`` updates of the coefficients; value, squares of the residual, ``(p Delta)' Z``."""
    from graphdict import barriers, tiles

    signals, weights = problem.fit.signals[rows], problem.weights[rows]
    recoded, numbers = barriers.recode(
        coefficients, weights, _linear(problem).apply(atoms), tiles.energies(signals, atoms),
        atoms.dtype.type(shrinkage), rounds, stretch,
    )  # fmt: skip
    weighted = weights[:, None].astype(atoms.dtype, copy=False) * recoded
    return recoded, (*numbers, tiles.weighted_distances(signals, weighted))


def ascend(
    problem: Problem,
    rows: slice,
    step: Any,
    weighted: NDArray,
    ahead: NDArray,
    dual: NDArray,
    extra: Any,
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """The dual step of BiPDS at ``ahead``; energies, gradients in coefficients and atoms.

    ``weighted`` are the coefficients times shares, ``extra`` what else is in their gradient. Of the
    gradient in the atoms, the last array is what ``M*`` is still to be taken of.
    """
    from graphdict import barriers, tiles

    atoms, (images, images_ahead) = step.atoms, step.images
    energies, distances = tiles.products(problem.fit.signals[rows], atoms, weighted)
    gradient = energies + extra
    raised, mixed = barriers.ascend(
        weighted, images, ahead, images_ahead, dual, atoms.dtype.type(step.sigma), gradient
    )
    return raised, energies, gradient, distances, mixed


def _linear(problem: Problem) -> Any:
    """What the operator does to one graph, where it says so."""
    return getattr(problem.operator, "linear", None)
