"""Expectation-maximisation over patterns: the loop, its annealing, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.dictionary import Dictionary
from graphdict.core.marginal.patterns import fit_probabilities
from graphdict.core.marginal.penalty import FadingPenalty
from graphdict.core.solvers.base import History, Progress, warn_interrupted
from graphdict.engine.marginal.passes import Expectation, coefficients_by_window, expect
from graphdict.engine.marginal.samples import Data

__all__ = ["Fit", "expectation_maximisation", "maximise"]

INNER = 3  # majorise-minimise steps on the atoms for each pass over the samples
SMALLEST = 1e-9  # weight of an edge that is still there: zeros are for the pruning to make


@dataclass
class Fit:
    """Where a run ended."""

    dictionary: Dictionary
    usage: NDArray  # (K,) expected number of samples in which each atom is active
    objective: float
    log_likelihood: float  # per sample
    history: History
    converged: bool
    interrupted: bool = False
    edge_probabilities: NDArray | None = None  # (K, E) where atoms are averages


def maximise(
    dictionary: Dictionary,
    expected: Expectation,
    penalty: FadingPenalty,
    law: str = "independent",
    inner: int = INNER,
) -> Dictionary:
    """The M-step: probabilities, chance to stay, and ``inner`` multiplicative steps on the atoms.

    ``-log det L_c`` lies below its tangent in the logarithms of the weights, and the bound is
    least at ``w <- w * sum_c n_c r_c / (sum_t delta_t z_t + T slope)`` with the resistances
    ``r_c`` of the pattern graphs: each step raises the expected log-likelihood minus the penalty.
    """
    atoms = dictionary.atoms
    moments = expected.distances / expected.samples
    share = expected.usage / expected.samples
    for _ in range(inner):
        resistances = dictionary.graphs.resistances(atoms, share)
        stepped = atoms * resistances / (moments + penalty.slope(atoms))
        atoms = np.where(atoms > 0, np.maximum(stepped, SMALLEST), 0)
    if dictionary.drifts:
        return replace(dictionary, atoms=atoms)
    probabilities = fit_probabilities(
        dictionary.patterns, expected.draws, dictionary.probabilities, law
    )
    stay = dictionary.stay
    if stay is not None and expected.windows > 1:
        stay = float(np.clip(expected.stays / (expected.windows - 1), 0.0, 1 - 1e-6))
    return replace(dictionary, atoms=atoms, probabilities=probabilities, stay=stay)


def expectation_maximisation(
    data: Data,
    dictionary: Dictionary,
    penalty: FadingPenalty,
    *,
    law: str = "independent",
    tempers: Sequence[float] = (),
    max_iter: int = 100,
    tol: float = 1e-5,
    history: History | None = None,
    callback: Any = None,
    stage: Any = None,
) -> Fit:
    """Alternate E- and M-steps, the first ones tempered, until the objective settles.

    The objective ``-2/T sum_t log p(x_t) + penalty`` never rises once ``temper`` is 1. Ctrl-C ends
    it with what the last E-step saw, and a warning. A ``stage`` of a checkpoint is asked where to
    begin and told where to go on.
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
            temper = tempers[iteration] if iteration < len(tempers) else 1.0
            expected = expect(data, dictionary, temper)
            objective = _objective(dictionary, expected, penalty)
            if temper == 1:
                change = (previous - objective) / max(1.0, abs(objective))
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
            current = law if temper == 1 else "sizes"
            dictionary = maximise(dictionary, expected, penalty, current)
            if stage is not None:
                stage.offer(partial(_state, iteration + 1, previous, dictionary, history.copy()))
        else:
            expected = expect(data, dictionary, distances=False)
            objective = _objective(dictionary, expected, penalty)
    except KeyboardInterrupt:
        if expected is None:
            raise
        interrupted = True
        warn_interrupted(len(history.objective))
    if stage is not None and interrupted:
        stage.flush()
    elif stage is not None:
        stage.finish({**_state(0, 0.0, dictionary, history.copy()), "converged": converged})
    return _fit(dictionary, expected, objective, history, converged, interrupted)


def _fit(
    dictionary: Dictionary,
    expected: Expectation,
    objective: float,
    history: History,
    converged: bool,
    interrupted: bool,
) -> Fit:
    usage = expected.usage @ dictionary.patterns
    likelihood = expected.log_likelihood
    return Fit(dictionary, usage, objective, likelihood, history, converged, interrupted)


def _state(
    iteration: int, previous: float, dictionary: Dictionary, history: dict[str, list]
) -> dict[str, Any]:
    """What a run needs to go on from here."""
    return {
        "iteration": iteration, "previous": previous, "dictionary": dictionary.state(),
        "history": history,
    }  # fmt: skip


def _restored(
    data: Data,
    dictionary: Dictionary,
    penalty: FadingPenalty,
    history: History,
    result: dict[str, Any],
) -> Fit:
    """A run that an earlier process finished."""
    dictionary = dictionary.with_state(result["dictionary"])
    history.refill(result["history"])
    expected = expect(data, dictionary, distances=False)
    objective = _objective(dictionary, expected, penalty)
    return _fit(dictionary, expected, objective, history, result["converged"], False)


def _objective(dictionary: Dictionary, expected: Expectation, penalty: FadingPenalty) -> float:
    return -2 * expected.log_likelihood + penalty.value(dictionary.atoms)
