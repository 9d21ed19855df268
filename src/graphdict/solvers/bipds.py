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

The dual step at the new point and the gradients there need the same samples, so one pass over
blocks of them serves both (see :mod:`graphdict.solvers.blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem, TermGroup
from graphdict.solvers.base import Callback, History, Progress, Solution, warn_interrupted
from graphdict.solvers.blocks import Blocks, parallel_blocks, row_blocks
from graphdict.terms import base

__all__ = ["bipds"]

SAFETY = 0.99
PATIENCE = 20  # checks over which residuals must fall, or the steps are halved
MIN_NORM = 1e-2  # norms never fall below this share of their start, so no step can explode


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
        A variable to hold at its start. The problem is then convex.
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
    iteration, converged, interrupted = 0, False, False
    with parallel_blocks(slices) as blocks:
        run = _Run(problem, fixed, (tau_atoms, tau_coefficients, sigma), blocks)
        point = run.start(coefficients, atoms, dual)
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
                residuals = run.residuals(point, following)
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
                if converged or (callback is not None and callback(progress)):
                    break
                run.balance(residuals, point.objective)
                run.calm(history.residual)
        except KeyboardInterrupt:
            interrupted = True
            warn_interrupted(iteration)
    return Solution(
        best.atoms, best.coefficients, best.dual, best.objective, history, iteration,
        converged, interrupted,
    )  # fmt: skip


@dataclass(frozen=True)
class _Point:
    """One point of the iteration and what was computed there."""

    atoms: NDArray
    coefficients: NDArray
    dual: NDArray
    split_atoms: tuple[NDArray, ...]  # duals of the terms that have no direct prox
    split_coefficients: tuple[NDArray, ...]
    gradient_atoms: NDArray  # of everything but the direct proxes, dual included
    gradient_coefficients: NDArray
    steps: tuple[float, float, float]  # that led here
    objective: float = np.nan  # this and the sizes below only where it was checked
    image_size: float = np.nan
    energy_size: float = np.nan
    dual_gap: float = np.nan

    def is_finite(self) -> bool:
        arrays = (self.atoms, self.gradient_atoms, self.gradient_coefficients, self.dual)
        return all(bool(np.isfinite(array).all()) for array in arrays)

    def snapshot(self) -> _Point:
        """With a dual of its own: the buffer of an iterate is reused two iterations later."""
        return replace(self, dual=self.dual.copy())


class _Run:
    """One call: the steps in force, the buffers, and the pass over the blocks."""

    def __init__(
        self, problem: Problem, fixed: str | None, given: tuple[float | None, ...], blocks: Blocks
    ):
        self.problem = problem
        self.fixed = fixed
        self.given = given
        self.blocks = blocks
        self.patience = 1.0  # how much sigma may still be rebalanced
        self.caution = 1.0  # shrinks the primal steps after a divergence
        self.checks_at_this_pace = 0
        self.energies: NDArray | None = None  # of fixed atoms
        self.distances: NDArray | None = None  # of fixed coefficients

    def start(self, coefficients: NDArray, atoms: NDArray, dual: NDArray | None) -> _Point:
        problem = self.problem
        self.weights = problem.weights.astype(coefficients.dtype)[:, None]
        self.root_weights = np.sqrt(self.weights)
        image = problem.operator.forward(coefficients, atoms)
        size = float(np.linalg.norm(image)) or 1.0
        sigma = 1.0 if dual is None else float(np.linalg.norm(dual)) / size or 1.0
        if dual is None:
            # The sigma at which Y = prox_{sigma h*}(sigma A) has the size of sigma A.
            some = image[:: max(1, len(image) // 1000)]
            for _ in range(20):
                dual = base.prox_conjugate(problem.barrier, sigma * some, sigma)
                sigma = float(np.linalg.norm(dual)) / (float(np.linalg.norm(some)) or 1.0) or 1.0
            dual = base.prox_conjugate(problem.barrier, sigma * image, sigma)
        assert dual is not None
        self.sigma = self.given[2] or sigma
        self.buffers = [np.array(dual), np.empty_like(dual)]
        if self.fixed == "atoms":
            self.energies = problem.fit.energies(atoms)
        if self.fixed == "coefficients":
            self.distances = problem.fit.weighted_distances(self.weights * coefficients)
        self.floors = tuple(MIN_NORM * norm for norm in self._norms(coefficients, atoms))
        return self._pass(
            _Point(
                atoms, coefficients, self.buffers[0],
                tuple(np.zeros_like(atoms) for _ in problem.atoms.split),
                tuple(np.zeros_like(coefficients) for _ in problem.coefficients.split),
                np.empty_like(atoms), np.empty_like(coefficients), (1.0, 1.0, self.sigma),
            ),
            check=True,
        )  # fmt: skip

    def _norms(self, coefficients: NDArray, atoms: NDArray) -> tuple[float, float]:
        operator = self.problem.operator
        return (
            operator.norm_atoms(self.root_weights * coefficients),
            operator.norm_coefficients(atoms),
        )

    def steps(self, point: _Point) -> tuple[float, float, float]:
        """``tau_w, tau_c, sigma`` by Condat's condition at the current point."""
        norms = self._norms(point.coefficients, point.atoms)
        norm_atoms, norm_coefficients = (max(*pair, 1e-30) for pair in zip(norms, self.floors))
        shares = 2 if self.fixed is None else 1
        bound_atoms = shares * self.sigma * norm_atoms**2
        bound_atoms += self.problem.atoms.lipschitz(point.atoms) / 2
        bound_coefficients = shares * self.sigma * norm_coefficients**2
        bound_coefficients += self.problem.coefficients.lipschitz(point.coefficients) / 2
        # The other half of 1 / tau is for the duals of the split-off terms, where there are any.
        bound_atoms *= 2 if self.problem.atoms.split else 1
        bound_coefficients *= 2 if self.problem.coefficients.split else 1
        return (
            self.given[0] or self.caution * SAFETY / bound_atoms,
            self.given[1] or self.caution * SAFETY / bound_coefficients,
            self.sigma,
        )

    def step(self, point: _Point, check: bool) -> _Point:
        """One iteration of Algorithm 1."""
        problem = self.problem
        steps = tau_atoms, tau_coefficients, _ = self.steps(point)
        atoms, coefficients = point.atoms, point.coefficients
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
        following = replace(
            point, atoms=atoms, coefficients=coefficients, dual=self._other_buffer(point),
            split_atoms=split_atoms, split_coefficients=split_coefficients, steps=steps,
        )  # fmt: skip
        return self._pass(following, check, point.dual, ahead)

    def _other_buffer(self, point: _Point) -> NDArray:
        return self.buffers[1] if point.dual is self.buffers[0] else self.buffers[0]

    def _pass(
        self,
        point: _Point,
        check: bool,
        before: NDArray | None = None,
        ahead: tuple[NDArray, NDArray] | None = None,
    ) -> _Point:
        """The dual step into ``point.dual`` (where there is one before), then all gradients.

        Block by block; only the gradient in the atoms and four numbers leave a block.
        """
        problem, operator, barrier = self.problem, self.problem.operator, self.problem.barrier
        gradient_coefficients = np.zeros_like(point.coefficients)
        sigma = point.steps[2]

        def visit(rows: slice) -> tuple[Any, ...]:
            coefficients, dual = point.coefficients[rows], point.dual[rows]
            extrapolated: Any = 0.0
            if before is not None and ahead is not None:
                extrapolated = operator.forward(ahead[0][rows], ahead[1])
                raised = before[rows] + sigma * extrapolated
                dual[...] = base.prox_conjugate(barrier, raised, sigma)
            if self.energies is None:
                energies = problem.fit.energies(point.atoms, rows)
            else:
                energies = self.energies[rows]
            if self.fixed != "coefficients":
                pull = energies + operator.adjoint_coefficients(dual, point.atoms)
                gradient_coefficients[rows] = pull
            gradient_atoms: Any = 0.0
            if self.fixed != "atoms":
                weighted = self.weights[rows] * coefficients
                gradient_atoms = operator.adjoint_atoms(weighted, dual)
                if self.distances is None:
                    gradient_atoms += problem.fit.weighted_distances(weighted, rows)
            if not check:
                return (gradient_atoms,)
            image = operator.forward(coefficients, point.atoms)
            value = problem.samples_value(rows, coefficients, energies, image)
            moved = 0.0 if before is None else (before[rows] - dual) / sigma
            gap = moved + extrapolated - image
            sizes = [_square(gap), _square(image), _square(self.root_weights[rows] * energies)]
            return (gradient_atoms, value, *sizes)

        parts = list(zip(*self.blocks.map(visit)))
        gradient_atoms = np.zeros_like(point.atoms)
        if self.fixed != "atoms":
            gradient_atoms = sum(parts[0][1:], parts[0][0])
            gradient_atoms += 0.0 if self.distances is None else self.distances
            gradient_atoms += problem.atoms.gradient(point.atoms)
            gradient_atoms += sum(point.split_atoms, 0.0)
        if self.fixed != "coefficients":
            gradient_coefficients += problem.coefficients.gradient(point.coefficients)
            gradient_coefficients += sum(point.split_coefficients, 0.0)
        found: dict[str, Any] = {}
        if check:
            priors = problem.priors_value(point.coefficients, point.atoms)
            value, gap, image, energy = (float(sum(part)) for part in parts[1:])
            found = {
                "objective": value + priors, "dual_gap": gap**0.5, "image_size": image**0.5,
                "energy_size": energy**0.5,
            }  # fmt: skip
        return replace(
            point, gradient_atoms=gradient_atoms, gradient_coefficients=gradient_coefficients,
            **found,
        )  # fmt: skip

    def residuals(self, before: _Point, after: _Point) -> dict[str, float]:
        """Relative distance from optimality in each variable, at the new point.

        Each is a subgradient at the new point, so all vanish together only where it is
        stationary, whatever the step sizes; a small step alone would not show that.
        """
        tau_atoms, tau_coefficients, _ = after.steps
        found = {"dual": _relative(after.dual_gap, after.image_size)}
        if self.fixed != "atoms":
            gap = (before.atoms - after.atoms) / tau_atoms
            gap += after.gradient_atoms - before.gradient_atoms
            fit = np.linalg.norm(before.gradient_atoms) + np.linalg.norm(after.gradient_atoms)
            found["atoms"] = _relative(np.linalg.norm(gap), fit)
        if self.fixed != "coefficients":
            gap = (before.coefficients - after.coefficients) / tau_coefficients
            gap += after.gradient_coefficients - before.gradient_coefficients
            size = np.linalg.norm(self.root_weights * gap)
            found["coefficients"] = _relative(size, after.energy_size)
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
            self.sigma *= factor
        elif primal > 2 * residuals["dual"]:
            self.sigma /= factor
        self.patience *= 0.97

    def calm(self, residual: list[float]) -> None:
        """Halve the primal steps where residuals have not fallen for long: the iterates circle."""
        self.checks_at_this_pace += 1
        if self.checks_at_this_pace < 2 * PATIENCE:
            return
        recent, earlier = min(residual[-PATIENCE:]), min(residual[:-PATIENCE])
        if recent > 0.9 * earlier:
            self.caution *= 0.5
            self.checks_at_this_pace = 0

    def retreat(self, best: _Point) -> _Point:
        """After overflow or a leap to zero: back to the best point, with half the primal steps."""
        self.caution *= 0.5
        self.buffers[0][...] = np.nan_to_num(best.dual)
        return replace(best, dual=self.buffers[0])


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


def _square(x: NDArray) -> float:
    return float(np.vdot(x, x))


def _relative(size: Any, reference: Any) -> float:
    """``size`` against ``reference``; absolute where there is nothing to compare with."""
    return float(size / reference) if reference > 0 else float(size)
