"""Passes of models with a log-barrier by compiled tiles; they find what the plain passes find.

They serve problems of smoothness with the logarithms of degrees, or of spectra, whose samples are
single and at hand. Small ones are left to NumPy: they are solved before a compiler would be done.
"""

from __future__ import annotations

from typing import Any

from numpy import empty_like, zeros_like
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
    from graphdict import tiles

    linear = _linear(problem)
    mixed = tiles.push_on_atoms(coefficients, _shares(problem, rows, atoms), _images(linear, atoms))
    return linear.adjoint(mixed[:, : linear.size])


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
    from graphdict import tiles

    signals = problem.fit.signals[rows]
    shares = _shares(problem, rows, atoms)
    energies, recoded = empty_like(coefficients), empty_like(coefficients)
    distances = zeros_like(atoms)
    tiles.products(signals, atoms, energies, coefficients[:0], distances[:0])
    value, square, scale = tiles.recode(
        coefficients, shares, _images(_linear(problem), atoms), energies,
        atoms.dtype.type(shrinkage), rounds, stretch, recoded,
    )  # fmt: skip
    tiles.products(signals, atoms, energies[:0], shares[:, None] * recoded, distances)
    return recoded, (value, square, scale, distances)


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
    from graphdict import tiles

    atoms, (images, images_ahead) = step.atoms, step.images
    energies, distances, raised = empty_like(weighted), zeros_like(atoms), empty_like(dual)
    tiles.products(problem.fit.signals[rows], atoms, energies, weighted, distances)
    gradient = energies + extra
    mixed = tiles.ascend(
        weighted, images, ahead, images_ahead, dual, atoms.dtype.type(step.sigma), raised, gradient
    )
    return raised, energies, gradient, distances, mixed[:, : dual.shape[1]]


def _linear(problem: Problem) -> Any:
    """What the operator does to one graph, where it says so."""
    return getattr(problem.operator, "linear", None)


def _images(linear: Any, atoms: NDArray) -> NDArray:
    """What the barrier sees of each atom (K, M)."""
    if not isinstance(linear, Degrees):
        return linear.apply(atoms)
    from graphdict import tiles

    return tiles.degrees(atoms, linear.nodes)


def _shares(problem: Problem, rows: slice, like: NDArray) -> NDArray:
    return problem.weights[rows].astype(like.dtype, copy=False)
