"""What expectation-maximisation asks of the likelihood of signals under an activation pattern."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class SignalBlock(NamedTuple):
    """Consecutive windows of signals."""

    signals: NDArray  # (T, N), NaN where values are missing
    counts: NDArray  # (windows,) number of samples in each window
    kept: dict[str, Any] | None = None  # by a likelihood, for its next method on the same block

    @property
    def single(self) -> bool:
        """Whether every window is one sample."""
        return len(self.counts) == len(self.signals)

    def sum_windows(self, values: NDArray) -> NDArray:
        """Return the sums (windows, ...) of ``values`` (T, ...) over the samples of each window."""
        if self.single:
            return values
        starts = np.concatenate(([0], np.cumsum(self.counts)[:-1]))
        return np.add.reduceat(values, starts, axis=0)

    def repeat_windows(self, values: NDArray) -> NDArray:
        """Return ``values`` (windows, ...) repeated for every sample: (T, ...)."""
        return values if self.single else values.repeat(self.counts, 0)


class AtomPenalty(Protocol):
    """A concave penalty on edge weights."""

    def value(self, atoms: NDArray) -> float:
        """Return the penalty of atoms (K, E)."""

    def slope(self, atoms: NDArray) -> NDArray | float:
        """Return its gradient at atoms (K, E), of which a tangent lies above the penalty."""


class AtomDraw(NamedTuple):
    """Atoms drawn from their posterior, one weight after the other."""

    atoms: NDArray  # (K, E) the draw
    means: NDArray  # (K, E) expectation of each weight at the time it was drawn
    edges: NDArray  # (K, E) probability at that time that it is above the lowest level
    counts: NDArray  # (levels,) expected number of weights at each level


class PatternLikelihood(Protocol):
    """``log p(x | c)`` of a signal under pattern ``c`` of active atoms, and how atoms maximise it.

    The E-step and the M-step know the likelihood by these methods alone, so that another one (of
    other precisions, of heavier tails) is one class that has them. Everything that grows with the
    number of samples is done on one block of signals at a time and leaves it as sums.

    An instance belongs to a set of patterns and to the *support* of the atoms (their nonzero
    weights), not to their values: those are given to each method.
    """

    @property
    def patterns(self) -> NDArray:
        """(C, K) activation of every atom in every pattern, boolean or between 0 and 1."""

    @property
    def noise(self) -> float:
        """Variance that signals have in directions in which a pattern's graph allows none."""

    statistic_names: ClassVar[tuple[str, ...]]
    """A name for each array of :meth:`statistics`, by which a stream keeps its average."""

    @property
    def nbytes(self) -> int:
        """Size of the instance as a message to other processes."""

    def for_atoms(self, atoms: NDArray, patterns: NDArray | None = None) -> Self:
        """Return the same likelihood for atoms of another support, and for other patterns.

        Parameters
        ----------
        atoms : array (K, E)
        patterns : array (C', K), optional
            Those of this instance where it is omitted.
        """

    def factors(self, atoms: NDArray, *, missing: bool = False) -> Any:
        """Compute what is the same for all signals: factorisations, log-determinants.

        Parameters
        ----------
        atoms : array (K, E)
        missing : bool
            Whether signals have missing values.

        Returns
        -------
        factors
            For :meth:`log_likelihoods` and :meth:`statistics`; has ``nbytes`` and can be pickled.
        """

    def log_likelihoods(self, factors: Any, block: SignalBlock) -> NDArray:
        """Return ``log p(window | pattern)`` (windows, C): sums over the samples of each window.

        The array is the caller's to change.
        """

    def statistics(
        self, factors: Any, block: SignalBlock, responsibilities: NDArray
    ) -> tuple[NDArray, ...]:
        """Return the sufficient statistics of a block: what atoms are learned from.

        Parameters
        ----------
        factors
            Of the dictionary that the responsibilities are computed with.
        block : SignalBlock
        responsibilities : array (windows, C)
            Posterior probability of every pattern in every window.

        Returns
        -------
        tuple of arrays
            Sums over samples, one array for each of ``statistic_names``. Those of several blocks
            are added up entry by entry.
        """

    def m_step(
        self,
        atoms: NDArray,
        statistics: tuple[NDArray, ...],
        usage: NDArray,
        penalty: AtomPenalty,
        steps: int,
    ) -> tuple[Self, NDArray]:
        """Take steps on the atoms, none of which lowers the objective of the M-step.

        Parameters
        ----------
        atoms : array (K, E)
            To start from. Weights that are zero stay zero, and no others become zero.
        statistics : tuple of arrays
            :meth:`statistics` summed over all samples and divided by their number.
        usage : array (C,)
            Expected share of the samples that have each pattern.
        penalty : AtomPenalty
            In units of ``-2 / T`` of the log-likelihood.
        steps : int
            Number of steps; 0 returns likelihood and atoms unchanged.

        Returns
        -------
        PatternLikelihood
            This one, or one with other parameters of its own where it learns any.
        array (K, E)
            The new atoms.
        """

    def own_penalty(self, atoms: NDArray) -> float:
        """Return what it adds to the penalty of atoms (K, E), where it has a prior of its own."""

    def stationary_statistics(
        self, atoms: NDArray, usage: NDArray, penalty: AtomPenalty, threshold: float
    ) -> tuple[NDArray, ...]:
        """Return statistics (divided as in :meth:`m_step`) at which atoms would stay.

        For edges of weights up to ``threshold`` those at which an unpenalised weight would.
        """

    def draw_atoms(
        self,
        atoms: NDArray,
        statistics: tuple[NDArray, ...],
        usage: NDArray,
        *,
        levels: NDArray,
        log_prior: NDArray,
        rng: np.random.RandomState,
    ) -> AtomDraw:
        """Draw all nonzero weights anew in random order, each from its conditional posterior.

        Parameters
        ----------
        atoms : array (K, E)
            To start from. Weights that are zero stay zero.
        statistics, usage
            As in :meth:`m_step`, but not divided by the number of samples.
        levels, log_prior : arrays (levels,)
            The values that a weight can have, ascending, and their prior log-probabilities.
        rng : RandomState
        """

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it: parameters of its own that are learned."""

    def with_state(self, state: dict[str, Any]) -> Self:
        """Return the likelihood with what :meth:`state` returned; other entries are ignored."""
