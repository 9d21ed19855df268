"""Bilinear maps from (coefficients, atoms) to what the likelihood sees of each sample's graph.

Whatever is linear in the edge weights of one graph (its degrees, its Laplacian, its spectrum in a
fixed basis) becomes bilinear in ``Delta`` (T, K) and ``W`` (K, E) once a sample's graph is the
mixture ``Delta W``. A linear map ``M`` knows ``apply``, ``adjoint`` and ``norm``;
:class:`Bilinear` lifts it to

    A(Delta, W) = Delta M(W)                       forward
    A*(Y, W)    = [<Y_t, M(w_k)>]_tk               adjoint_coefficients
    A**(Delta, Y) = M*(Delta' Y)                   adjoint_atoms

and multiplying by ``Delta`` first keeps every product linear in T. An operator of your own needs
those three methods and the two norms, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from graphdict import native
from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.native import products


class LinearMap(Protocol):
    """A linear map from edge weights ``(..., E)`` to some array ``(..., *shape)``.

    A class for which a backend is compiled says of which ``kind`` it is, in its own body; see the
    page "Add your own likelihood".
    """

    @property
    def norm(self) -> float:
        """Its largest singular value, or a bound of it: step sizes follow from it."""

    def apply(self, weights: Floats) -> Floats:
        """Return the images of graphs.

        Parameters
        ----------
        weights : array (..., E)

        Returns
        -------
        array (..., *shape)
        """

    def adjoint(self, values: Floats) -> Floats:
        """Return what the adjoint of :meth:`apply` makes of values.

        Parameters
        ----------
        values : array (..., *shape)

        Returns
        -------
        array (..., E)
        """


@dataclass(frozen=True)
class Degrees:
    """Node degrees ``D w``, (..., E) -> (..., N).

    Parameters
    ----------
    nodes : int
        N.
    """

    nodes: int
    kind: ClassVar[str] = "degrees"

    @property
    def size(self) -> int:
        """Number of entries of an image: N."""
        return self.nodes

    @property
    def norm(self) -> float:
        """``||D||``: D D' = (N - 2) I + 1 1', whose largest eigenvalue is 2 (N - 1)."""
        return float(np.sqrt(2 * (self.nodes - 1)))

    def apply(self, weights: Floats) -> Floats:
        """Return degrees (..., N) of weights (..., E)."""
        found = products.degrees(_as_rows(weights), self.nodes)
        return found.reshape(*weights.shape[:-1], self.nodes)

    def adjoint(self, values: Floats) -> Floats:
        """Return ``y_i + y_j`` (..., E) of every edge, for values (..., N)."""
        found = products.degrees_adjoint(_as_rows(values))
        return found.reshape(*values.shape[:-1], found.shape[1])


@dataclass(frozen=True)
class Laplacians:
    """Combinatorial Laplacians ``L_w``, (..., E) -> (..., N, N).

    Parameters
    ----------
    nodes : int
        N.
    """

    nodes: int
    kind: ClassVar[str] = "laplacians"

    @property
    def norm(self) -> float:
        """``||L||``: L* L = 2 I + D' D, whose largest eigenvalue is 2 N."""
        return float(np.sqrt(2 * self.nodes))

    def apply(self, weights: Floats) -> Floats:
        """Return Laplacians (..., N, N) of weights (..., E)."""
        return graphs.laplacian(weights)

    def adjoint(self, values: Floats) -> Floats:
        """Return ``Y_ii + Y_jj - Y_ij - Y_ji`` (..., E), for matrices (..., N, N)."""
        return graphs.laplacian_adjoint(values)


class Spectra:
    """Energy of each mode, ``diag(U' L_w U)``, (..., E) -> (..., M).

    These are the eigenvalues of the Laplacian when the columns of ``modes`` (N, M) are its
    eigenvectors. The matrix of the map has rows ``(u_im - u_jm)^2``: modes are to it what signals
    are to a fit. What is constant in a mode does not count, and is taken off.

    Parameters
    ----------
    modes : array (N, M)
        Modes in columns.
    """

    modes: Floats
    size: int

    kind = "spectra"

    def __init__(self, modes: Floats):
        self.modes = np.asarray(modes) - np.mean(modes, axis=0)
        self.size = self.modes.shape[1]

    @cached_property
    def norm(self) -> float:
        """Largest singular value of the map.

        It follows from products of its rows: sums of ``(a_i - a_j)^2 (b_i - b_j)^2`` over pairs.
        """
        squares, products = np.square(self.modes), self.modes.T @ self.modes
        total = squares.sum(axis=0)
        gram = len(self.modes) * squares.T @ squares + np.outer(total, total)
        return float(np.sqrt(np.linalg.norm(gram + 2 * np.square(products), 2)))

    def apply(self, weights: Floats) -> Floats:
        """Return the energies (..., M) of all modes on graphs of weights (..., E)."""
        graph_rows = _as_rows(weights)
        found = products.energies(self.rows(graph_rows.dtype), graph_rows)
        return np.ascontiguousarray(found.T).reshape(*weights.shape[:-1], self.size)

    def adjoint(self, values: Floats) -> Floats:
        """Return ``sum_m y_m (u_im - u_jm)^2`` (..., E) of every edge, for values (..., M)."""
        value_rows = _as_rows(values)
        found = products.weighted_distances(self.rows(value_rows.dtype), value_rows.T)
        return found.reshape(*values.shape[:-1], found.shape[1])

    def rows(self, dtype: Any) -> Floats:
        """Return the modes as signals (M, N)."""
        return self._rows.astype(dtype, copy=False)

    def weights(self, spectra: Floats) -> Floats:
        """Return the weights (..., E) of ``U diag(spectra) U'``; they can be negative."""
        return graphs.laplacian_to_weights(self._matrices(spectra))

    def weights_adjoint(self, values: Floats) -> Floats:
        """Return what the adjoint of :meth:`weights` makes of values, (..., E) -> (..., M)."""
        return -self._energies(graphs.adjacency(values)) / 2

    @cached_property
    def _rows(self) -> Floats:
        return np.ascontiguousarray(self.modes.T)

    def _energies(self, matrices: Floats) -> Floats:
        """Return ``diag(U' A U)``, (..., N, N) -> (..., M)."""
        modes = self.modes.astype(matrices.dtype, copy=False)
        result: Floats = ((matrices @ modes) * modes).sum(axis=-2)
        return result

    def _matrices(self, values: Floats) -> Floats:
        """Return ``U diag(values) U'``, (..., M) -> (..., N, N)."""
        modes = self.modes.astype(values.dtype, copy=False)
        return (modes * values[..., None, :]) @ modes.T


class BilinearOperator(Protocol):
    """What a solver asks of an operator: a map from coefficients and atoms, linear in each.

    Everywhere, ``coefficients`` are ``Delta`` (T, K), ``atoms`` are ``W`` (K, E), and ``dual`` is
    an array (T, ...) like what :meth:`forward` returns.
    """

    def forward(self, coefficients: Floats, atoms: Floats) -> Floats:
        """Return ``A(Delta, W)``, (T, K) and (K, E) -> (T, ...)."""

    def adjoint_atoms(self, coefficients: Floats, dual: Floats) -> Floats:
        """Return ``A**(Delta, Y)`` (K, E): the adjoint of ``W -> A(Delta, W)``."""

    def adjoint_coefficients(self, dual: Floats, atoms: Floats) -> Floats:
        """Return ``A*(Y, W)`` (T, K): the adjoint of ``Delta -> A(Delta, W)``."""

    def norm_atoms(self, coefficients: Floats) -> float:
        """Return the norm of ``W -> A(Delta, W)``, or a bound of it."""

    def norm_coefficients(self, atoms: Floats) -> float:
        """Return the norm of ``Delta -> A(Delta, W)``, or a bound of it."""


@dataclass(frozen=True)
class Bilinear:
    """``A(Delta, W) = Delta M(W)`` for a linear map ``M`` of edge weights.

    Parameters
    ----------
    linear : LinearMap
        ``M``.
    """

    linear: LinearMap

    def forward(self, coefficients: Floats, atoms: Floats) -> Floats:
        """Return ``A(Delta, W)``, (T, K) and (K, E) -> (T, ...)."""
        atom_images = self.linear.apply(atoms)
        mixed = coefficients @ atom_images.reshape(len(atom_images), -1)
        return mixed.reshape(len(coefficients), *atom_images.shape[1:])

    def adjoint_atoms(self, coefficients: Floats, dual: Floats) -> Floats:
        """Return ``A**(Delta, Y)`` (K, E): the adjoint of ``W -> A(Delta, W)``."""
        mixed = coefficients.T @ dual.reshape(len(dual), -1)
        return self.linear.adjoint(mixed.reshape(-1, *dual.shape[1:]))

    def adjoint_coefficients(self, dual: Floats, atoms: Floats) -> Floats:
        """Return ``A*(Y, W)`` (T, K): the adjoint of ``Delta -> A(Delta, W)``."""
        atom_images = self.linear.apply(atoms)
        return dual.reshape(len(dual), -1) @ atom_images.reshape(len(atom_images), -1).T

    def norm_atoms(self, coefficients: Floats) -> float:
        """Return the norm of ``W -> A(Delta, W)``, exactly ``||M|| ||Delta||_2``."""
        return self.linear.norm * _spectral_norm(coefficients)

    def norm_coefficients(self, atoms: Floats) -> float:
        """Return the norm of ``Delta -> A(Delta, W)``, exactly ``||M(W)||_2`` over the K rows."""
        return _spectral_norm(self.linear.apply(atoms).reshape(len(atoms), -1))

    def norms(self, gram: Floats, image: Floats) -> tuple[float, float]:
        """Return both norms at once, from the Gram matrix ``Delta' Delta`` and ``M(W)``."""
        of_coefficients = native.largest_eigenvalue(native.contiguous(gram))
        rows = native.contiguous(image).reshape(len(image), -1)
        of_atoms = native.largest_eigenvalue_of_products(rows)
        return self.linear.norm * of_coefficients**0.5, of_atoms**0.5


def _as_rows(values: Floats) -> Floats:
    """Return values (..., E) as (graphs, E), in single precision if they are, else in double."""
    dtype: Any = np.float32 if values.dtype == np.float32 else np.float64
    count = int(np.prod(values.shape[:-1]))
    return np.asarray(values, dtype=dtype).reshape(count, values.shape[-1])


def linear_of(operator: Any) -> Any:
    """Return the map of single graphs that an operator lifts; None where it is of another kind."""
    return operator.linear if type(operator) is Bilinear else None


def _spectral_norm(matrix: Floats) -> float:
    """Return the largest singular value, from the smaller of the two Gram matrices."""
    gram = matrix.T @ matrix if matrix.shape[0] > matrix.shape[1] else matrix @ matrix.T
    return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0)))
