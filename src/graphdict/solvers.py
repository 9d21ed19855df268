"""The algorithms on anybody's terms and operators.

Each takes a :class:`Problem`, opens the executor for where its samples are, and iterates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import HeldVariable
from graphdict.core.problem import Problem
from graphdict.core.solvers import bipds as _bipds
from graphdict.core.solvers import coding as _coding
from graphdict.core.solvers import mm as _mm
from graphdict.core.solvers.base import Callback, History, Progress, Solution
from graphdict.core.term_group import TermGroup as TermGroup
from graphdict.engine.executor import open_executor

__all__ = ["History", "Problem", "Progress", "Solution", "bipds", "code", "mm"]


def bipds(
    problem: Problem,
    coefficients: NDArray[np.float64],
    atoms: NDArray[np.float64],
    *,
    dual: NDArray[np.float64] | None = None,
    fixed: HeldVariable | None = None,
    max_iter: int = 1000,
    tol: float = 1e-4,
    tau_atoms: float | None = None,
    tau_coefficients: float | None = None,
    sigma: float | None = None,
    check_every: int = 10,
    last_iterate: bool = False,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a problem by Bilinear Primal-Dual Splitting, from a starting point.

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
        Fixed step sizes; by default they follow the norms of the operator at the current point. A
        step of zero holds its variable.
    check_every : int, default=10
        Iterations between two checks, at which objective and residuals are evaluated, entered in
        the history and shown to the callback. The last iteration is always checked.
    last_iterate : bool, default=False
        Return the last iterate, as Algorithm 1 prints it; where values overflow, the last checked
        one that does not, with NaN as its objective. By default, where values overflow or both
        variables reach zero, the solver goes back to the best iterate with shorter steps.
    callback : callable, optional
        Called with a :class:`Progress` at each check; returning True stops.

    Returns
    -------
    Solution
        The checked iterate of the lowest objective, or the last, with the dual that goes with it.
    """
    with open_executor(problem, atoms) as executor:
        return _bipds.bipds(
            executor, coefficients, atoms, dual=dual, fixed=fixed, max_iter=max_iter, tol=tol,
            tau_atoms=tau_atoms, tau_coefficients=tau_coefficients, sigma=sigma,
            check_every=check_every, last_iterate=last_iterate, callback=callback,
        )  # fmt: skip


def mm(
    problem: Problem,
    coefficients: NDArray[np.float64],
    atoms: NDArray[np.float64],
    *,
    fixed: HeldVariable | None = None,
    max_iter: int = 1000,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a problem by majorise-minimise updates, each of which lowers the objective.

    Parameters
    ----------
    problem : Problem
        Terms, operator and samples; only sparsity and orthogonality priors have updates.
    coefficients, atoms : arrays (T, K) and (K, E)
        Where to start. They are not modified.
    fixed : {"atoms", "coefficients"}, optional
        A variable to hold at its start.
    max_iter, tol
        Stop after ``max_iter`` iterations, once the relative size of the projected gradient is
        below ``tol`` for both variables, or when an iteration lowers the objective by less than a
        hundredth of ``tol``, relatively.
    callback : callable, optional
        Called with a :class:`Progress` after each iteration; returning True stops.

    Returns
    -------
    Solution
        Where it stopped.
    """
    with open_executor(problem, atoms) as executor:
        return _mm.mm(
            executor, coefficients, atoms, fixed=fixed, max_iter=max_iter, tol=tol,
            callback=callback,
        )  # fmt: skip


def code(
    problem: Problem, atoms: NDArray[np.float64], *, max_iter: int = 100, tol: float = 1e-12
) -> NDArray[np.float64]:
    """Return the optimal coefficients (T, K) of every row of a problem for known atoms.

    Parameters
    ----------
    problem : Problem
        Its coefficients may have sparsity and no other priors: each sample is solved alone.
    atoms : array (K, E)
        The dictionary.
    max_iter, tol
        A sample is done when its duality gap (in units of log-likelihood) is below ``tol`` and its
        gradient is met to 1,000 ``tol``, relatively.

    Returns
    -------
    array (T, K)
        Where several coefficient vectors are equally good, a small one; atoms without edges get
        zero.
    """
    with open_executor(problem, atoms) as executor:
        return _coding.code_samples(executor, atoms, max_iter=max_iter, tol=tol)


def __dir__() -> list[str]:
    return sorted(__all__)
