"""Step sizes of BiPDS: from operator norms at the current point, balanced, halved if stuck."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.operators import Bilinear
from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, BlockStates, Executor
from graphdict.core.solvers.base import in_precision
from graphdict.core.terms import base
from graphdict.native.log_barrier import StepSizeRules

__all__ = ["NO_SIGMA", "StepSizes", "first_dual", "first_sigma", "split_step"]

ROWS_FOR_SIGMA = 1000  # from which the first sigma is found
NO_SIGMA = 1e-30  # stands for a sigma of zero, at which proxes of a dual of zero divide by it
SAFETY = 0.99
PATIENCE = 20  # checks over which residuals must fall, or the steps are halved
CHANGING = ("sigma", "floors", "room", "caution", "checks_since_halving")
EARLIER_NAMES = {"checks_since_halving": "checks_at_this_pace"}  # in checkpoints of 0.1
MIN_NORM = 1e-2  # norms never fall below this share of their start, so no step can explode


class StepSizes:
    """``tau_w, tau_c, sigma``: given by the user, or kept within Condat's condition."""

    def __init__(
        self,
        problem: Problem,
        fixed: str | None,
        given: tuple[float | None, float | None, float | None],
        sigma: float,
        gram: NDArray[np.float64],
        atoms: NDArray[np.float64],
        image: NDArray[np.float64] | None = None,
    ):
        self.problem = problem
        self.fixed = fixed
        self.given = given
        self.sigma = sigma if given[2] is None else given[2]
        self.floors = tuple(MIN_NORM * norm for norm in self._norms(gram, atoms, image))
        self.room = 1.0  # how much sigma may still be rebalanced
        self.caution = 1.0  # shrinks the primal steps after trouble
        self.checks_since_halving = 0

    def _norms(
        self,
        gram: NDArray[np.float64],
        atoms: NDArray[np.float64],
        image: NDArray[np.float64] | None,
    ) -> tuple[float, float]:
        operator = self.problem.operator
        # Rows enter an operator alike, so its norm sees of the coefficients only their Gram matrix.
        if not np.isfinite(gram.sum()):
            gram = np.nan_to_num(gram)
        if image is not None and isinstance(operator, Bilinear):
            return operator.norms(gram, image)
        values, vectors = np.linalg.eigh(gram)
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        return operator.norm_atoms(root), operator.norm_coefficients(atoms)

    def at(
        self,
        gram: NDArray[np.float64],
        atoms: NDArray[np.float64],
        image: NDArray[np.float64] | None,
        lipschitz: float,
    ) -> tuple[float, float, float]:
        """Return ``tau_w, tau_c, sigma`` by Condat's condition at the current point.

        ``gram`` is ``Delta' diag(p) Delta``, ``image`` is ``M(W)`` where the operator has an ``M``,
        ``lipschitz`` that of the smooth priors on ``Delta``.
        """
        norms = self._norms(gram, atoms, image)
        norm_atoms, norm_coefficients = (max(*pair, 1e-30) for pair in zip(norms, self.floors))
        shares = 2 if self.fixed is None else 1
        bound_atoms = shares * self.sigma * (norm_atoms * norm_atoms)
        bound_atoms += self.problem.atoms.lipschitz(atoms) / 2
        bound_coefficients = shares * self.sigma * (norm_coefficients * norm_coefficients)
        bound_coefficients += lipschitz / 2
        # The other half of 1 / tau is for the duals of the split-off terms, where there are any.
        bound_atoms *= 2 if self.problem.atoms.split else 1
        bound_coefficients *= 2 if self.problem.coefficients.split else 1
        tau_atoms, tau, _ = self.given
        if tau_atoms is None:
            tau_atoms = self.caution * SAFETY / max(bound_atoms, 1e-300)
        if tau is None:
            tau = self.caution * SAFETY / max(bound_coefficients, 1e-300)
        return tau_atoms, tau, self.sigma

    def rules(self, norm: float) -> StepSizeRules:
        """Return what a compiled loop finds the same step sizes from.

        Only where no prior is smooth or split off, no variable is fixed and no given step is zero;
        ``norm`` is that of the map of single graphs.
        """
        tau_atoms, tau, _ = self.given
        floor_atoms, floor_coefficients = self.floors
        return StepSizeRules(
            norm, floor_atoms, floor_coefficients, self.sigma, self.caution * SAFETY,
            tau_atoms or 0.0, tau or 0.0,
        )  # fmt: skip

    def save(self) -> dict[str, Any]:
        """Return what changes from check to check, as :meth:`restore` takes it."""
        return {name: getattr(self, name) for name in CHANGING}

    def restore(self, saved: dict[str, Any]) -> None:
        for name in CHANGING:
            setattr(self, name, saved[name if name in saved else EARLIER_NAMES[name]])

    def balance(self, residuals: dict[str, float], objective: float) -> None:
        """Move ``sigma`` towards equal primal and dual residuals, ever more gently."""
        if self.given[2] is not None:
            return
        primal = max(residuals.get("atoms", 0.0), residuals.get("coefficients", 0.0))
        factor = 1 + self.room
        if residuals["dual"] > 2 * primal or not np.isfinite(objective):
            self.sigma *= factor
        elif primal > 2 * residuals["dual"]:
            self.sigma /= factor
        self.room *= 0.97

    def halve_if_stuck(self, residual: list[float]) -> None:
        """Halve the primal steps where residuals have not fallen for long: the iterates circle."""
        self.checks_since_halving += 1
        if self.checks_since_halving < 2 * PATIENCE:
            return
        recent, earlier = min(residual[-PATIENCE:]), min(residual[:-PATIENCE])
        if recent > 0.9 * earlier:
            self.caution *= 0.5
            self.checks_since_halving = 0


def split_step(tau: float, count: int) -> float:
    """Return the dual step of each of ``count`` split-off terms; they share half of ``1 / tau``."""
    return 0.5 / (tau * count)


def first_dual(
    executor: Executor,
    coefficients: BlockStates,
    atoms: NDArray[np.float64],
    given: float | None = None,
) -> tuple[BlockStates, float]:
    """Return ``Y = prox_{sigma h*}(sigma A)``, for the returned ``sigma`` as large as ``sigma A``.

    ``A`` stands for ``A(Delta, W)``; ``sigma`` is as given, or found from some of the samples.
    """
    if given is not None:
        return executor.map_blocks(_dual_step, [coefficients], atoms, given)[0], given
    problem = executor.problem
    some = executor.gather(executor.map_blocks(_some_rows, [coefficients])[0])
    image = problem.operator.forward(some, atoms)
    sigma, size = 1.0, float(np.vdot(image, image))
    for _ in range(20):
        dual = base.prox_conjugate(problem.barrier, sigma * image, sigma)
        before, sigma = sigma, _ratio(float(np.vdot(dual, dual)), size)
        if abs(sigma - before) <= 0.01 * sigma:  # it is only where balancing begins
            break
    return executor.map_blocks(_dual_step, [coefficients], atoms, sigma)[0], sigma


def first_sigma(
    executor: Executor, coefficients: BlockStates, dual: BlockStates, atoms: NDArray[np.float64]
) -> float:
    """Return the ``sigma`` at which ``sigma A(Delta, W)`` is as large as a given dual."""
    return _ratio(*executor.map_blocks(_sizes, [coefficients, dual], atoms)[1])


def _some_rows(backend: Backend, rows: slice, coefficients: NDArray[np.float64]) -> Any:
    """Return a few of the rows, spread over all."""
    return coefficients[:: max(1, backend.problem.total // ROWS_FOR_SIGMA)], ()


def _dual_step(
    backend: Backend,
    rows: slice,
    coefficients: NDArray[np.float64],
    atoms: NDArray[np.float64],
    sigma: float,
) -> Any:
    """Return the dual of a block after a step of size ``sigma`` from zero."""
    problem = backend.problem
    image = problem.operator.forward(coefficients, atoms)
    dual = base.prox_conjugate(problem.barrier, sigma * image, sigma)
    return in_precision(dual, image), ()


def _sizes(
    backend: Backend,
    rows: slice,
    coefficients: NDArray[np.float64],
    dual: NDArray[np.float64],
    atoms: NDArray[np.float64],
) -> Any:
    """Return a block's share of the squared sizes of the dual and of ``A(Delta, W)``."""
    image = backend.problem.operator.forward(coefficients, atoms)
    return None, (float(np.vdot(dual, dual)), float(np.vdot(image, image)))


def _ratio(dual: float, image: float) -> float:
    """Return the ratio of two sizes given by their squares; 1 where either is zero."""
    return dual**0.5 / (image**0.5 or 1.0) or 1.0
