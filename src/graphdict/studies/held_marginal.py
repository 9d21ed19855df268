"""Atoms of one recording under the marginal model, with the group's responsibilities held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Booleans, Floats
from graphdict.core.marginal.penalty import ConcavePenalty
from graphdict.core.marginal.protocols import PatternLikelihood, SignalBlock
from graphdict.engine.signals import has_gaps

ROWS = 4096  # samples at a time
STEPS = 30  # on the atoms, from those of a stronger pull
GAIN_ROUNDS = 3  # in which the gains of heavy tails follow the atoms
NO_PENALTY = ConcavePenalty(0.0)


@dataclass
class MarginalRecording:
    """A recording whose samples belong to patterns as the group's dictionary says.

    Its atoms ``W`` maximise the expected log-likelihood of its samples plus that of ``pseudo`` more
    samples, which are drawn from the group's dictionary: the expectation of these is minus the
    divergence of ``W`` from the group's atoms, up to a constant.
    """

    likelihood: PatternLikelihood  # of the group, on its support
    group: Floats  # (K, E) atoms of the group, on active nodes
    signals: NDArray[Any]  # (T, N) prepared
    responsibilities: Floats  # (T, C)
    usage: Floats  # (C,) share of each pattern in the samples of the group

    @classmethod
    def of(cls, model: Any, signals: Any, name: str) -> Self:
        """Return the recording of some signals, as a fit takes them, under a GraphDictMarginal."""
        signals = {name: signals}
        prepared = np.asarray(model._prepare(signals)[0])
        atoms = model._active_atoms.astype(np.float64)
        likelihood = model._pattern_likelihood(atoms)
        if has_gaps(prepared) and not model._is_papers_model:
            raise ValueError(
                f"recording {name} has missing values, with which atoms of a recording are known "
                'for filter_power=1 and tails="gaussian" only: fill them, or fit with these'
            )
        (shares,) = model.predict_proba(signals)
        return cls(likelihood, atoms, prepared, shares, shares.mean(axis=0))

    @property
    def samples(self) -> int:
        """Number T of samples."""
        return len(self.signals)

    def estimate(self, rows: Booleans, pseudo: float, start: Floats) -> Floats:
        """Return the atoms (K, E) of some samples (T,), pulled by so many pseudo-samples."""
        atoms = start
        tails = getattr(self.likelihood, "tails", np.inf)
        rounds = GAIN_ROUNDS if np.isfinite(tails) else 1
        prior = self.likelihood.stationary_statistics(self.group, self.usage, NO_PENALTY, 0.0)
        for _ in range(rounds):
            usage, statistics, count = self._statistics(rows, atoms)
            total = count + pseudo
            averages = tuple((s + pseudo * p) / total for s, p in zip(statistics, prior))
            shares = (usage + pseudo * self.usage) / total
            steps = max(1, STEPS // rounds)
            _, atoms = self.likelihood.m_step(atoms, averages, shares, NO_PENALTY, steps)
        return atoms

    def score(self, rows: Booleans, atoms: Floats) -> float:
        """Return the expected log-likelihood of a sample of some (T,), given its pattern."""
        missing = has_gaps(self.signals)
        factors = self.likelihood.factors(atoms, missing=missing)
        total = 0.0
        for block, shares in self._blocks(rows):
            total += float(np.vdot(shares, self.likelihood.log_likelihoods(factors, block)))
        return float(total / rows.sum())

    def _statistics(self, rows: Booleans, atoms: Floats) -> tuple[Floats, tuple[Floats, ...], int]:
        """Return usage (C,) and statistics of some samples, summed, and their number."""
        factors = self.likelihood.factors(atoms, missing=has_gaps(self.signals))
        sums: tuple[Floats, ...] = ()
        usage = np.zeros(len(self.usage))
        for block, shares in self._blocks(rows):
            found = self.likelihood.statistics(factors, block, shares)
            sums = found if not sums else tuple(a + b for a, b in zip(sums, found))
            usage += shares.sum(axis=0)
        return usage, sums, int(rows.sum())

    def _blocks(self, rows: Booleans) -> Iterator[tuple[SignalBlock, NDArray[Any]]]:
        chosen = np.flatnonzero(rows)
        for start in range(0, len(chosen), ROWS):
            some = chosen[start : start + ROWS]
            block = SignalBlock(self.signals[some], np.ones(len(some), dtype=int), {})
            yield block, self.responsibilities[some]
