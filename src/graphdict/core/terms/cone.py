"""Graphs that share given eigenvectors: a convex cone of spectra.

For orthonormal modes ``U`` (N, N - 1) orthogonal to the constants, ``L = U diag(lambda) U'`` is the
Laplacian of a graph exactly if no weight ``w_ij = -sum_m u_im u_jm lambda_m`` is negative:

    { lambda : B lambda >= 0 },    B (E, N - 1),  B_ij,m = -u_im u_jm

a cone cut out by one half-space for each edge. It always holds the complete graph, ``lambda``
constant, in its interior, and ``lambda >= 0`` follows.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import nnls

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.core.operators import Spectra

REACH = 0.995  # of the way to the nearest face that a step may go
MAX_STEPS = 100
CLOSED = 1e-12  # complementarity at which to stop, relative to the terms of the function


class GraphsOfModes:
    """The constraint on atoms (K, E) that each is a graph with the given eigenvectors.

    Its prox is the projection, so that every atom a proximal solver visits is such a graph.
    """

    never_split = True

    def __init__(self, spectra: Spectra):
        nodes, modes = spectra.modes.shape
        if modes != nodes - 1:
            raise ValueError(
                f"modes must be all {nodes - 1} that are orthogonal to constants on the {nodes} "
                f"nodes that vary, got {modes}"
            )
        self.spectra = Spectra(spectra.modes.astype(np.float64))
        self.nodes = nodes

    @cached_property
    def matrix(self) -> Floats:
        """``B`` (E, M), from spectra to weights."""
        rows, cols = graphs.edge_index(self.nodes)
        modes = self.spectra.modes
        return -modes[rows] * modes[cols]

    @cached_property
    def gram(self) -> Floats:
        """``B' B`` (M, M): positive definite, since spectra and weights determine each other."""
        return self.matrix.T @ self.matrix

    @cached_property
    def _root(self) -> tuple[Floats, Floats]:
        """``R`` with ``R' R = B' B``, and ``R^{-T} B'``, by which projections are solved."""
        root: Any = np.linalg.cholesky(self.gram).T
        return root, solve_triangular(root, self.matrix.T, trans="T")

    def value(self, atoms: Floats) -> float:
        """Return zero where all atoms are such graphs but for rounding, infinity elsewhere."""
        exact = self.weights(self.spectra.apply(atoms.astype(np.float64)))
        rounding = 1e-8 if atoms.dtype.itemsize > 4 else 1e-4
        allowed = rounding * float(np.abs(atoms).max(initial=0))
        off = float(np.abs(atoms - exact).max(initial=0))
        inside = off <= allowed and float(atoms.min(initial=0)) >= -allowed
        return 0.0 if inside else float("inf")

    def prox(self, atoms: Floats, step: float) -> Floats:
        """Return the nearest such graphs (K, E)."""
        return self.weights(self.project(atoms)).astype(atoms.dtype, copy=False)

    def project(self, atoms: Floats) -> Floats:
        """Return the spectra (K, M) of the nearest graphs, by their dual problem in ``z >= 0``.

        ``min |R^{-T} B' z + R lambda_0|``, with ``lambda_0`` those of the nearest matrix. Atoms
        that overflow have none, and their spectra are NaN.
        """
        root, dual = self._root
        nearest = np.linalg.solve(self.gram, self.matrix.T @ atoms.T.astype(np.float64)).T
        found = np.array(
            [
                -_nnls_residual(dual, -root @ spectrum) if np.isfinite(spectrum).all() else spectrum
                for spectrum in nearest
            ]
        )
        result: Floats = solve_triangular(root, found.T, check_finite=False).T
        return result

    def weights(self, spectra: Floats) -> Floats:
        """Return the weights (K, E) of spectra in the cone; what rounding made negative is zero."""
        found = spectra @ self.matrix.T
        least = 1e-10 * found.max(axis=-1, initial=0, keepdims=True)
        return np.where(found < least, 0, found)

    def interior(self, spectra: Floats, share: float = 1e-3) -> Floats:
        """Return spectra plus that multiple of the complete graph which makes weights positive.

        Every weight is then at least this ``share`` of the mean weight of its graph.
        """
        found = spectra @ self.matrix.T
        mean = found.mean(axis=1)
        typical = mean[mean > 0].mean() if (mean > 0).any() else 1.0
        lacking = np.maximum(share * np.maximum(mean, share * typical) - found.min(axis=1), 0)
        result: Floats = spectra + self.nodes * lacking[:, None]
        return result


def _nnls_residual(matrix: Floats, right: Floats) -> Any:
    """Return ``right - matrix z`` at the least-squares ``z >= 0``."""
    multipliers, _ = nnls(matrix, right, maxiter=50 * max(matrix.shape))
    return right - matrix @ multipliers


def minimise_quadratic(
    hessian: Floats, gradient: Floats, spectra: Floats, cone: GraphsOfModes
) -> Floats:
    """Minimise a convex quadratic function of K spectra over the cone.

        <g, x - lambda> + (x - lambda)' H (x - lambda) / 2    over  B x_k >= 0

    by Mehrotra's primal-dual interior-point method.

    Parameters
    ----------
    hessian : array (K M, K M)
        Positive semidefinite.
    gradient, spectra : arrays (K, M)
        ``g`` and ``lambda``.
    cone : GraphsOfModes
        Gives ``B``.

    Returns
    -------
    array (K, M)
        Strictly inside the cone.
    """
    matrix, shape = cone.matrix, spectra.shape
    linear = gradient.ravel() - hessian @ spectra.ravel()
    x = cone.interior(spectra, 1e-2)
    slack = x @ matrix.T
    size = abs(float(np.vdot(gradient, x))) + float(x.ravel() @ hessian @ x.ravel()) + 1e-300
    multipliers = np.full_like(slack, size / slack.size) / slack
    for _ in range(MAX_STEPS):
        off = (hessian @ x.ravel() + linear).reshape(shape) - multipliers @ matrix
        gap = float(np.vdot(slack, multipliers)) / slack.size
        if gap * slack.size <= CLOSED * size and float(np.abs(off * x).sum()) <= 1e-9 * size:
            break
        factor = _factorise(hessian, matrix, multipliers / slack)
        if factor is None:
            break
        direction = partial(
            _direction, factor, matrix, off=off, slack=slack, multipliers=multipliers
        )
        _, ds, dz = direction(-slack * multipliers)
        ahead = np.vdot(slack + _length(slack, ds) * ds,
                        multipliers + _length(multipliers, dz) * dz) / slack.size  # fmt: skip
        centring = (float(ahead) / gap) ** 3 * gap
        dx, ds, dz = direction(centring - slack * multipliers - ds * dz)
        if not np.isfinite(dx).all():
            break
        along, across = REACH * _length(slack, ds), REACH * _length(multipliers, dz)
        further = x + along * dx
        left = further @ matrix.T
        if not left.min() > 0:  # rounding has taken over
            break
        x, slack = further, left
        multipliers = multipliers + across * dz
    return x


def _factorise(hessian: Floats, matrix: Floats, ratios: Floats) -> Any:
    """Return the Cholesky factor of ``H + blockdiag_k B' diag(z_k / s_k) B``, or None."""
    system = hessian.copy()
    modes = matrix.shape[1]
    for k, ratio in enumerate(ratios):
        block = slice(k * modes, (k + 1) * modes)
        system[block, block] += (matrix * ratio[:, None]).T @ matrix
    diagonal = np.diag_indices(len(system))
    system[diagonal] *= 1 + 1e-14
    try:
        return cho_factor(system, check_finite=False)
    except np.linalg.LinAlgError:
        return None


def _direction(
    factor: Any, matrix: Floats, target: Floats, *, off: Floats, slack: Floats, multipliers: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the Newton step of spectra, slacks and multipliers to a ``target`` of slackness."""
    right = (target / slack) @ matrix - off
    dx = cho_solve(factor, right.ravel(), check_finite=False).reshape(off.shape)
    ds = dx @ matrix.T
    return dx, ds, (target - multipliers * ds) / slack


def _length(x: Floats, step: Floats) -> float:
    """Return how far ``x`` may go along ``step`` and stay positive: at most one."""
    with np.errstate(over="ignore"):
        ratios = np.divide(-x, step, out=np.ones_like(x), where=step < 0)
    return min(1.0, float(ratios.min()))
