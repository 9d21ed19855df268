"""Fit soft coefficients under a filter and tails: descent in atoms and coefficients together.

Energies are not linear in the weights, so the multiplicative and primal-dual updates of the paper's
model do not apply. The objective is smooth, though, and its constraints are bounds: L-BFGS-B takes
atoms and coefficients at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from graphdict.core.annotations import Floats, Integers
from graphdict.core.marginal.spectra import reduced_laplacians
from graphdict.core.solvers.base import Callback, History, Progress, Solution
from graphdict.core.solvers.filtered_objective import Evaluation, FilteredObjective

MEMORY = 20  # steps that L-BFGS-B remembers
SUFFICIENT, SHORTER = 1e-4, 0.25  # decrease that a step must bring, and what follows if it does not
SHORTEST, LONGEST = 1e-14, 1.0


class Penalties(NamedTuple):
    """Strengths of the penalties: L1 on atoms and coefficients, and on edges that atoms share."""

    alpha_w: float = 0.0
    alpha_c: float = 0.0
    alpha_orth: float = 0.0

    def evaluate(
        self, objective: FilteredObjective, atoms: Floats, coefficients: Floats
    ) -> Evaluation:
        """Return the penalised cost of a sample, and its gradients."""
        found = objective.evaluate(atoms, coefficients)
        shares = objective.counts[:, None] / objective.counts.sum()
        others = atoms.sum(axis=0) - atoms
        value = found.value + self.alpha_w * float(atoms.sum())
        value += self.alpha_orth / 2 * float((others * atoms).sum())
        value += self.alpha_c * float((shares * coefficients).sum())
        in_atoms = found.in_atoms + self.alpha_w + self.alpha_orth * others
        return Evaluation(value, in_atoms, found.in_coefficients + self.alpha_c * shares)


def filtered_descent(
    objective: FilteredObjective,
    atoms: Floats,
    coefficients: Floats,
    penalties: Penalties,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Solution:
    """Minimise over atoms (K, E) of any size and coefficients (windows, K) in [0, 1].

    Parameters
    ----------
    objective : FilteredObjective
    atoms, coefficients : arrays (K, E) and (windows, K)
        Where to begin.
    penalties : Penalties
    max_iter : int
        Largest number of iterations.
    tol : float
        Relative decrease of the objective in an iteration at which to stop.
    callback : callable, optional
        Called with a :class:`graphdict.solvers.Progress` after each iteration; True stops.

    Returns
    -------
    Solution
    """
    samples = int(objective.counts.sum())
    # A coefficient touches one window, a weight all of them: in these units they curve alike.
    unit = (float(atoms.mean()) or 1.0) / np.sqrt(samples)

    def unpack(point: Floats) -> tuple[Floats, Floats]:
        weights = point[: atoms.size].reshape(atoms.shape) * unit
        return weights, point[atoms.size :].reshape(coefficients.shape)

    def cost(point: Floats) -> tuple[float, Floats]:
        if not np.isfinite(point).all():
            raise FloatingPointError
        found = penalties.evaluate(objective, *unpack(point))
        slopes = np.concatenate([unit * found.in_atoms.ravel(), found.in_coefficients.ravel()])
        return samples * found.value, samples * slopes

    best = np.concatenate([atoms.ravel() / unit, coefficients.ravel()])
    values, history, end = [cost(best)[0] / samples], History(), {}

    def after(*, intermediate_result: Any) -> None:
        weights, shown = unpack(intermediate_result.x)
        if not (shown @ weights).any():
            raise FloatingPointError
        best[:] = intermediate_result.x
        values.append(float(intermediate_result.fun) / samples)
        change = (values[-2] - values[-1]) / max(abs(values[-1]), 1.0)
        history.add(values[-1], {"objective": change})
        if callback is not None:
            progress = Progress(len(values) - 1, values[-1], change, *unpack(best))
            if callback(progress):
                end["stopped"] = True
                raise StopIteration

    bounds = [(0, None)] * atoms.size + [(0, 1)] * coefficients.size
    options = {"maxiter": max_iter, "maxfun": 4 * max_iter, "maxcor": MEMORY, "ftol": tol}
    converged = False
    try:
        minimize(
            cost, best.copy(), jac=True, method="L-BFGS-B", bounds=bounds, callback=after,
            options=options,
        )  # fmt: skip
        converged = len(history.objective) < max_iter
    except FloatingPointError:
        pass  # a step to where no graph has an edge, whose cost is infinite: the one before is best
    except KeyboardInterrupt:
        end["interrupted"] = True
    weights, shown = unpack(best)
    return Solution(
        weights, lambda: shown, lambda: None, objective=values[-1], history=history,
        n_iter=len(history.objective), converged=converged, **end,
    )  # fmt: skip


def code_filtered(
    objective: FilteredObjective, atoms: Floats, alpha_c: float, *, max_iter: int, tol: float
) -> tuple[Floats, float]:
    """Find the coefficients of greatest density for given atoms (K, E), window by window.

    Projected gradient with steps of Barzilai and Borwein, each shortened until its window's cost
    falls; windows that are done are left out.

    Returns
    -------
    coefficients : array (windows, K)
    residual : float
        The largest change that a step of length 1 along the gradient, per sample, would make.
    """
    flat = reduced_laplacians(atoms).reshape(len(atoms), -1)
    found = np.full((len(objective.counts), len(atoms)), 1 / len(atoms))
    worst = 0.0
    for rows in objective.blocks():
        part = replace(objective, windows=objective.windows[rows], counts=objective.counts[rows])
        found[rows], residual = _code_windows(
            part, flat, found[rows], alpha_c=alpha_c, max_iter=max_iter, tol=tol
        )
        worst = max(worst, residual)
    return found, worst


def _code_windows(
    objective: FilteredObjective, flat: Floats, point: Floats, *, alpha_c: float, max_iter: int,
    tol: float,
) -> tuple[Floats, float]:  # fmt: skip
    """Return coefficients (B, K) of windows, and the largest residual."""

    def cost(which: Integers, at: Floats) -> tuple[Floats, Floats]:
        counts = objective.counts[which]
        part = replace(objective, windows=objective.windows[which], counts=counts)
        costs, derivatives = part.costs(at @ flat)
        slopes = derivatives.reshape(len(at), -1) @ flat.T
        return costs / counts + alpha_c * at.sum(axis=1), slopes / counts[:, None] + alpha_c

    active = np.arange(len(point))
    point = point.copy()
    values, slopes = cost(active, point)
    lengths = 1 / np.maximum(np.abs(slopes).max(axis=1), 1e-300)
    residuals = np.abs(np.clip(point - slopes, 0, 1) - point).max(axis=1)
    for _ in range(max_iter):
        active = np.flatnonzero((residuals > tol) & (lengths > SHORTEST))
        if not len(active):
            break
        trial = np.clip(point[active] - lengths[active, None] * slopes[active], 0, 1)
        moves = trial - point[active]
        new_values, new_slopes = cost(active, trial)
        enough = values[active] + SUFFICIENT * (slopes[active] * moves).sum(axis=1)
        good = new_values <= enough
        lengths[active[~good]] *= SHORTER
        taken, moves = active[good], moves[good]
        curved = (moves * (new_slopes[good] - slopes[taken])).sum(axis=1)
        squares = np.square(moves).sum(axis=1)
        longest = LONGEST / np.maximum(np.abs(new_slopes[good]).max(axis=1), 1e-300)
        lengths[taken] = np.where(curved > 0, squares / np.where(curved > 0, curved, 1), longest)
        point[taken], values[taken], slopes[taken] = trial[good], new_values[good], new_slopes[good]
        residuals[taken] = np.abs(np.clip(point[taken] - slopes[taken], 0, 1) - point[taken]).max(
            axis=1
        )
    return point, float(residuals.max())
