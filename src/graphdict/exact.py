"""The pass of the exact model over its samples: what goes into its dual step, and out.

The dual of a sample is an N x N matrix, and what meets it is linear in the edges: a mixture of
atoms enters as a Laplacian, and an atom sees of the dual and of the signal

    <Y, L_w> + x' L_w x = sum_ij w_ij (Y_ii + Y_jj - 2 Y_ij + z_ij),   z_ij = (x_i - x_j)^2

Both take one sweep over the edges of a sample. The step between them is in :mod:`graphdict.roots`,
the plain formulas in :mod:`graphdict.operators` and :mod:`graphdict.kernels`; tests compare.
"""

from __future__ import annotations

from numpy import ascontiguousarray as in_order
from numpy.typing import NDArray

from graphdict import native

__all__ = ["gradients", "lift"]


def lift(
    coefficients: NDArray, atoms: NDArray, dual: NDArray, sigma: float, lifted: NDArray
) -> None:
    """Set ``Y + sigma L(Delta W)`` of symmetric duals (T, N, N) in ``lifted``."""
    native.lift(in_order(coefficients), in_order(atoms), in_order(dual), sigma, lifted)


def gradients(
    signals: NDArray,
    atoms: NDArray,
    weighted: NDArray,
    dual: NDArray,
    energies: NDArray,
    pulls: NDArray,
    distances: NDArray,
) -> None:
    """Set ``Z W'`` in ``energies`` and ``<Y_t, L_k>`` in ``pulls`` (T, K) of symmetric duals.

    Adds ``C' (Z + L*(Y))`` to ``distances`` (K, E) with weights ``C`` of the samples.
    """
    native.gradients(
        in_order(signals), in_order(atoms), in_order(weighted), in_order(dual),
        energies, pulls, distances,
    )  # fmt: skip
