"""Atoms of one recording under a soft model, with the group's coefficients held: convex."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans, Floats
from graphdict.core.likelihoods import Likelihood
from graphdict.core.nonnegative import minimise_nonnegative
from graphdict.engine.signals import has_gaps
from graphdict.native.products import weighted_distances

ROWS = 1024  # samples at a time
STEPS = 60


@dataclass
class SoftRecording:
    """A recording whose coefficients are those of the group's atoms.

    Its atoms ``W`` minimise, over nonnegative weights of the group's support,

        <W, C + alpha_w> + mean_t h(M(sum_k delta_tk w_k))

    with the squared differences ``C`` of its own samples, averaged with those at which the group's
    atoms would be optimal. Without ``pseudo``-samples of the latter they are its own alone.
    """

    likelihood: Likelihood
    group: Floats  # (K, E)
    signals: NDArray[Any]  # (T, N) prepared
    coefficients: Floats  # (T, K)
    alpha: float  # L1 penalty on weights, with which the group's atoms were learned

    @classmethod
    def of(cls, model: Any, signals: Any, name: str) -> Self:
        """Return the recording of some signals, as a fit takes them, under a soft dictionary."""
        likelihood = model._likelihood()
        plain = type(likelihood).signal_term is Likelihood.signal_term
        if not plain or not hasattr(likelihood.barrier, "slope"):
            raise TypeError(
                f"atoms of a recording are not known for {type(model).__name__}: use "
                "GraphDictMarginal, GraphDictLog or GraphDictExact"
            )
        prepared, atoms, coefficients, _ = model._code_signals({name: signals})
        prepared = np.asarray(prepared)
        if has_gaps(prepared):
            raise ValueError(
                f"recording {name} has missing values, with which atoms of a recording are known "
                "for GraphDictMarginal only: fill them first"
            )
        atoms, coefficients = (np.asarray(x, np.float64) for x in (atoms, coefficients))
        return cls(likelihood, atoms, prepared, coefficients, float(model.alpha_w))

    @property
    def samples(self) -> int:
        """Number T of samples."""
        return len(self.signals)

    def estimate(self, rows: Booleans, pseudo: float, start: Floats) -> Floats:
        """Return the atoms (K, E) of some samples (T,), pulled by so many pseudo-samples."""
        count = int(rows.sum())
        own, on = self._distances(rows), self.group > 0
        optimal = self._barrier(rows, self.group)[1]
        costs = (count * (own + self.alpha) + pseudo * optimal) / (count + pseudo)
        unit = np.maximum(self.group, 1e-6 * self.group.max())[on]

        def value_and_slope(point: Floats) -> tuple[float, Floats]:
            weights = np.zeros_like(self.group)
            weights[on] = point * unit
            value, slope = self._barrier(rows, weights)
            if not np.isfinite(value):
                return 1e300, np.zeros_like(point)
            return value + float(np.vdot(weights, costs)), (costs - slope)[on] * unit

        weights = np.zeros_like(self.group)
        found = minimise_nonnegative(value_and_slope, start[on] / unit, STEPS, 2 * STEPS)
        weights[on] = found * unit
        return weights

    def score(self, rows: Booleans, atoms: Floats) -> float:
        """Return the log-likelihood of a sample of some (T,), given its coefficients."""
        fit = float(np.vdot(atoms, self._distances(rows)))
        constant = (self.signals.shape[1] - 1) * np.log(2 * np.pi)
        return float(-(fit + self._barrier(rows, atoms)[0] + constant) / 2)

    def _distances(self, rows: Booleans) -> Floats:
        """Return mean squared differences (K, E) of some samples, weighted by coefficients."""
        signals = np.ascontiguousarray(self.signals[rows])
        weights = self.coefficients[rows].astype(signals.dtype)
        found: Floats = weighted_distances(signals, weights) / float(rows.sum())
        return found.astype(np.float64)

    def _barrier(self, rows: Booleans, atoms: Floats) -> tuple[float, Floats]:
        """Return the mean of ``h`` over some samples, and minus its gradient (K, E)."""
        linear = self.likelihood.linear_map(self.signals.shape[1])
        barrier: Any = self.likelihood.barrier
        images = linear.apply(atoms)
        value, slope = 0.0, np.zeros_like(atoms)
        for mixed in self._mixtures(rows):
            seen = np.tensordot(mixed, images, 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                value += float(np.sum(barrier.values(seen)))
                if not np.isfinite(value):  # a graph that the barrier does not admit
                    return np.inf, slope
                slope += linear.adjoint(np.tensordot(mixed.T, barrier.slope(seen), 1))
        return value / rows.sum(), slope / rows.sum()

    def _mixtures(self, rows: Booleans) -> Iterator[Floats]:
        chosen = self.coefficients[rows]
        for start in range(0, len(chosen), ROWS):
            yield chosen[start : start + ROWS]
