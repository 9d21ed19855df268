"""How a marginal model is learned: the settings that every search is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filters import IDENTITY, GraphFilter
from graphdict.core.marginal.likelihood import GaussianLikelihood
from graphdict.core.marginal.penalty import usual_alpha
from graphdict.core.marginal.protocols import AtomPenalty, PatternLikelihood
from graphdict.core.solvers.base import Callback
from graphdict.engine.checkpoint import Checkpoint
from graphdict.engine.marginal.em import Fit, expectation_maximisation
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.marginal.series import variances_of

COLDEST, ANNEALING_STEPS, TRIAL_STEPS = 0.1, 40, 10
USUAL_STEPS = 80  # of EM, all runs of the start that is finished together


@dataclass(frozen=True)
class Settings:
    """How to learn; the names up to ``callback`` are those of the estimator."""

    alpha_w: float | None = None  # None where the signals say
    sparsity: float = 1.0
    prior: str = "independent"
    n_init: int = 8
    max_iter: int = 200
    tol: float = 1e-5
    average: int = 0
    filter: GraphFilter | None = IDENTITY  # None where it is learned
    tails: float | None = np.inf  # degrees of freedom, None where they are learned
    signed: bool = False
    pooled: float | None = None  # samples that atoms have in common; None where they are chosen
    falls_apart: bool = False  # whether some nodes are exactly silent in some samples
    callback: Callback | None = None
    trial_callback: Callback | None = None  # called after each short run of the search
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None, {}))
    likelihood: Callable[[NDArray, NDArray, float], PatternLikelihood] = GaussianLikelihood.of
    # made from patterns (C, K), atoms (K, E) and noise

    @property
    def pattern_prior(self) -> str:
        """How pattern probabilities are fitted; see :func:`fit_probabilities`."""
        return "free" if self.prior == "free" else "independent"

    @property
    def filtered(self) -> bool:
        """Whether there may be a filter, tails or negative weights: see ``learn_filtered``."""
        return self.filter != IDENTITY or self.tails != np.inf or self.signed

    def with_alpha(self, data: OpenSignals, atoms: int) -> Settings:
        """Return the settings with a number for ``alpha_w``: one that suits the signals."""
        if self.alpha_w is not None:
            return self
        return replace(self, alpha_w=usual_alpha(variances_of(data), atoms, data.total))

    @property
    def trials(self) -> int:
        """Number of short runs until one start is left."""
        total, left = self.n_init, self.n_init
        while left > 1:
            left = (left + 1) // 2
            total += left
        return total

    @property
    def planned_iterations(self) -> int:
        """Iterations of EM that a fit usually takes, which is what its progress is told by."""
        if self.prior == "hierarchy":
            return USUAL_STEPS
        later = self.trials - self.n_init
        steps = self.n_init * (ANNEALING_STEPS + 5) + later * TRIAL_STEPS // 2
        return steps + USUAL_STEPS + 3 * self.average // 2

    def run(
        self, data: OpenSignals, dictionary: PatternDictionary, penalty: AtomPenalty, **options: Any
    ) -> Fit:
        """Run EM once, as a stage of the checkpoint, and return its result."""
        defaults = {"pattern_prior": self.pattern_prior, "tol": self.tol, "max_iter": self.max_iter}
        stage = self.checkpoint.stage()
        return expectation_maximisation(
            data, dictionary, penalty, stage=stage, **{**defaults, **options}
        )


def annealing_schedule(steps: int, first: float = COLDEST) -> list[float]:
    """Return inverse temperatures that rise evenly from ``first`` to just below 1."""
    return np.linspace(first, 1, steps, endpoint=False).tolist()
