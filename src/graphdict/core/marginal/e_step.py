"""The E-step on a block of windows: the posterior of their patterns, and what it adds up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import (
    Posterior,
    ScaledLikelihoods,
    chain_posterior,
    independent_posterior,
    known_posterior,
    scale_likelihoods,
)
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.protocols import SignalBlock
from graphdict.core.marginal.time_hierarchy import time_positions


class ExpectedStatistics(NamedTuple):
    """What an M-step needs of the posterior: sums over all samples or windows."""

    samples: int
    windows: int
    usage: NDArray  # (C,) expected number of samples of each pattern
    draws: NDArray  # (C,) expected number of times each pattern was drawn from its prior
    stays: float  # expected number of times that a chain stayed
    log_evidence: float  # log p of all samples
    statistics: tuple[NDArray, ...] = ()  # of the likelihood
    coefficients: NDArray = np.empty((0, 0))  # (windows, K) posterior mean, where asked for
    chains: int = 1  # that the windows are of

    @property
    def steps(self) -> int:
        """How many times a chain may have stayed."""
        return self.windows - self.chains

    @property
    def log_likelihood(self) -> float:
        """Marginal log-likelihood per sample."""
        return self.log_evidence / self.samples


@dataclass(frozen=True)
class EStep:
    """A dictionary with what its likelihood computes once for all samples."""

    dictionary: PatternDictionary
    factors: Any  # of the likelihood
    windows: int  # of all signals, not only of a block
    inverse_temperature: float = 1.0  # power to which likelihoods are raised
    starts: tuple[int, ...] = (0,)  # first window of each recording

    @classmethod
    def prepare(
        cls,
        dictionary: PatternDictionary,
        windows: int,
        *,
        missing: bool = False,
        inverse_temperature: float = 1.0,
        starts: tuple[int, ...] = (0,),
    ) -> EStep:
        """Return the E-step of signals of ``windows`` windows, with or without missing values."""
        factors = dictionary.likelihood.factors(dictionary.atoms, missing=missing)
        return cls(dictionary, factors, windows, inverse_temperature, starts)

    @property
    def nbytes(self) -> int:
        """About its size as a message."""
        return self.dictionary.likelihood.nbytes + self.factors.nbytes

    @cached_property
    def activations(self) -> NDArray:
        """The patterns (C, K) as numbers."""
        return self.dictionary.patterns.astype(np.float64)

    @property
    def chain(self) -> tuple[NDArray, float]:
        """The probabilities (C,) and the probability to stay of a Markov chain."""
        return self.dictionary.probabilities, self.dictionary.stay or 0.0

    def log_likelihoods(self, block: SignalBlock) -> NDArray:
        """Return ``log p(window | pattern)`` (windows, C) times the inverse temperature."""
        values = self.dictionary.likelihood.log_likelihoods(self.factors, block)
        if self.inverse_temperature != 1:
            values *= self.inverse_temperature
        return values

    def scaled_likelihoods(self, block: SignalBlock) -> ScaledLikelihoods:
        """Return the same as likelihoods that the recursions of a chain can multiply."""
        return scale_likelihoods(self.log_likelihoods(block))

    def posterior(
        self,
        block: SignalBlock,
        first: int = 0,
        scaled: ScaledLikelihoods | None = None,
        forward: NDArray | None = None,
        backward: NDArray | None = None,
        *,
        starts: Sequence[int] = (),
    ) -> Posterior:
        """Return the posterior of the patterns of a block, which begins with window ``first``.

        In a Markov chain ``forward`` and ``backward`` (C,) are the messages of the windows before
        and after the block; ``scaled`` are its likelihoods, where they are known already; and
        ``starts`` are its windows at which a chain begins.
        """
        dictionary = self.dictionary
        if dictionary.stay is not None:
            likelihoods = self.scaled_likelihoods(block) if scaled is None else scaled
            return chain_posterior(likelihoods, *self.chain, forward, backward, starts=starts)
        values = self.log_likelihoods(block)
        if dictionary.known_in_time:
            count = len(dictionary.patterns)
            given = self.windows, count, first, len(values), self.starts
            return known_posterior(values, time_positions(*given))
        return independent_posterior(values, dictionary.probabilities)

    def coefficients(self, posterior: Posterior) -> NDArray:
        """Return the posterior mean (windows, K) of the activations."""
        return np.clip(posterior.responsibilities @ self.activations, 0, 1)

    def sums(self, block: SignalBlock, posterior: Posterior, statistics: bool) -> tuple:
        """Return what a block adds to the fields of :class:`ExpectedStatistics` from ``usage`` on.

        Those of the likelihood come last, one by one, and only where ``statistics`` are asked for.
        """
        responsibilities = posterior.responsibilities
        usage = responsibilities.sum(axis=0) if block.single else block.counts @ responsibilities
        log_evidence = float(posterior.log_evidence.sum())
        found = (usage, posterior.draws, posterior.stays, log_evidence)
        if not statistics:
            return found
        likelihood = self.dictionary.likelihood
        return (*found, *likelihood.statistics(self.factors, block, responsibilities))
