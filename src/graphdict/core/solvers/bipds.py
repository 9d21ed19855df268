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

Here is the iteration; :mod:`graphdict.core.solvers.step_sizes` keeps the step sizes,
:mod:`graphdict.core.solvers.points` says how far from optimal a point is, and
:mod:`graphdict.core.solvers.primal_dual` holds the steps that an executor runs on blocks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.protocols import Backend, BlockStates, CompiledRun, Executor
from graphdict.core.solvers import primal_dual
from graphdict.core.solvers.base import (
    Callback,
    History,
    Progress,
    Solution,
    in_precision,
    signal_precision,
    warn_interrupted,
)
from graphdict.core.solvers.points import Point, residuals
from graphdict.core.solvers.primal_dual import PassMessage, PassSums
from graphdict.core.solvers.step_sizes import NO_SIGMA, StepSizes, first_dual, first_sigma

PACKED = (
    "iteration", "atoms", "split_atoms", "steps", "lipschitz", "gradient_atoms", "objective",
)  # fmt: skip


def bipds(
    executor: Executor,
    coefficients: Floats | BlockStates,
    atoms: Floats,
    *,
    dual: Floats | None = None,
    fixed: str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-4,
    tau_atoms: float | None = None,
    tau_coefficients: float | None = None,
    sigma: float | None = None,
    check_every: int = 10,
    last_iterate: bool = False,
    callback: Callback | None = None,
    stage: Any = None,
) -> Solution:
    """Minimise the problem of an executor from a starting point, and return the best iterate.

    With ``last_iterate`` return the last one, as Algorithm 1 prints it, and never turn back; where
    it overflows, the last that does not, whose objective is then NaN.

    Coefficients (T, K) may be states of the executor. ``stage`` of a checkpoint keeps what an
    interrupted run needs to go on; all else is as in :func:`graphdict.solvers.bipds`, which opens
    an executor for a problem.
    """
    if fixed not in (None, "atoms", "coefficients"):
        raise ValueError(f"fixed must be 'atoms', 'coefficients' or None, got {fixed!r}")
    executor.problem.check_priors(atoms.shape, fixed)
    converged, interrupted, stopped = False, False, False
    atoms = signal_precision(atoms, executor.problem)
    run = _Run(executor, fixed, (tau_atoms, tau_coefficients, sigma))
    if stage is None or stage.saved is None:
        point, history = run.start(coefficients, atoms, dual), History()
        best = point
    else:
        point, best, history = run.restore(stage.saved)
    iteration = point.iteration
    try:
        while iteration < max_iter:
            due = min(iteration + check_every - iteration % check_every, max_iter)
            point = run.iterate_until(point, due - 1)
            iteration = due
            following = run.step(point, check=True)
            # Where both variables are zero, neither has a gradient to leave by.
            collapsed = np.isfinite(best.objective) and not (
                following.atoms.any() or following.sums.squared_coefficients
            )
            if last_iterate and not following.is_finite():
                best = replace(best, objective=np.nan)
                break
            if not last_iterate and (collapsed or not following.is_finite()):
                point = replace(run.restart_from_best(best), iteration=iteration)
                continue
            gaps = residuals(run.problem, fixed, point, following)
            point = run.persist(following)
            history.add(point.objective, gaps, iteration)
            converged = history.residual[-1] <= tol
            if (last_iterate or point.objective <= best.objective) or (
                converged and np.isfinite(point.objective)
            ):
                best = point
            progress = Progress(
                iteration, point.objective, history.residual[-1], point.atoms,
                partial(run.read, point, "coefficients"),
            )  # fmt: skip
            stopped = callback is not None and bool(callback(progress))
            if converged or stopped:
                break
            run.steps.balance(gaps, point.objective)
            run.steps.halve_if_stuck(history.residual)
            if stage is not None:
                stage.offer(partial(run.save, point, best, run.steps.save(), history))
    except KeyboardInterrupt:
        interrupted = True
        warn_interrupted(iteration)
    return Solution(
        best.atoms, partial(run.read, best, "coefficients"), partial(run.read, best, "dual"),
        objective=best.objective, history=history, n_iter=iteration,
        converged=converged, interrupted=interrupted, stopped=stopped,
    )  # fmt: skip


class _Run:
    """State and steps of one call of :func:`bipds`."""

    def __init__(self, executor: Executor, fixed: str | None, given: tuple[Any, ...]):
        self.executor = executor
        self.problem = executor.problem
        self.linear = self.problem.linear
        self.fixed = fixed
        self.given = (*given[:2], NO_SIGMA if given[2] == 0 else given[2])
        self.distances: list[Floats] = []  # (p Delta)' Z of fixed coefficients, none of others
        self.held_value: float | None = None  # of priors that tie samples, at fixed coefficients
        self.steps: StepSizes
        # Priors that tie samples together move the coefficients of all samples at once, here.
        self.coupled = fixed != "coefficients" and not self.problem.coefficient_priors.separable
        boxes = self.problem.atom_priors.box, self.problem.coefficient_priors.box
        # A compiled loop takes a given step of zero for one that is not given.
        self.boxes = None if fixed is not None or None in boxes or 0 in given else boxes

    def start(self, coefficients: Floats | BlockStates, atoms: Floats, dual: Any) -> Point:
        """Return the starting point, with its gradients and objective."""
        problem, executor = self.problem, self.executor
        states = executor.scatter(in_precision(coefficients, atoms))
        if dual is None:
            duals, sigma = first_dual(executor, states, atoms, self.given[2])
        else:
            duals = executor.scatter(in_precision(dual, atoms))
            sigma = first_sigma(executor, states, duals, atoms)
        if self.fixed == "coefficients":
            self._cache_fixed_coefficients(states)
        extra, value, lipschitz = executor.scatter(None), None, 0.0
        if self.coupled:
            group, whole = problem.coefficient_priors, executor.gather(states)
            extra = executor.scatter(_broadcast_like(whole, group.gradient(whole)))
            value, lipschitz = group.value(whole), group.lipschitz(whole)
        message = PassMessage(
            atoms, extrapolated=atoms, tau=1.0, sigma=sigma, check=True, fixed=self.fixed
        )
        states, found = executor.map_blocks(
            primal_dual.initial_step, [states, duals, extra], message
        )
        sums, atom_images = PassSums(*found), self.problem.atom_images(atoms)
        self.steps = StepSizes(
            problem, atoms, np.asarray(sums.gram),
            atom_images=atom_images, fixed=self.fixed, given=self.given, sigma=sigma,
        )  # fmt: skip
        split_atoms = tuple(np.zeros_like(atoms) for _ in problem.atom_priors.split)
        return Point(
            iteration=0, atoms=atoms, split_atoms=split_atoms, states=states,
            steps=(1.0, 1.0, self.steps.sigma), lipschitz=lipschitz,
            gradient_atoms=self._gradient_atoms(atoms, split_atoms, sums), sums=sums,
            atom_images=atom_images, objective=self._objective(atoms, sums, value),
        )  # fmt: skip

    def _cache_fixed_coefficients(self, states: BlockStates) -> None:
        """Cache ``(p Delta)' Z`` and the value of coupled priors, for fixed coefficients."""
        self.distances = [*self.executor.map_blocks(_distances, [states])[1]]
        group = self.problem.coefficient_priors
        if not group.separable:
            self.held_value = group.value(self.executor.gather(states))

    def iterate_until(self, point: Point, until: int) -> Point:
        """Take iterations without checks, up to number ``until``, and return the point there."""
        while point.iteration < until:
            further = None if self.boxes is None else self._run_compiled(point, until)
            point = self.step(point, check=False) if further is None else further
        return point

    def _run_compiled(self, point: Point, until: int) -> Point | None:
        """Take iterations in one compiled loop; return None where the backend has none."""
        assert self.boxes is not None
        run = CompiledRun(
            until - point.iteration, point.atoms, point.atom_images, point.gradient_atoms,
            point.sums.gram, self.boxes, lambda: self.steps.rules(self.linear.norm),
        )  # fmt: skip
        found = self.executor.iterate(point.states, run)
        if found is None:
            return None
        return replace(
            point, iteration=point.iteration + found.done, atoms=found.atoms, states=found.states,
            steps=(found.tau_atoms, found.tau_coefficients, self.steps.sigma),
            gradient_atoms=found.gradient_atoms, sums=PassSums(0.0, found.gram),
            atom_images=found.atom_images, objective=np.nan,
        )  # fmt: skip

    def step(self, point: Point, check: bool) -> Point:
        """Take one iteration of Algorithm 1 and return the next point."""
        problem, executor = self.problem, self.executor
        steps = self.steps.at(point.sums.gram, point.atoms, point.atom_images, point.lipschitz)
        tau_atoms, tau, sigma = steps
        atoms = point.atoms
        if self.fixed != "atoms":
            atoms = primal_dual.primal_step(
                problem.atom_priors, atoms, point.gradient_atoms, tau_atoms
            )
        extrapolated = 2 * atoms - point.atoms
        split_atoms = primal_dual.ascend_split_duals(
            problem.atom_priors, point.split_atoms, extrapolated, tau_atoms
        )
        atom_images = problem.atom_images(atoms)
        extrapolated_atom_images = None
        if atom_images is not None and point.atom_images is not None:
            extrapolated_atom_images = 2 * atom_images - point.atom_images
        message = PassMessage(
            atoms, extrapolated, tau=tau, sigma=sigma, check=check, fixed=self.fixed,
            atom_images=atom_images, extrapolated_atom_images=extrapolated_atom_images,
        )  # fmt: skip
        value, lipschitz = None, 0.0
        if self.coupled:
            group = problem.coefficient_priors
            together = executor.gather(point.states, primal_dual.movable_arrays)
            count = 2 + len(group.split)
            old, gradient, *split_duals = np.split(together, count, axis=1)
            moved = primal_dual.coefficient_step(group, old, gradient, split_duals, tau=tau)
            lipschitz = group.lipschitz(moved.coefficients)
            value = group.value(moved.coefficients) if check else None
            coefficients = in_precision(moved.coefficients, atoms)
            extra = _broadcast_like(coefficients, moved.extra)
            arrays = coefficients, extra, *moved.split_duals
            columns = [point.states, *map(executor.scatter, arrays)]
            states, found = executor.map_blocks(primal_dual.coupled_step, columns, message)
        else:
            states, found = executor.map_blocks(primal_dual.separable_step, [point.states], message)
        sums = PassSums(*found)
        return Point(
            iteration=point.iteration + 1, atoms=atoms, split_atoms=split_atoms, states=states,
            steps=steps, lipschitz=lipschitz,
            gradient_atoms=self._gradient_atoms(atoms, split_atoms, sums), sums=sums,
            atom_images=atom_images,
            objective=self._objective(atoms, sums, value) if check else np.nan,
        )  # fmt: skip

    def _gradient_atoms(
        self, atoms: Floats, split_atoms: tuple[Floats, ...], sums: PassSums
    ) -> Floats:
        """Return the gradient in the atoms (K, E), from the sums of a pass over the samples."""
        if self.fixed == "atoms":
            return np.zeros_like(atoms)
        gradient = sums.gradient_atoms + self.problem.atom_priors.gradient(atoms)
        for part in (*self.distances, *split_atoms):
            gradient = gradient + part
        if self.linear is not None and isinstance(sums.mixed_dual, np.ndarray):
            gradient = gradient + self.linear.adjoint(sums.mixed_dual)
        result: Floats = gradient
        return result

    def _objective(self, atoms: Floats, sums: PassSums, tied_value: float | None) -> float:
        """Return the objective; ``tied_value`` is that of priors which tie samples together."""
        objective = sums.value + self.problem.atom_priors.value(atoms)
        tied_value = self.held_value if tied_value is None else tied_value
        objective += 0.0 if tied_value is None else tied_value / self.problem.total
        return np.inf if np.isnan(objective) else objective  # terms that overflow

    def restart_from_best(self, best: Point) -> Point:
        """Return to the best point after overflow or collapse to zero; halve the primal steps."""
        self.steps.primal_factor *= 0.5
        return replace(
            best, states=self.executor.map_blocks(primal_dual.without_overflow, [best.states])[0]
        )

    def persist(self, point: Point) -> Point:
        return replace(point, states=self.executor.persist(point.states)[0])

    def save(
        self, point: Point, best: Point, steps: dict[str, Any], history: History
    ) -> dict[str, Any]:
        """Return the state of the run for a checkpoint, from which :meth:`restore` continues."""
        return {
            "point": self._packed(point), "best": None if best is point else self._packed(best),
            "steps": steps, "history": history.entries_until(point.iteration),
        }  # fmt: skip

    def restore(self, saved: dict[str, Any]) -> tuple[Point, Point, History]:
        point = self._unpacked(saved["point"])
        best = point if saved["best"] is None else self._unpacked(saved["best"])
        self.steps = StepSizes(
            self.problem, point.atoms, point.sums.gram,
            atom_images=point.atom_images, fixed=self.fixed, given=self.given,
        )  # fmt: skip
        self.steps.restore(saved["steps"])
        if self.fixed == "coefficients":
            self._cache_fixed_coefficients(self.executor.scatter(saved["point"]["samples"][1]))
        return point, best, History.from_entries(saved["history"])

    def _packed(self, point: Point) -> dict[str, Any]:
        if self.fixed == "coefficients":
            samples = [self.read(point, "coefficients")]
        else:
            together = self.executor.gather(point.states, primal_dual.movable_arrays)
            samples = np.split(together, 2 + len(self.problem.coefficient_priors.split), axis=1)
        return {
            **{name: getattr(point, name) for name in PACKED}, "sums": list(point.sums),
            "samples": [self.read(point, "dual"), *samples],
        }  # fmt: skip

    def _unpacked(self, saved: dict[str, Any]) -> Point:
        columns = [self.executor.scatter(array) for array in saved["samples"]]
        states, _ = self.executor.map_blocks(
            primal_dual.restore, columns, saved["atoms"], self.fixed
        )
        found = {name: saved[name] for name in PACKED}
        found["split_atoms"], found["steps"] = tuple(found["split_atoms"]), tuple(found["steps"])
        found["atom_images"] = self.problem.atom_images(found["atoms"])
        return Point(**found, states=states, sums=PassSums(*saved["sums"]))

    def read(self, point: Point, name: str) -> Floats:
        """Return the array ``name`` of a point's states, for all samples."""
        return self.executor.gather(point.states, attrgetter(name))


# Steps ----------------------------------------------------------------------------------------


def _distances(backend: Backend, rows: slice, coefficients: Floats) -> Any:
    return None, (backend.problem.weighted_distances(rows, coefficients),)


def _broadcast_like(coefficients: Floats, values: Any) -> Floats:
    return np.broadcast_to(np.asarray(values, dtype=coefficients.dtype), coefficients.shape)
