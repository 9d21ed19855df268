"""Step sizes of BiPDS: from operator norms at the current point, balanced, halved if stuck."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.operators import Bilinear
from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, BlockStates, Executor
from graphdict.core.solvers.base import in_precision
from graphdict.core.terms import base

ROWS_FOR_SIGMA = 1000  # from which the first sigma is found
NO_SIGMA = 1e-30  # stands for a sigma of zero, at which proxes of a dual of zero divide by it
SAFETY = 0.99
PATIENCE = 20  # checks over which residuals must fall, or the steps are halved
CHANGING = ("sigma", "min_norms", "sigma_rate", "primal_factor", "checks_since_halving")
EARLIER_NAMES = {  # in earlier checkpoints
    "min_norms": "floors", "sigma_rate": "room", "primal_factor": "caution",
    "checks_since_halving": "checks_at_this_pace",
}  # fmt: skip
MIN_NORM = 1e-2  # norms never fall below this share of their start, so no step can explode


class StepSizeRules(NamedTuple):
    """What step sizes follow from between two checks: see :meth:`StepSizes.rules`.

    Compiled loops unpack the fields in this order: ``StepSizeRules`` in primal_dual_iterations.hpp.
    """

    norm: float  # of the map of single graphs
    min_norm_atoms: float
    min_norm_coefficients: float
    sigma: float
    safety: float
    tau_atoms: float  # as given, else zero
    tau_coefficients: float


class StepSizes:
    """``tau_w, tau_c, sigma``: given by the user, or kept within Condat's condition."""

    def __init__(
        self,
        problem: Problem,
        atoms: Floats,
        gram: Floats,
        *,
        atom_images: Floats | None = None,
        fixed: str | None = None,
        given: tuple[float | None, float | None, float | None] = (None, None, None),
        sigma: float = 1.0,
    ):
        self.problem = problem
        self.fixed = fixed
        self.given = given
        self.sigma = sigma if given[2] is None else given[2]
        self.min_norms = tuple(MIN_NORM * norm for norm in self._norms(gram, atoms, atom_images))
        self.sigma_rate = 1.0  # by which share sigma may still be rebalanced
        self.primal_factor = 1.0  # of the primal steps, halved after trouble
        self.checks_since_halving = 0

    def _norms(
        self, gram: Floats, atoms: Floats, atom_images: Floats | None
    ) -> tuple[float, float]:
        operator = self.problem.operator
        # Rows enter an operator alike, so its norm sees of the coefficients only their Gram matrix.
        if not np.isfinite(gram.sum()):
            gram = np.nan_to_num(gram)
        if atom_images is not None and isinstance(operator, Bilinear):
            return operator.norms(gram, atom_images)
        values, vectors = np.linalg.eigh(gram)
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        return operator.norm_atoms(root), operator.norm_coefficients(atoms)

    def at(
        self, gram: Floats, atoms: Floats, atom_images: Floats | None, lipschitz: float
    ) -> tuple[float, float, float]:
        """Return ``tau_w, tau_c, sigma`` by Condat's condition at the current point.

        ``gram`` is ``Delta' diag(p) Delta``, ``atom_images`` are ``M(W)`` where the operator lifts
        a map ``M``, and ``lipschitz`` is that of the smooth priors on ``Delta``.
        """
        norms = self._norms(gram, atoms, atom_images)
        norm_atoms, norm_coefficients = (max(*pair, 1e-30) for pair in zip(norms, self.min_norms))
        shares = 2 if self.fixed is None else 1
        bound_atoms = shares * self.sigma * (norm_atoms * norm_atoms)
        bound_atoms += self.problem.atom_priors.lipschitz(atoms) / 2
        bound_coefficients = shares * self.sigma * (norm_coefficients * norm_coefficients)
        bound_coefficients += lipschitz / 2
        # The other half of 1 / tau is for the duals of the split-off terms, where there are any.
        bound_atoms *= 2 if self.problem.atom_priors.split else 1
        bound_coefficients *= 2 if self.problem.coefficient_priors.split else 1
        tau_atoms, tau, _ = self.given
        # Only a step that was given may be zero, which holds its variable.
        least = float(np.finfo(atoms.dtype).tiny)
        if tau_atoms is None:
            tau_atoms = max(self.primal_factor * SAFETY / max(bound_atoms, 1e-300), least)
        if tau is None:
            tau = max(self.primal_factor * SAFETY / max(bound_coefficients, 1e-300), least)
        return tau_atoms, tau, self.sigma

    def rules(self, norm: float) -> StepSizeRules:
        """Return the numbers from which a compiled loop computes the step sizes of :meth:`at`.

        Only where no prior is smooth or split off, no variable is fixed and no given step is zero;
        ``norm`` is that of the map of single graphs.
        """
        tau_atoms, tau, _ = self.given
        return StepSizeRules(
            norm, self.min_norms[0], self.min_norms[1], self.sigma,
            safety=self.primal_factor * SAFETY, tau_atoms=tau_atoms or 0.0,
            tau_coefficients=tau or 0.0,
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
        factor = 1 + self.sigma_rate
        if residuals["dual"] > 2 * primal or not np.isfinite(objective):
            self.sigma *= factor
        elif primal > 2 * residuals["dual"]:
            self.sigma /= factor
        self.sigma_rate *= 0.97

    def halve_if_stuck(self, residual: list[float]) -> None:
        """Halve the primal steps where residuals have not fallen for long: the iterates circle."""
        self.checks_since_halving += 1
        if self.checks_since_halving < 2 * PATIENCE:
            return
        recent, earlier = min(residual[-PATIENCE:]), min(residual[:-PATIENCE])
        if recent > 0.9 * earlier:
            self.primal_factor *= 0.5
            self.checks_since_halving = 0


def split_step(tau: float, count: int) -> float:
    """Return the dual step of each of ``count`` split-off terms; they share half of ``1 / tau``."""
    return 0.5 / (tau * count)


def first_dual(
    executor: Executor, coefficients: BlockStates, atoms: Floats, given: float | None = None
) -> tuple[BlockStates, float]:
    """Return a dual ``Y = prox_{sigma h*}(sigma A)`` to start from, and its ``sigma``.

    ``A`` stands for ``A(Delta, W)``. Unless it is given, ``sigma`` is such that ``Y`` and ``sigma
    A`` have the same norm, as far as some of the samples tell.
    """
    if given is not None:
        return executor.map_blocks(_dual_step, [coefficients], atoms, given)[0], given
    problem = executor.problem
    some = executor.gather(executor.map_blocks(_some_rows, [coefficients])[0])
    mixed_images = problem.operator.forward(some, atoms)
    sigma, size = 1.0, float(np.vdot(mixed_images, mixed_images))
    for _ in range(20):
        dual = base.prox_conjugate(problem.barrier, sigma * mixed_images, sigma)
        before, sigma = sigma, _ratio(float(np.vdot(dual, dual)), size)
        if abs(sigma - before) <= 0.01 * sigma:  # it is only where balancing begins
            break
    return executor.map_blocks(_dual_step, [coefficients], atoms, sigma)[0], sigma


def first_sigma(
    executor: Executor, coefficients: BlockStates, dual: BlockStates, atoms: Floats
) -> float:
    """Return the ``sigma`` at which ``sigma A(Delta, W)`` has the norm of a given dual."""
    return _ratio(*executor.map_blocks(_sizes, [coefficients, dual], atoms)[1])


def _some_rows(backend: Backend, rows: slice, coefficients: Floats) -> Any:
    """Return a few of the rows, spread over all."""
    return coefficients[:: max(1, backend.problem.total // ROWS_FOR_SIGMA)], ()


def _dual_step(
    backend: Backend, rows: slice, coefficients: Floats, atoms: Floats, sigma: float
) -> Any:
    """Return the dual of a block after a step of size ``sigma`` from zero."""
    problem = backend.problem
    mixed_images = problem.operator.forward(coefficients, atoms)
    dual = base.prox_conjugate(problem.barrier, sigma * mixed_images, sigma)
    return in_precision(dual, mixed_images), ()


def _sizes(backend: Backend, rows: slice, coefficients: Floats, dual: Floats, atoms: Floats) -> Any:
    """Return as sums the squared norms of a block's dual and of its ``A(Delta, W)``."""
    mixed_images = backend.problem.operator.forward(coefficients, atoms)
    return None, (float(np.vdot(dual, dual)), float(np.vdot(mixed_images, mixed_images)))


def _ratio(dual: float, mixed_images: float) -> float:
    """Return the ratio of two norms, given their squares; 1 where it would be zero."""
    return dual**0.5 / (mixed_images**0.5 or 1.0) or 1.0
