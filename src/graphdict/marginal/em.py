"""Expectation-maximisation over patterns: the loop, its annealing, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import kernels
from graphdict.marginal.chain import (
    Posterior,
    chain_posterior,
    independent_posterior,
    known_posterior,
)
from graphdict.marginal.likelihood import PatternGraphs
from graphdict.marginal.missing import expected_distances, observed_likelihoods
from graphdict.marginal.patterns import fit_probabilities
from graphdict.marginal.penalty import FadingPenalty
from graphdict.marginal.timeline import positions
from graphdict.solvers.base import History, Progress, warn_interrupted
from graphdict.threads import single_threaded_blas

__all__ = [
    "Data",
    "Dictionary",
    "Expectation",
    "Fit",
    "expect",
    "expectation_maximisation",
    "infer",
    "log_likelihoods",
    "maximise",
]

INNER = 3  # majorise-minimise steps on the atoms for each pass over the samples
BLOCK_BYTES = 1 << 27
SMALLEST = 1e-9  # weight of an edge that is still there: zeros are for the pruning to make


@dataclass(frozen=True)
class Data:
    """Prepared signals (T, N) and the number of samples in each window.

    Where values are missing, ``gappy`` are the signals with NaN, and ``signals`` a complete version
    of them that serves where nothing depends on it.
    """

    signals: NDArray
    counts: NDArray
    gappy: NDArray | None = None

    def part(self, rows: slice, counts: NDArray) -> Data:
        """Some samples, in windows of ``counts``."""
        gappy = None if self.gappy is None else self.gappy[rows]
        return Data(self.signals[rows], counts, gappy)

    def by_window(self, values: NDArray) -> NDArray:
        """Sums of ``values`` (T, ...) over windows."""
        if len(self.counts) == len(values):
            return values
        starts = np.concatenate(([0], np.cumsum(self.counts)[:-1]))
        return np.add.reduceat(values, starts, axis=0)

    def by_sample(self, values: NDArray) -> NDArray:
        """Rows of ``values`` (windows, ...) repeated for each sample."""
        return values if len(self.counts) == len(self.signals) else values.repeat(self.counts, 0)


@dataclass(frozen=True)
class Dictionary:
    """Everything that is learned: atoms (K, E), pattern probabilities (C,), chance to stay."""

    graphs: PatternGraphs
    atoms: NDArray
    probabilities: NDArray
    stay: float | None = None  # None where there is no chain
    drifts: bool = False  # patterns are positions in time, known beforehand

    def with_atoms(self, atoms: NDArray) -> Dictionary:
        """The same with other atoms, whose support may have changed."""
        graphs = PatternGraphs.of(self.graphs.patterns, atoms, self.graphs.noise)
        return replace(self, graphs=graphs, atoms=atoms)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of it; see :meth:`with_state`."""
        return {"atoms": self.atoms, "probabilities": self.probabilities, "stay": self.stay}

    def with_state(self, state: dict[str, Any]) -> Dictionary:
        other = replace(self, probabilities=state["probabilities"], stay=state["stay"])
        return other.with_atoms(state["atoms"])


@dataclass
class Expectation:
    """What the M-step needs of the posterior."""

    coefficients: NDArray  # (windows, K) posterior mean
    usage: NDArray  # (C,) expected number of samples of each pattern
    draws: NDArray  # (C,)
    stays: float
    evidence: NDArray  # (windows,)
    distances: NDArray | None = None  # (K, E) expected sums, where values are missing


@dataclass
class Fit:
    """Where a run ended."""

    dictionary: Dictionary
    coefficients: NDArray  # (windows, K)
    objective: float
    log_likelihood: float  # per sample
    history: History
    converged: bool
    interrupted: bool = False


def log_likelihoods(data: Data, dictionary: Dictionary) -> NDArray:
    """``log p(window | pattern)`` (windows, C)."""
    graphs = dictionary.graphs
    if data.gappy is not None:
        return data.by_window(observed_likelihoods(data.gappy, graphs, dictionary.atoms))
    atoms = dictionary.atoms.astype(data.signals.dtype, copy=False)
    energies = data.by_window(kernels.energies(data.signals, atoms))
    blind = {c: data.by_window(e) for c, e in graphs.blind_energies(data.signals).items()}
    return graphs.log_likelihoods(energies, blind, dictionary.atoms, data.counts)


@single_threaded_blas
def infer(data: Data, dictionary: Dictionary, temper: float = 1.0) -> Posterior:
    """Posterior of the patterns of every window, likelihoods raised to the power ``temper``."""
    values = log_likelihoods(data, dictionary)
    if temper != 1:
        values *= temper
    if dictionary.drifts:
        return known_posterior(values, positions(*values.shape))
    if dictionary.stay is None:
        return independent_posterior(values, dictionary.probabilities)
    return chain_posterior(values, dictionary.probabilities, dictionary.stay)


def expect(data: Data, dictionary: Dictionary, temper: float = 1.0) -> Expectation:
    """The E-step, in blocks of windows where these are independent."""
    patterns = dictionary.graphs.patterns
    size = len(data.counts)
    if dictionary.stay is None and not dictionary.drifts:
        size = max(1, BLOCK_BYTES // (8 * len(patterns)))
    ends = np.concatenate(([0], np.cumsum(data.counts)))
    parts = []
    for start in range(0, len(data.counts), size):
        counts = data.counts[start : start + size]
        rows = slice(ends[start], ends[start + len(counts)])
        block = data.part(rows, counts)
        posterior = infer(block, dictionary, temper)
        distances = None
        if block.gappy is not None:
            shares = block.by_sample(posterior.probabilities)
            distances = expected_distances(block.gappy, dictionary.graphs, dictionary.atoms, shares)
        parts.append(
            Expectation(
                posterior.probabilities @ patterns.astype(np.float64),
                counts @ posterior.probabilities,
                posterior.draws,
                posterior.stays,
                posterior.evidence,
                distances,
            )
        )
    known = [part.distances for part in parts if part.distances is not None]
    return Expectation(
        np.concatenate([part.coefficients for part in parts]),
        np.sum([part.usage for part in parts], axis=0),
        np.sum([part.draws for part in parts], axis=0),
        parts[0].stays,
        np.concatenate([part.evidence for part in parts]),
        None if data.gappy is None else np.sum(known, axis=0),
    )


def maximise(
    data: Data,
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
    samples = len(data.signals)
    atoms = dictionary.atoms
    if expected.distances is None:
        coefficients = data.by_sample(expected.coefficients).astype(data.signals.dtype)
        sums = kernels.weighted_distances(data.signals, coefficients).astype(np.float64)
    else:
        sums = expected.distances
    moments = sums / samples
    share = expected.usage / samples
    for _ in range(inner):
        resistances = dictionary.graphs.resistances(atoms, share)
        stepped = atoms * resistances / (moments + penalty.slope(atoms))
        atoms = np.where(atoms > 0, np.maximum(stepped, SMALLEST), 0)
    if dictionary.drifts:
        return replace(dictionary, atoms=atoms)
    probabilities = fit_probabilities(
        dictionary.graphs.patterns, expected.draws, dictionary.probabilities, law
    )
    stay = dictionary.stay
    if stay is not None and len(data.counts) > 1:
        stay = float(np.clip(expected.stays / (len(data.counts) - 1), 0.0, 1 - 1e-6))
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
    expected = None
    try:
        for iteration in range(first, max_iter):
            temper = tempers[iteration] if iteration < len(tempers) else 1.0
            expected = expect(data, dictionary, temper)
            objective = _objective(data, dictionary, expected, penalty)
            if temper == 1:
                change = (previous - objective) / max(1.0, abs(objective))
                previous = objective
                history.add(objective, {"objective": abs(change)})
                converged = change < tol
                if callback is not None:
                    progress = Progress(
                        len(history.objective), objective, abs(change),
                        dictionary.atoms, expected.coefficients,
                    )  # fmt: skip
                    interrupted = bool(callback(progress))
                if converged or interrupted:
                    break
            # While annealing, atoms stay alike to the prior: one that lags would be lost for good.
            current = law if temper == 1 else "sizes"
            dictionary = maximise(data, dictionary, expected, penalty, current)
            if stage is not None:
                stage.offer(partial(_state, iteration + 1, previous, dictionary, history.copy()))
        else:
            expected = expect(data, dictionary)
            objective = _objective(data, dictionary, expected, penalty)
    except KeyboardInterrupt:
        if expected is None:
            raise
        interrupted = True
        warn_interrupted(len(history.objective))
    if stage is not None and interrupted:
        stage.flush()
    elif stage is not None:
        stage.finish({**_state(0, 0.0, dictionary, history.copy()), "converged": converged})
    return _fit(data, dictionary, expected, objective, history, converged, interrupted)


def _fit(
    data: Data,
    dictionary: Dictionary,
    expected: Expectation,
    objective: float,
    history: History,
    converged: bool,
    interrupted: bool,
) -> Fit:
    likelihood = float(expected.evidence.sum()) / len(data.signals)
    coefficients = expected.coefficients
    return Fit(dictionary, coefficients, objective, likelihood, history, converged, interrupted)


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
    expected = expect(data, dictionary)
    objective = _objective(data, dictionary, expected, penalty)
    return _fit(data, dictionary, expected, objective, history, result["converged"], False)


def _objective(
    data: Data, dictionary: Dictionary, expected: Expectation, penalty: FadingPenalty
) -> float:
    return -2 * float(expected.evidence.sum()) / len(data.signals) + penalty.value(dictionary.atoms)
