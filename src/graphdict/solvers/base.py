"""What every solver reports: a solution, its history, and how far it is from stationary."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphdict.exceptions import InterruptedFitWarning

__all__ = ["Callback", "History", "Progress", "Solution", "warn_interrupted"]


@dataclass
class History:
    """One entry for each check: iteration, objective, residuals, seconds since the start.

    Residuals are relative; ``residual`` is the largest of those in ``residuals``.
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
        """Enter a check; of the next iteration where none is named."""
        self.iteration.append(len(self.iteration) + 1 if iteration is None else iteration)
        self.objective.append(objective)
        self.residual.append(max(residuals.values()))
        self.residuals.append(residuals)
        self.seconds.append(time.perf_counter() - self.started)

    def as_dict(self) -> dict[str, NDArray]:
        """Arrays by name; the residual of each variable as ``residual_<variable>``."""
        names = self.residuals[0] if self.residuals else {}
        parts = {f"residual_{n}": np.array([r[n] for r in self.residuals]) for n in names}
        return {
            "iteration": np.array(self.iteration, dtype=np.intp),
            "objective": np.array(self.objective),
            "residual": np.array(self.residual),
            **parts,
            "seconds": np.array(self.seconds),
        }


@dataclass(frozen=True)
class Progress:
    """What a callback is shown at each check. The arrays are live: copy to keep them."""

    iteration: int
    objective: float
    residual: float
    atoms: NDArray
    coefficients: NDArray


Callback = Callable[[Progress], "bool | None"]
"""Called at each check; returning True stops the solver there."""


@dataclass
class Solution:
    """Where a solver stopped."""

    atoms: NDArray
    coefficients: NDArray
    dual: NDArray | None
    objective: float
    history: History
    n_iter: int
    converged: bool
    interrupted: bool = False  # by Ctrl-C
    stopped: bool = False  # by the callback


def warn_interrupted(iteration: int) -> None:
    """Say that the user stopped the solver, and what is returned."""
    warnings.warn(
        f"interrupted at iteration {iteration}: the best iterate so far is returned",
        InterruptedFitWarning,
        stacklevel=3,
    )
