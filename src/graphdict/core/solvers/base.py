"""What every solver reports: a solution, its history, and how far it is from stationary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Floats
from graphdict.core.protocols import BlockStates
from graphdict.exceptions import InterruptedFitWarning, warn
from graphdict.native import contiguous


@dataclass
class History:
    """One entry for each check: iteration, objective, residuals, seconds since the start.

    Attributes
    ----------
    iteration : list of int
        Which iteration was checked.
    objective : list of float
    residual : list of float
        The largest of ``residuals``.
    residuals : list of dict
        Relative residual of each variable.
    seconds : list of float
        Since the solver began; ``started`` is when that was.
    """

    iteration: list[int] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    residuals: list[dict[str, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter, repr=False)

    def add(
        self, objective: float, residuals: dict[str, float], iteration: int | None = None
    ) -> None:
        """Add the figures of a check; ``iteration`` counts on where it is not given.

        An objective whose terms overflow against one another is infinite.
        """
        self.iteration.append(len(self.iteration) + 1 if iteration is None else iteration)
        self.objective.append(np.inf if np.isnan(objective) else objective)
        self.residual.append(max(residuals.values()))
        self.residuals.append(residuals)
        _check_names([self.residuals[0], residuals])
        self.seconds.append(time.perf_counter() - self.started)

    def entries(self) -> dict[str, list[Any]]:
        """Return all entries as lists by name, from which :meth:`from_entries` goes on."""
        return self.entries_until(self.iteration[-1] if self.iteration else 0)

    def entries_until(self, iteration: int) -> dict[str, list[Any]]:
        """Return the entries of checks up to an iteration, as :meth:`entries` does."""
        count = sum(i <= iteration for i in self.iteration)
        names = ("iteration", "objective", "residual", "residuals", "seconds")
        return {name: getattr(self, name)[:count] for name in names}

    def refill(self, entries: dict[str, list[Any]]) -> None:
        """Replace all entries by stored ones."""
        vars(self).update(vars(History.from_entries(entries)))

    @classmethod
    def from_entries(cls, entries: dict[str, list[Any]]) -> History:
        """Return a history that goes on from stored entries, and in time from their last."""
        _check_names(entries["residuals"])
        elapsed = entries["seconds"][-1] if entries["seconds"] else 0.0
        return cls(**entries, started=time.perf_counter() - elapsed)

    # Their earlier names.
    copy = entries
    until = entries_until
    resumed = from_entries

    def as_dict(self) -> dict[str, NDArray[Any]]:
        """Return arrays by name; the residual of each variable is ``residual_<variable>``."""
        names = self.residuals[0] if self.residuals else {}
        parts = {f"residual_{n}": np.array([r[n] for r in self.residuals]) for n in names}
        return {
            "iteration": np.array(self.iteration, dtype=np.intp),
            "objective": np.array(self.objective),
            "residual": np.array(self.residual),
            **parts,
            "seconds": np.array(self.seconds),
        }


def _check_names(residuals: list[dict[str, float]]) -> None:
    """Raise where a check lacks a residual of the first one: stored ones may be of other fits."""
    for found in residuals:
        if not residuals[0].keys() <= found.keys():
            raise ValueError(f"residuals of {sorted(found)} follow those of {sorted(residuals[0])}")


class Progress:
    """What a callback gets at each check.

    Attributes
    ----------
    iteration : int
    objective, residual : float
        At this iterate; the residual is relative.
    atoms : array (K, E)
        The solver's own array: copy it to keep it.
    coefficients : array (T, K)
        Put together when they are looked at.
    """

    def __init__(
        self, iteration: int, objective: float, residual: float, atoms: Floats, coefficients: Lazy
    ):
        self.iteration = iteration
        self.objective = objective
        self.residual = residual
        self.atoms = atoms
        self._coefficients = coefficients

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients (T, K) of the iterate."""
        return self._coefficients() if callable(self._coefficients) else self._coefficients


Lazy = Floats | Callable[[], Floats]
Callback = Callable[[Progress], "bool | None"]
"""Called at each check; returning True stops the solver there."""


@dataclass
class Solution:
    """The result of a solver.

    Attributes
    ----------
    atoms : array (K, E)
    read_coefficients, read_dual : callable
        Put together what ``coefficients`` and ``dual`` hold, which is not done before.
    objective : float
        ``F`` at the solution.
    history : History
    n_iter : int
        Number of iterations taken.
    converged : bool
        Whether it met its tolerance.
    interrupted, stopped : bool
        Whether Ctrl-C, or the callback, ended it.
    """

    atoms: Floats
    read_coefficients: Callable[[], Floats] = field(repr=False)
    read_dual: Callable[[], Floats | None] = field(repr=False)
    objective: float
    history: History
    n_iter: int
    converged: bool
    interrupted: bool = False  # by Ctrl-C
    stopped: bool = False  # by the callback

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients (T, K)."""
        return self.read_coefficients()

    def summary(self) -> dict[str, Any]:
        """Return all but the arrays with a row for each sample, as :meth:`restored` takes it."""
        names = ("atoms", "objective", "n_iter", "converged", "stopped")
        history = self.history.entries_until(self.n_iter)
        return {**{name: getattr(self, name) for name in names}, "history": history}

    @classmethod
    def restored(cls, summary: dict[str, Any]) -> Solution:
        """Return the solution of a :meth:`summary`, with coefficients if they were added to it."""
        summary = {**summary, "history": History.from_entries(summary["history"])}
        kept = summary.pop("coefficients", None)
        read = _gone if kept is None else lambda: kept
        return cls(**summary, read_coefficients=read, read_dual=_gone)

    @cached_property
    def dual(self) -> Floats | None:
        """Dual variable (T, ...) of BiPDS; None of solvers without one."""
        return self.read_dual()


def _gone() -> Floats:
    raise RuntimeError("the coefficients of this solution were not stored: code the samples again")


def relative_size(size: Any, reference: Any) -> float:
    """Return ``size / reference``, ``size`` where the reference is zero, and inf at an overflow."""
    if not (np.isfinite(size) and np.isfinite(reference)):
        return np.inf
    return float(size / reference) if reference > 0 else float(size)


def warn_interrupted(iteration: int) -> None:
    """Say that the user stopped the solver, and what is returned."""
    warn(
        f"interrupted at iteration {iteration}: the best iterate so far is returned",
        InterruptedFitWarning,
    )


def in_precision(array: Any, like: Floats) -> Any:
    """Return an array in the precision of ``like``, in C order; states are returned as they are."""
    if isinstance(array, BlockStates):
        return array
    return contiguous(array, like.dtype)


def signal_precision(atoms: Floats, problem: Any) -> Floats:
    """Return atoms in the precision of the signals, in which everything is then done."""
    return contiguous(atoms, getattr(problem.signal_term, "dtype", atoms.dtype))
