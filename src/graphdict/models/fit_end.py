"""Whether the atoms that a fit ended at can be used, and what a user is told if they cannot."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.problem import Problem
from graphdict.core.solvers.base import Solution
from graphdict.core.terms.base import name_of, value
from graphdict.exceptions import ConvergenceWarning, warn
from graphdict.models.coding import code

DIVERGED = 1e12  # the objective above which a last iterate counts as diverged
CODING_STEPS = 5000  # iterations that finding coefficients for a last iterate may take


def is_usable(model: Any, executor: Any, atoms: Floats, objective: float) -> bool:
    """Return whether the fit ended at a finite objective.

    A last iterate of infinite objective is still usable if coding its atoms gives a finite one.
    """
    if not model.last_iterate:
        return bool(np.isfinite(objective))
    if objective != np.inf:
        return bool(objective <= DIVERGED)
    problem = executor.problem
    with np.errstate(all="ignore"):
        found = code(problem, atoms, executor, max_iter=CODING_STEPS, tol=1e-4)
        objective = found.value + problem.atom_priors.value(atoms)
    return bool(objective <= DIVERGED and np.isfinite(found.coefficients).all())


def warn_infinite(model: Any, iteration: int) -> None:
    """Warn that a last iterate, which can be used, has no finite objective."""
    warn(
        f"{type(model).__name__} with last_iterate=True ends at iteration {iteration}, "
        "where the objective is infinite: some node has no edge in some sample. Raise "
        "max_iter, choose other steps, or use last_iterate=False for the best iterate.",
        ConvergenceWarning,
    )


def report_unusable_fit(
    model: Any, problem: Problem, end: Solution, objective: float, coefficients: Floats
) -> None:
    """Raise ValueError with what led to unusable atoms: steps, given arrays or priors.

    Only warn where none of these did, of an infinite objective. ``coefficients`` are (T, K).
    """
    names = ("tau_atoms", "tau_coefficients", "sigma")
    steps = [f"{name}={getattr(model, name)}" for name in names if getattr(model, name) is not None]
    held = [name for name in ("atoms", "coefficients") if getattr(model, name) is not None]
    reached = f"the objective is {np.inf if np.isnan(objective) else objective:.3g}"
    reached = "numbers overflow" if np.isnan(end.objective) else reached
    if model.last_iterate or steps:
        ends = "last_iterate=True" if model.last_iterate else f"solver={model.solver!r}"
        given = f" by the steps {', '.join(steps)}" if steps else ""
        instead = ", or use last_iterate=False for the best iterate" if model.last_iterate else ""
        raise ValueError(
            f"{ends} ends at iteration {end.n_iter}{given} where {reached}: steps are too long, or "
            "some node has no edge in any atom. Choose smaller tau_atoms, tau_coefficients and "
            f"sigma or leave them out, raise max_iter{instead}"
        )
    if held:
        raise ValueError(
            f"the fit that begins with the given {' and '.join(held)} ends at iteration "
            f"{end.n_iter} where {reached}: some node has no edge in some sample. Give others "
            "that join all nodes, or none, or raise max_iter"
        )
    wrong = _priors_without_value(problem, end.atoms, coefficients)
    if wrong or np.isnan(objective):
        because = f"the prior {' and '.join(wrong)}" if wrong else "overflow or its barrier"
        raise ValueError(
            f"the fit of {type(model).__name__} ends at iteration {end.n_iter} where the objective "
            f"is not a number (NaN), because of {because}: a term is a number, or inf where it is "
            "not defined"
        )
    warn(
        f"{type(model).__name__} ends at iteration {end.n_iter}, where the objective is "
        f"{objective}: some node has no edge in some sample, or a prior forbids what was found. "
        "Raise max_iter, or use weaker penalties.",
        ConvergenceWarning,
    )


def _priors_without_value(problem: Problem, atoms: Floats, coefficients: Floats) -> list[str]:
    """Return the names of the priors that are NaN at these atoms and coefficients (T, K).

    None are returned where the atoms or coefficients are NaN themselves.
    """
    priors = [(term, atoms) for term in problem.atom_terms]
    priors += [(term, coefficients) for term in problem.coefficient_terms]
    return [
        name_of(term)
        for term, x in priors
        if np.isfinite(x).all() and np.isnan(value(term, x, slice(0, len(x))))
    ]
