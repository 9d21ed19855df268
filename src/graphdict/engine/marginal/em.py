"""Expectation-maximisation over patterns: the loop, its annealing, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.e_step import ExpectedStatistics
from graphdict.core.marginal.m_step import ATOM_STEPS, m_step
from graphdict.core.marginal.protocols import AtomPenalty
from graphdict.core.solvers.base import History, Progress, warn_interrupted
from graphdict.engine.marginal.passes import e_step
from graphdict.engine.marginal.sample_values import coefficients_by_window
from graphdict.engine.marginal.samples import OpenSignals
from graphdict.engine.tasks import advance


@dataclass
class Fit:
    """The result of a run of EM."""

    dictionary: PatternDictionary
    usage: NDArray  # (K,) expected number of samples in which each atom is active
    objective: float
    log_likelihood: float  # marginal, per sample
    history: History
    converged: bool
    interrupted: bool = False
    edge_probabilities: NDArray | None = None  # (K, E) where atoms are averages

    @classmethod
    def of(
        cls, dictionary: PatternDictionary, expected: ExpectedStatistics, objective: float,
        history: History, *, converged: bool, interrupted: bool = False,
    ) -> Fit:  # fmt: skip
        """Return the fit of a dictionary whose E-step is known."""
        return cls(
            dictionary, usage=expected.usage @ dictionary.patterns, objective=objective,
            log_likelihood=expected.log_likelihood, history=history,
            converged=converged, interrupted=interrupted,
        )  # fmt: skip

    @property
    def is_finite(self) -> bool:
        """Whether atoms, probabilities, likelihood and what else it learned are all numbers."""
        found = self.dictionary
        learned = (found.atoms, found.probabilities, self.objective, self.log_likelihood)
        state = [value for name, value in found.likelihood.state().items() if name != "tails"]
        numbers = [value for value in state if not isinstance(value, str)]
        return all(bool(np.isfinite(value).all()) for value in (*learned, *numbers))


def expectation_maximisation(
    data: OpenSignals,
    dictionary: PatternDictionary,
    penalty: AtomPenalty,
    *,
    pattern_prior: str = "independent",
    annealing: Sequence[float] = (),
    atom_steps: int = ATOM_STEPS,
    max_iter: int = 100,
    tol: float = 1e-5,
    least: float = 1.0,
    history: History | None = None,
    callback: Any = None,
    stage: Any = None,
) -> Fit:
    """Alternate E- and M-steps until the objective settles, and return where they end.

    ``annealing`` are the inverse temperatures of the first iterations, and ``atom_steps`` is the
    number of steps on the atoms in each. After them the objective
    ``-2/T sum_t log p(x_t) + penalty`` never rises, and has settled where it falls by less than
    ``tol`` of its size, or of ``least`` where that is larger. Ctrl-C ends the run with the
    dictionary of the last E-step, and a warning. A ``stage`` of a checkpoint says where to begin
    and is given where to go on.
    """
    history = History() if history is None else history
    if stage is not None and stage.result is not None:
        return _restored(data, dictionary, penalty, history, stage.result)
    first, previous, converged, interrupted = 0, np.inf, False, False
    if stage is not None and stage.saved is not None:
        first, previous = stage.saved["iteration"], stage.saved["previous"]
        dictionary = dictionary.with_state(stage.saved["dictionary"])
        history.refill(stage.saved["history"])
    expected, objective = None, np.nan
    try:
        for iteration in range(first, max_iter):
            annealed = iteration < len(annealing)
            expected = e_step(data, dictionary, annealing[iteration] if annealed else 1.0)
            objective = _objective(dictionary, expected, penalty)
            advance()
            if not annealed:
                change = (previous - objective) / max(least, abs(objective))
                previous = objective
                history.add(objective, {"objective": abs(change)})
                converged = change < tol
                if callback is not None:
                    progress = Progress(
                        len(history.objective), objective, abs(change), dictionary.atoms,
                        partial(coefficients_by_window, data, dictionary),
                    )  # fmt: skip
                    interrupted = bool(callback(progress))
                if converged or interrupted:
                    break
            # While annealing, atoms stay alike to the prior: one that lags would be lost for good.
            prior = "sizes" if annealed else pattern_prior
            dictionary = m_step(dictionary, expected, penalty, prior, atom_steps)
            if stage is not None:
                stage.offer(partial(_state, iteration + 1, previous, dictionary, history.entries()))
        else:
            expected = e_step(data, dictionary, statistics=False)
            objective = _objective(dictionary, expected, penalty)
    except KeyboardInterrupt:
        if expected is None:
            raise
        interrupted = True
        warn_interrupted(len(history.objective))
    if stage is not None and interrupted:
        stage.flush()
    elif stage is not None:
        stage.finish({**_state(0, 0.0, dictionary, history.entries()), "converged": converged})
    return Fit.of(
        dictionary, expected, objective, history, converged=converged, interrupted=interrupted
    )


def _state(
    iteration: int, previous: float, dictionary: PatternDictionary, history: dict[str, list]
) -> dict[str, Any]:
    """Return what a run needs to go on from here, as a checkpoint keeps it."""
    return {
        "iteration": iteration, "previous": previous, "dictionary": dictionary.state(),
        "history": history,
    }  # fmt: skip


def _restored(
    data: OpenSignals,
    dictionary: PatternDictionary,
    penalty: AtomPenalty,
    history: History,
    result: dict[str, Any],
) -> Fit:
    """Return the result of a run that an earlier process finished."""
    dictionary = dictionary.with_state(result["dictionary"])
    history.refill(result["history"])
    expected = e_step(data, dictionary, statistics=False)
    objective = _objective(dictionary, expected, penalty)
    return Fit.of(dictionary, expected, objective, history, converged=result["converged"])


def _objective(
    dictionary: PatternDictionary, expected: ExpectedStatistics, penalty: AtomPenalty
) -> float:
    prior = penalty.value(dictionary.atoms) + dictionary.likelihood.own_penalty(dictionary.atoms)
    return -2 * expected.log_likelihood + prior
