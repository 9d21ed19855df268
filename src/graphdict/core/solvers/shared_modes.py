"""Alternate between spectra and coefficients of graphs that share their eigenvectors.

With ``L_k = U diag(lambda_k) U'`` the objective is convex in the spectra ``Lambda`` (K, M), which
lie in a cone (:mod:`graphdict.core.terms.cone`), and convex in the coefficients ``Delta``:

    1/T sum_tm [ (Delta Lambda)_tm p_tm - log (Delta Lambda)_tm ] + priors

Each iteration takes one Newton step of all spectra within the cone, a quadratic programme that no
longer sees samples, shortened until the objective falls; then multiplicative updates of the
coefficients, as in :mod:`graphdict.core.solvers.mm`, and once these hardly lower it, their optimum.
Products of atoms (orthogonality) are bounded by ``(|sum_k w_k|^2 - sum_k |w_k|^2) / 2``, whose
concave part is replaced by its tangent. So the objective never rises, and every point is in the
cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.protocols import Backend, BlockStates, Executor
from graphdict.core.solvers.base import History, signal_precision
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.coding import code_shard, codes_samples_alone
from graphdict.core.solvers.descent import Descent
from graphdict.core.solvers.mm import Update, update_coefficients
from graphdict.core.terms.atoms import Orthogonality
from graphdict.core.terms.base import is_exactly, name_of, total_alpha
from graphdict.core.terms.cone import GraphsOfModes, minimise_quadratic
from graphdict.core.terms.constraints import L1, Sum, UnitBox

HALVINGS = 30
CODING_STEPS = 20  # of BiPDS, where priors tie samples together


def lacks_newton(atom_terms: Sequence[Any]) -> str | None:
    """Return why there is no Newton step for terms beside the cone, or None where there is."""
    for term in atom_terms:
        if not is_exactly(term, GraphsOfModes, Sum, Orthogonality):
            return f"the atom prior {name_of(term)} is not a sum or a product of weights"
    return None


class _Point(NamedTuple):
    """A point of the iteration."""

    iteration: int
    spectra: Floats  # (K, M), in double precision
    atoms: Floats  # their weights (K, E), in the precision of the signals
    coefficients: BlockStates
    objective: float
    exact: bool = False  # whether coefficients are coded to their optimum from here on


class SharedModes(Descent):
    """A step of the spectra and one of the coefficients in turn, as the module describes them.

    The problem has :class:`GraphsOfModes <graphdict.core.terms.cone.GraphsOfModes>` among its atom
    priors, and beside it none that :func:`lacks_newton` names. Atoms to start from are in the cone,
    as those found are. Residuals are the square roots of what each half lowers the objective by.
    """

    def __init__(self, executor: Executor, fixed: str | None, tol: float):
        super().__init__(executor, fixed, tol)
        atoms, coefficients = self.problem.atom_terms, self.problem.coefficient_terms
        self.cone: GraphsOfModes = next(t for t in atoms if is_exactly(t, GraphsOfModes))
        self.overlap_alpha = total_alpha(atoms, Orthogonality)
        multiplicative = all(is_exactly(t, UnitBox, L1) for t in coefficients)
        self.coefficient_alpha = total_alpha(coefficients, L1) if multiplicative else None
        self.codes_alone = fixed is None and codes_samples_alone(self.problem)
        self.dtype = getattr(self.problem.signal_term, "dtype", np.dtype(np.float64))

    def start(self, coefficients: Floats | BlockStates, atoms: Floats) -> _Point:
        """Return the given point, or one a step from it with zeros raised, if that is lower.

        Coefficients and weights of zero would not move.
        """
        atoms = signal_precision(atoms, self.problem)
        states, spectra = self.scatter(coefficients, atoms), self.cone.project(atoms)
        given = self._point(0, spectra, states)
        raised = self._point(0, self.cone.interior(spectra), self.lift_zeros(states))
        if not np.isfinite(given.objective):
            return raised
        # From nearly the same point, the raised one can leave where the given one is stuck.
        first, _ = self.update(raised)
        return first._replace(iteration=0) if first.objective <= given.objective else given

    def save(self, point: _Point, history: History) -> dict[str, Any]:
        kept = super().save(point, history)
        return {**kept, "spectra": point.spectra, "exact": point.exact}

    def restore(self, saved: dict[str, Any], states: BlockStates) -> _Point:
        kept = {name: saved[name] for name in ("iteration", "spectra", "objective", "exact")}
        return _Point(**kept, atoms=self._weights(saved["spectra"]), coefficients=states)

    def check_end(self, point: _Point, stalled: bool, small: bool) -> tuple[_Point, bool]:
        settled = stalled or small
        done = settled and (point.exact or not self.codes_alone)
        return point._replace(exact=point.exact or settled), done

    def update(self, point: _Point) -> tuple[_Point, dict[str, float]]:
        """Return the next point, and the roots of what each half lowered ``F`` by."""
        moved = self._move_spectra(point)
        residuals = {"atoms": max(point.objective - moved.objective, 0.0) ** 0.5}
        point = moved
        if self.fixed != "coefficients":
            point = self._move_coefficients(moved)
            residuals["coefficients"] = max(moved.objective - point.objective, 0.0) ** 0.5
        return point, residuals

    def _move_spectra(self, point: _Point) -> _Point:
        """Take a Newton step within the cone, as long as the objective allows."""
        spectra, states = point.spectra, point.coefficients
        _, sums = self.executor.map_blocks(_derivatives, [states], spectra)
        distances, barrier_slopes, curvature = sums
        weights = self.cone.weights(spectra)
        slopes = distances + self.problem.atom_priors.gradient(weights)
        gradient = slopes @ self.cone.matrix - barrier_slopes
        target = minimise_quadratic(self._hessian(curvature), gradient, spectra, self.cone)
        length = 1.0
        for _ in range(HALVINGS):
            moved = self._point(point.iteration + 1, spectra + length * (target - spectra), states)
            if moved.objective < point.objective:
                return moved._replace(exact=point.exact)
            length /= 2
        return point._replace(iteration=point.iteration + 1)

    def _hessian(self, curvature: Floats) -> Floats:
        """Return the matrix (K M, K M) of the quadratic model, from pairs of atoms (P, M)."""
        pairs, modes = curvature.shape
        count = round((np.sqrt(8 * pairs + 1) - 1) / 2)
        full = np.zeros((count, modes, count, modes))
        mode = np.arange(modes)
        for pair, (k, other) in enumerate(zip(*np.triu_indices(count))):
            full[k, mode, other, mode] = full[other, mode, k, mode] = curvature[pair]
        if self.overlap_alpha:
            full += self.overlap_alpha * self.cone.gram[None, :, None, :]
        result = full.reshape(count * modes, -1)
        diagonal = np.diag_indices(len(result))
        result[diagonal] += 1e-10 * result[diagonal].mean() + 1e-300
        return result

    def _move_coefficients(self, point: _Point) -> _Point:
        """Take multiplicative updates of the coefficients, or some iterations of BiPDS.

        They go all the way to the optimum only in the end: there, coefficients of zero hold their
        atoms still.
        """
        atoms, executor = point.atoms, self.executor
        if point.exact and self.codes_alone:
            return self._better(point, executor.map_shards(code_shard, [], atoms)[0])
        if self.coefficient_alpha is None:
            found = bipds(
                executor, point.coefficients, atoms, fixed="atoms", max_iter=CODING_STEPS, tol=1e-6
            )
            return self._better(point, self.scatter(found.coefficients, atoms))
        for over_relaxed in (True, False):
            message = Update(
                atoms, self.problem.atom_images(atoms), self.coefficient_alpha, over_relaxed
            )
            columns = [point.coefficients, executor.scatter(None)]
            states, _ = executor.map_blocks(update_coefficients, columns, message)
            following = self._better(point, states)
            if following is not point:
                break
        return following

    def _better(self, point: _Point, states: BlockStates) -> _Point:
        """Return the point with other coefficients, where these lower the objective."""
        objective = self.objective(states, point.atoms)
        if not objective < point.objective:
            return point
        return point._replace(coefficients=states, objective=objective)

    def _weights(self, spectra: Floats) -> Floats:
        return self.cone.weights(spectra).astype(self.dtype, copy=False)

    def _point(self, iteration: int, spectra: Floats, states: BlockStates) -> _Point:
        """Return the point of spectra and coefficients, with its atoms and objective."""
        atoms = self._weights(spectra)
        return _Point(iteration, spectra, atoms, states, self.objective(states, atoms))


shared_modes = SharedModes.minimise


# Steps ----------------------------------------------------------------------------------------


def _derivatives(backend: Backend, rows: slice, coefficients: Floats, spectra: Floats) -> Any:
    """Find ``(p Delta)' Z`` (K, E), and both derivatives of the logarithms in the spectra.

    The second derivative (P, M) has one row for each of the P pairs of atoms.
    """
    problem = backend.problem
    distances = problem.weighted_distances(rows, coefficients).astype(np.float64)
    coefficients = coefficients.astype(np.float64)
    inverse = 1 / (coefficients @ spectra)
    weighted = problem.share_weighted(rows, coefficients)
    first, second = np.triu_indices(coefficients.shape[1])
    pairs = weighted[:, first] * coefficients[:, second]
    return None, (distances, weighted.T @ inverse, pairs.T @ np.square(inverse))
