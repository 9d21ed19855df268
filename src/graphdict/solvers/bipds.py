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

Here is the iteration; :mod:`graphdict.solvers.steps` keeps the step sizes and
:mod:`graphdict.solvers.points` evaluates gradients, objective and residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem, TermGroup
from graphdict.solvers.base import Callback, History, Progress, Solution, warn_interrupted
from graphdict.solvers.blocks import Blocks, parallel_blocks, row_blocks
from graphdict.solvers.points import Evaluator, Point
from graphdict.solvers.steps import Steps, split_step
from graphdict.terms import base

__all__ = ["bipds"]


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
    check_every: int = 10,
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
        A variable to hold at its start. The problem is then convex, if its terms are.
    max_iter, tol
        Stop after ``max_iter`` iterations, or once the relative residuals of the optimality
        conditions in ``W``, ``Delta`` and ``Y`` are all below ``tol``.
    tau_atoms, tau_coefficients, sigma : float, optional
        Step sizes; by default they follow the norms of the operator at the current point.
    check_every : int, default=10
        Iterations between two checks, at which objective and residuals are evaluated, entered in
        the history and shown to the callback. The last iteration is always checked.
    callback : callable, optional
        Called with a :class:`Progress` at each check; returning True stops.

    Returns
    -------
    Solution
        The checked iterate of the lowest objective, with the dual that goes with it.
    """
    if fixed not in (None, "atoms", "coefficients"):
        raise ValueError(f"fixed must be 'atoms', 'coefficients' or None, got {fixed!r}")
    image_bytes = problem.operator.forward(coefficients[:1], atoms).nbytes
    slices = row_blocks(len(coefficients), image_bytes * len(atoms))
    history = History()
    iteration, converged, interrupted, stopped = 0, False, False, False
    with parallel_blocks(slices) as blocks:
        given = (tau_atoms, tau_coefficients, sigma)
        run = _Run(problem, fixed, blocks, given, coefficients, atoms, dual)
        point = run.start
        best = point.snapshot()
        try:
            for iteration in range(1, max_iter + 1):
                check = iteration % check_every == 0 or iteration == max_iter
                following = run.step(point, check)
                if not check:
                    point = following
                    continue
                # Where both variables are zero, neither has a gradient to leave by.
                collapsed = np.isfinite(best.objective) and not (
                    following.atoms.any() or following.coefficients.any()
                )
                if collapsed or not following.is_finite():
                    point = run.retreat(best)
                    continue
                residuals = run.evaluator.residuals(point, following)
                point = following
                history.add(point.objective, residuals, iteration)
                converged = history.residual[-1] <= tol
                if point.objective <= best.objective or (
                    converged and np.isfinite(point.objective)
                ):
                    best = point.snapshot()
                progress = Progress(
                    iteration, point.objective, history.residual[-1], point.atoms,
                    point.coefficients,
                )  # fmt: skip
                stopped = callback is not None and bool(callback(progress))
                if converged or stopped:
                    break
                run.steps.balance(residuals, point.objective)
                run.steps.calm(history.residual)
        except KeyboardInterrupt:
            interrupted = True
            warn_interrupted(iteration)
    return Solution(
        best.atoms, best.coefficients, best.dual, best.objective, history, iteration,
        converged, interrupted, stopped,
    )  # fmt: skip


class _Run:
    """One call: the starting point, the step from a point to the next, and the way back."""

    def __init__(
        self,
        problem: Problem,
        fixed: str | None,
        blocks: Blocks,
        given: tuple[float | None, float | None, float | None],
        coefficients: NDArray,
        atoms: NDArray,
        dual: NDArray | None,
    ):
        self.problem = problem
        self.fixed = fixed
        self.evaluator = Evaluator(problem, fixed, blocks, coefficients, atoms)
        image = problem.operator.forward(coefficients, atoms)
        if dual is None:
            sigma, dual = _first_dual(problem, image)
        else:
            sigma = _ratio(dual, image)
        self.steps = Steps(
            problem, fixed, given, sigma, self.evaluator.root_weights, coefficients, atoms
        )
        self.buffers = [np.array(dual), np.empty_like(dual)]
        start = Point(
            atoms, coefficients, self.buffers[0],
            tuple(np.zeros_like(atoms) for _ in problem.atoms.split),
            tuple(np.zeros_like(coefficients) for _ in problem.coefficients.split),
            np.empty_like(atoms), np.empty_like(coefficients), (1.0, 1.0, self.steps.sigma),
        )  # fmt: skip
        self.start = self.evaluator.evaluate(start, check=True)

    def step(self, point: Point, check: bool) -> Point:
        """One iteration of Algorithm 1."""
        problem = self.problem
        atoms, coefficients = point.atoms, point.coefficients
        steps = tau_atoms, tau_coefficients, _ = self.steps.at(coefficients, atoms)
        if self.fixed != "atoms":
            atoms = problem.atoms.prox(atoms - tau_atoms * point.gradient_atoms, tau_atoms)
        if self.fixed != "coefficients":
            coefficients = problem.coefficients.prox(
                coefficients - tau_coefficients * point.gradient_coefficients, tau_coefficients
            )
        ahead = (2 * coefficients - point.coefficients, 2 * atoms - point.atoms)
        split_atoms = _ascend(problem.atoms, point.split_atoms, ahead[1], tau_atoms)
        split_coefficients = _ascend(
            problem.coefficients, point.split_coefficients, ahead[0], tau_coefficients
        )
        other = self.buffers[1] if point.dual is self.buffers[0] else self.buffers[0]
        following = replace(
            point, atoms=atoms, coefficients=coefficients, dual=other, split_atoms=split_atoms,
            split_coefficients=split_coefficients, steps=steps,
        )  # fmt: skip
        return self.evaluator.evaluate(following, check, point.dual, ahead)

    def retreat(self, best: Point) -> Point:
        """After overflow or a leap to zero: back to the best point, with half the primal steps."""
        self.steps.caution *= 0.5
        self.buffers[0][...] = np.nan_to_num(best.dual)
        return replace(best, dual=self.buffers[0])


def _first_dual(problem: Problem, image: NDArray) -> tuple[float, NDArray]:
    """The ``sigma`` at which ``Y = prox_{sigma h*}(sigma A)`` has the size of ``sigma A``."""
    sigma, some = 1.0, image[:: max(1, len(image) // 1000)]
    for _ in range(20):
        sigma = _ratio(base.prox_conjugate(problem.barrier, sigma * some, sigma), some)
    return sigma, base.prox_conjugate(problem.barrier, sigma * image, sigma)


def _ratio(dual: NDArray, image: NDArray) -> float:
    return float(np.linalg.norm(dual)) / (float(np.linalg.norm(image)) or 1.0) or 1.0


def _ascend(
    group: TermGroup, duals: Sequence[NDArray], ahead: NDArray, tau: float
) -> tuple[NDArray, ...]:
    """Dual steps of the split-off terms, whose operator is the identity."""
    if not duals:
        return ()
    sigma = split_step(tau, len(duals))
    return tuple(
        group.prox_conjugate(term, dual + sigma * ahead, sigma)
        for term, dual in zip(group.split, duals, strict=True)
    )
