"""Bilinear Primal-Dual Splitting (BiPDS): Algorithm 1 of the paper, on any terms and operator.

For ``f + g + h(A(Delta, W))`` each iteration takes one proximal gradient step in ``W``, one in
``Delta``, both from the previous point, and one proximal ascent step in the dual ``Y`` at the
extrapolated point:

    W+     = prox_{tau_w g_w}( W - tau_w (A**(Delta, Y) + grad_W f) )
    Delta+ = prox_{tau_c g_c}( Delta - tau_c (A*(Y, W) + grad_Delta f) )
    Y+     = prox_{sigma h*}( Y + sigma A(2 Delta+ - Delta, 2 W+ - W) )

Sample-sized variables live in the inner product ``sum_t p_t <., .>`` with ``p_t`` the share of the
samples in row t, in which no step size depends on T. Linearised at the current point, Condat's
condition reads ``1/tau_w - 2 sigma ||A(Delta, .)||^2 >= beta_w / 2`` and likewise for ``tau_c``:
the 2 shares ``sigma`` between the two primal variables. ``sigma`` itself starts where ``Y`` and
``sigma A(Delta, W)`` have the same size and then balances the primal and dual residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem, TermGroup
from graphdict.solvers.base import Callback, History, Progress, Solution, warn_interrupted
from graphdict.terms import base

__all__ = ["bipds"]

SAFETY = 0.99
MIN_NORM = 1e-2  # norms never fall below this share of their start, so no step can explode
BALANCE_EVERY = 10


def bipds(
    problem: Problem,
    coefficients: NDArray,
    atoms: NDArray,
    *,
    dual: NDArray | None = None,
    fixed: str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-4,
    tau_atoms: float | None = None,
    tau_coefficients: float | None = None,
    sigma: float | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a problem from a starting point.

    Parameters
    ----------
    problem : Problem
        Terms, operator and samples.
    coefficients, atoms : arrays (T, K) and (K, E)
        Where to start. They are not modified.
    dual : array, optional
        Dual variable of an earlier :class:`Solution`, for a warm start.
    fixed : {"atoms", "coefficients"}, optional
        A variable to hold at its start. The problem is then convex.
    max_iter, tol
        Stop after ``max_iter`` iterations, or once the relative residuals of the optimality
        conditions in ``W``, ``Delta`` and ``Y`` are all below ``tol``.
    tau_atoms, tau_coefficients, sigma : float, optional
        Step sizes; by default they follow the norms of the operator at the current point.
    callback : callable, optional
        Called with a :class:`Progress` after each iteration; returning True stops.

    Returns
    -------
    Solution
        The iterate of the lowest objective that was met, with the dual that goes with it.
    """
    if fixed not in (None, "atoms", "coefficients"):
        raise ValueError(f"fixed must be 'atoms', 'coefficients' or None, got {fixed!r}")
    run = _Run(problem, fixed, tau_atoms, tau_coefficients, sigma)
    state = run.start(coefficients, atoms, dual)
    history = History()
    best, best_objective, iteration = state, run.objective(state), 0
    converged = interrupted = False
    try:
        for iteration in range(1, max_iter + 1):
            following = run.step(state)
            objective = run.objective(following)
            collapsed = np.isfinite(best_objective) and not following.image.any()
            if collapsed or not following.is_finite():
                state = run.retreat(best)
                continue
            residuals = run.residuals(state, following)
            history.add(objective, residuals)
            state = following
            if objective <= best_objective:
                best, best_objective = state, objective
            if callback is not None and callback(
                Progress(iteration, objective, max(residuals.values()), *state.primal)
            ):
                break
            if max(residuals.values()) <= tol:
                converged = True
                break
            if iteration % BALANCE_EVERY == 0:
                run.balance(residuals, objective)
    except KeyboardInterrupt:
        interrupted = True
        warn_interrupted(iteration)
    if converged and np.isfinite(objective):
        best, best_objective = state, objective
    return Solution(
        best.atoms, best.coefficients, best.dual, best_objective, history, iteration,
        converged, interrupted,
    )  # fmt: skip


@dataclass(frozen=True)
class _State:
    """One point of the iteration and what was computed there."""

    atoms: NDArray
    coefficients: NDArray
    dual: NDArray
    split_atoms: tuple[NDArray, ...]  # duals of the terms that have no direct prox
    split_coefficients: tuple[NDArray, ...]
    image: NDArray  # A(Delta, W)
    extrapolated: NDArray  # A at the point that led to ``dual``
    energies: NDArray
    gradient_atoms: NDArray  # of everything but the direct proxes, dual included
    gradient_coefficients: NDArray
    steps: tuple[float, float, float]  # that led here

    @property
    def primal(self) -> tuple[NDArray, NDArray]:
        return self.atoms, self.coefficients

    def is_finite(self) -> bool:
        return bool(
            np.isfinite(self.gradient_atoms).all()
            and np.isfinite(self.gradient_coefficients).all()
            and np.isfinite(self.atoms).all()
            and np.isfinite(self.dual).all()
        )


class _Run:
    """The state-free parts of one call: steps, gradients, residuals."""

    def __init__(self, problem: Problem, fixed: str | None, *steps: float | None):
        self.problem = problem
        self.fixed = fixed
        self.given = steps
        self.sigma = steps[2]
        self.patience = 1.0  # how much sigma may still be rebalanced
        self.caution = 1.0  # shrinks the primal steps after a divergence
        self.cached_energies: NDArray | None = None

    def start(self, coefficients: NDArray, atoms: NDArray, dual: NDArray | None) -> _State:
        problem = self.problem
        self.weights = problem.weights.astype(coefficients.dtype)[:, None]
        self.root_weights = np.sqrt(self.weights)
        image = problem.operator.forward(coefficients, atoms)
        size = float(np.linalg.norm(image)) or 1.0
        if dual is None:
            # The sigma at which Y = prox_{sigma h*}(sigma A) has the size of sigma A.
            sigma = 1.0
            for _ in range(20):
                dual = base.prox_conjugate(problem.barrier, sigma * image, sigma)
                sigma = float(np.linalg.norm(dual)) / size or 1.0
        else:
            sigma = float(np.linalg.norm(dual)) / size or 1.0
        assert dual is not None
        self.sigma = self.sigma or sigma
        self.floors = tuple(MIN_NORM * n for n in self._norms(coefficients, atoms))
        zeros_atoms = tuple(np.zeros_like(atoms) for _ in problem.atoms.split)
        zeros_coefficients = tuple(np.zeros_like(coefficients) for _ in problem.coefficients.split)
        return self._point(
            atoms, coefficients, dual, zeros_atoms, zeros_coefficients, image, image, (1, 1, 1)
        )

    def _point(self, atoms, coefficients, dual, split_atoms, split_coefficients, *rest) -> _State:
        """Evaluate the one pass over the data and both gradients at a point."""
        problem, operator = self.problem, self.problem.operator
        weighted = self.weights * coefficients
        if self.fixed == "atoms":
            if self.cached_energies is None:
                self.cached_energies = problem.fit.energies(atoms)
            energies, gradient_atoms = self.cached_energies, np.zeros_like(atoms)
        else:
            smooth, energies = problem.fit.sweep(weighted, atoms)
            gradient_atoms = smooth + operator.adjoint_atoms(weighted, dual)
            gradient_atoms += problem.atoms.gradient(atoms)
            for multiplier in split_atoms:
                gradient_atoms += multiplier
        if self.fixed == "coefficients":
            gradient_coefficients = np.zeros_like(coefficients)
        else:
            gradient_coefficients = energies + operator.adjoint_coefficients(dual, atoms)
            gradient_coefficients += problem.coefficients.gradient(coefficients)
            for multiplier in split_coefficients:
                gradient_coefficients += multiplier
        return _State(
            atoms, coefficients, dual, split_atoms, split_coefficients, rest[0], rest[1],
            energies, gradient_atoms, gradient_coefficients, rest[2],
        )  # fmt: skip

    def _norms(self, coefficients: NDArray, atoms: NDArray) -> tuple[float, float]:
        operator = self.problem.operator
        return (
            operator.norm_atoms(self.root_weights * coefficients),
            operator.norm_coefficients(atoms),
        )

    def steps(self, state: _State) -> tuple[float, float, float]:
        """``tau_w, tau_c, sigma`` by Condat's condition at the current point."""
        tau_atoms, tau_coefficients, _ = self.given
        norms = self._norms(state.coefficients, state.atoms)
        norm_atoms, norm_coefficients = (max(*pair, 1e-30) for pair in zip(norms, self.floors))
        sigma = float(self.sigma or 1.0)
        shares = 2 if self.fixed is None else 1
        bound_atoms = shares * sigma * norm_atoms**2
        bound_atoms += self.problem.atoms.lipschitz(state.atoms) / 2
        bound_coefficients = shares * sigma * norm_coefficients**2
        bound_coefficients += self.problem.coefficients.lipschitz(state.coefficients) / 2
        # The other half of 1 / tau is for the duals of the split-off terms, where there are any.
        bound_atoms *= 2 if self.problem.atoms.split else 1
        bound_coefficients *= 2 if self.problem.coefficients.split else 1
        return (
            tau_atoms or self.caution * SAFETY / bound_atoms,
            tau_coefficients or self.caution * SAFETY / bound_coefficients,
            sigma,
        )

    def step(self, state: _State) -> _State:
        """One iteration of Algorithm 1."""
        problem, operator = self.problem, self.problem.operator
        steps = tau_atoms, tau_coefficients, sigma = self.steps(state)
        atoms, coefficients = state.primal
        if self.fixed != "atoms":
            atoms = problem.atoms.prox(atoms - tau_atoms * state.gradient_atoms, tau_atoms)
        if self.fixed != "coefficients":
            coefficients = problem.coefficients.prox(
                coefficients - tau_coefficients * state.gradient_coefficients, tau_coefficients
            )
        ahead_atoms = 2 * atoms - state.atoms
        ahead_coefficients = 2 * coefficients - state.coefficients
        extrapolated = operator.forward(ahead_coefficients, ahead_atoms)
        dual = base.prox_conjugate(problem.barrier, state.dual + sigma * extrapolated, sigma)
        split_atoms = _ascend(problem.atoms, state.split_atoms, ahead_atoms, tau_atoms)
        split_coefficients = _ascend(
            problem.coefficients, state.split_coefficients, ahead_coefficients, tau_coefficients
        )
        image = operator.forward(coefficients, atoms)
        return self._point(
            atoms, coefficients, dual, split_atoms, split_coefficients, image, extrapolated, steps
        )

    def objective(self, state: _State) -> float:
        return self.problem.objective_from(
            state.coefficients, state.atoms, state.energies, state.image
        )

    def residuals(self, before: _State, after: _State) -> dict[str, float]:
        """Relative distance from optimality in each variable, at the new point.

        Each is a subgradient at the new point, so all vanish together only where it is
        stationary, whatever the step sizes; a small step alone would not show that.
        """
        tau_atoms, tau_coefficients, sigma = after.steps
        found = {}
        if self.fixed != "atoms":
            gap = (before.atoms - after.atoms) / tau_atoms
            gap += after.gradient_atoms - before.gradient_atoms
            fit = np.linalg.norm(before.gradient_atoms) + np.linalg.norm(after.gradient_atoms)
            found["atoms"] = _relative(np.linalg.norm(gap), fit)
        if self.fixed != "coefficients":
            gap = (before.coefficients - after.coefficients) / tau_coefficients
            gap += after.gradient_coefficients - before.gradient_coefficients
            found["coefficients"] = _relative(
                np.linalg.norm(self.root_weights * gap),
                np.linalg.norm(self.root_weights * after.energies),
            )
        gap = (before.dual - after.dual) / sigma + after.extrapolated - after.image
        found["dual"] = _relative(np.linalg.norm(gap), np.linalg.norm(after.image))
        for name, tau in (("atoms", tau_atoms), ("coefficients", tau_coefficients)):
            old, new = getattr(before, name), getattr(after, name)
            duals = getattr(before, f"split_{name}"), getattr(after, f"split_{name}")
            if self.fixed != name and duals[0]:
                step = _split_step(tau, len(duals[0]))
                gaps = [(y - y_new) / step + new - old for y, y_new in zip(*duals, strict=True)]
                found[f"split_{name}"] = _relative(np.linalg.norm(gaps), np.linalg.norm(new))
        return found

    def balance(self, residuals: dict[str, float], objective: float) -> None:
        """Move ``sigma`` towards equal primal and dual residuals, ever more gently."""
        if self.given[2] is not None:
            return
        primal = max(residuals.get("atoms", 0.0), residuals.get("coefficients", 0.0))
        factor = 1 + self.patience
        if residuals["dual"] > 2 * primal or not np.isfinite(objective):
            self.sigma = float(self.sigma or 1.0) * factor
        elif primal > 2 * residuals["dual"]:
            self.sigma = float(self.sigma or 1.0) / factor
        self.patience *= 0.97

    def retreat(self, best: _State) -> _State:
        """After overflow or a leap to zero: back to the best point, with half the primal steps."""
        self.caution *= 0.5
        return replace(best, dual=np.nan_to_num(best.dual))


def _ascend(
    group: TermGroup, duals: Sequence[NDArray], ahead: NDArray, tau: float
) -> tuple[NDArray, ...]:
    """Dual steps of the split-off terms, whose operator is the identity."""
    if not duals:
        return ()
    sigma = _split_step(tau, len(duals))
    return tuple(
        group.prox_conjugate(term, dual + sigma * ahead, sigma)
        for term, dual in zip(group.split, duals, strict=True)
    )


def _split_step(tau: float, count: int) -> float:
    """Dual step of each of ``count`` split-off terms: together they fill half of ``1 / tau``."""
    return 0.5 / (tau * count)


def _relative(size: Any, reference: Any) -> float:
    """``size`` against ``reference``; absolute where there is nothing to compare with."""
    return float(size / reference) if reference > 0 else float(size)
