"""What a pass over samples knows of the dictionary, and what a block of samples is under it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.chain import (
    Posterior,
    Scaled,
    chain_posterior,
    independent_posterior,
    known_posterior,
    scaled,
)
from graphdict.core.marginal.dictionary import Dictionary
from graphdict.core.marginal.missing import observed_likelihoods, pattern_covariances
from graphdict.core.marginal.timeline import positions
from graphdict.engine.marginal.samples import Data, Samples
from graphdict.native.products import energies

__all__ = ["View"]


@dataclass(frozen=True)
class View:
    """A dictionary, with what is computed once for all samples."""

    dictionary: Dictionary
    determinants: NDArray  # (C,) of the patterns' graphs
    covariances: NDArray | None  # (C, N, N) where values are missing
    windows: int  # in all parts together
    temper: float  # power to which likelihoods are raised

    @classmethod
    def of(cls, data: Data, dictionary: Dictionary, temper: float = 1.0) -> View:
        graphs, atoms = dictionary.graphs, dictionary.atoms
        covariances = pattern_covariances(graphs, atoms) if data.samples.gappy else None
        determinants = graphs.log_determinants(atoms)
        return cls(dictionary, determinants, covariances, data.windows, temper)

    @property
    def nbytes(self) -> int:
        """About its size as a message."""
        graphs = self.dictionary.graphs
        arrays = [self.dictionary.atoms, graphs.patterns, *graphs.components.values()]
        if self.covariances is not None:
            arrays.append(self.covariances)
        return sum(array.nbytes for array in arrays)

    @cached_property
    def patterns(self) -> NDArray:
        """(C, K) as numbers."""
        return self.dictionary.patterns.astype(np.float64)

    @property
    def chain(self) -> tuple[NDArray, float]:
        """The probabilities and the chance to stay of a chain."""
        return self.dictionary.probabilities, self.dictionary.stay or 0.0

    def log_likelihoods(self, samples: Samples, rows: slice) -> NDArray:
        """``log p(window | pattern)`` (windows, C), tempered."""
        dictionary, block = self.dictionary, samples.block(rows)
        if self.covariances is not None:
            values = block.by_window(observed_likelihoods(block.signals, self.covariances))
        else:
            graphs = dictionary.graphs
            atoms = dictionary.atoms.astype(block.signals.dtype, copy=False)
            energy = block.by_window(energies(block.signals, atoms))
            blind = {c: block.by_window(e) for c, e in graphs.blind_energies(block.signals).items()}
            values = graphs.log_likelihoods(energy, blind, self.determinants, block.counts)
        if self.temper != 1:
            values *= self.temper
        return values

    def scaled(self, samples: Samples, rows: slice) -> Scaled:
        """The same as likelihoods that a chain can multiply."""
        return scaled(self.log_likelihoods(samples, rows))

    def posterior(
        self,
        samples: Samples,
        rows: slice,
        kept: Scaled | None = None,
        before: NDArray | None = None,
        after: NDArray | None = None,
    ) -> Posterior:
        """Of the patterns of some windows; in a chain given what comes before and after.

        ``kept`` are their scaled likelihoods, where they are known already.
        """
        dictionary = self.dictionary
        if dictionary.stay is not None:
            likelihoods = self.scaled(samples, rows) if kept is None else kept
            return chain_posterior(likelihoods, *self.chain, before, after)
        values = self.log_likelihoods(samples, rows)
        if dictionary.drifts:
            first = samples.first + rows.start
            known = positions(self.windows, len(dictionary.patterns), first, len(values))
            return known_posterior(values, known)
        return independent_posterior(values, dictionary.probabilities)
