"""Statistics of states: features of each event, transitions, entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from graphdict.core.annotations import Floats, Integers
from graphdict.eeg.extra import require_pandas
from graphdict.studies import transitions
from graphdict.studies.features import PAPER_FEATURES, feature_table, hard_labels

if TYPE_CHECKING:  # pragma: no cover
    import pandas


class StateStatistics:
    """Base of :class:`States`: what follows from the coefficients and segments of its samples."""

    coefficients: Floats
    sfreq: float
    segments: Integers
    event: Integers
    n_events: int
    activity: str | ArrayLike
    names: list[str]

    @property
    def n_states(self) -> int:
        """Number K of states."""
        result: int = self.coefficients.shape[1]
        return result

    @property
    def labels(self) -> Integers:
        """State with the largest coefficient in each sample (T,); -1 where there is none."""
        return hard_labels(self.coefficients)

    def feature_array(
        self,
        features: Sequence[str] = PAPER_FEATURES,
        activity: str | ArrayLike | None = None,
        *,
        pool: bool = False,
    ) -> Floats:
        """Return the features of each event and state; see :mod:`graphdict.studies.features`.

        Parameters
        ----------
        features : names
            Of ``graphdict.eeg.FEATURES``; the paper's three by default.
        activity : "largest" or array (K,), optional
            Instead of the attribute ``activity``.
        pool : bool, default=False
            Treat all events as one; runs still end with their segment.

        Returns
        -------
        array (n_events, K, F)
        """
        activity = self.activity if activity is None else activity
        event, count = (np.zeros_like(self.event), 1) if pool else (self.event, self.n_events)
        return feature_table(
            self.coefficients, activity, self.segments, event, count, self.sfreq, features
        )

    def features(
        self,
        features: Sequence[str] = PAPER_FEATURES,
        activity: str | ArrayLike | None = None,
        *,
        pool: bool = False,
    ) -> pandas.DataFrame:
        """Return the features of each event and state as a table.

        Parameters
        ----------
        features, activity, pool
            As in :meth:`feature_array`.

        Returns
        -------
        pandas.DataFrame
            A row for each event and state, a column for each feature.
        """
        pandas = require_pandas()
        values = self.feature_array(features, activity, pool=pool)
        index = pandas.MultiIndex.from_product(
            [range(len(values)), self.names], names=["event", "state"]
        )
        return pandas.DataFrame(
            values.reshape(-1, len(features)), index=index, columns=list(features)
        )

    def transition_matrix(
        self,
        *,
        statistic: Literal["probability", "count"] = "probability",
        ignore_repetitions: bool = True,
    ) -> Floats:
        """Return the observed transitions between labels, within segments.

        Parameters
        ----------
        statistic : {"probability", "count"}
            Rows that sum to one, or counts.
        ignore_repetitions : bool, default=True
            Count moves to another state only; otherwise every pair of consecutive samples.

        Returns
        -------
        array (K, K)
            From the state of the row to that of the column.
        """
        return transitions.observed_transitions(
            self.labels, self.segments, self.n_states,
            statistic=statistic, ignore_repetitions=ignore_repetitions,
        )  # fmt: skip

    def expected_transition_matrix(self, *, ignore_repetitions: bool = True) -> Floats:
        """Return the transition probabilities of samples in random order.

        Parameters
        ----------
        ignore_repetitions : bool, default=True
            Leave out transitions of a state to itself.

        Returns
        -------
        array (K, K)
        """
        return transitions.expected_transitions(
            self.labels, self.segments, self.n_states, ignore_repetitions=ignore_repetitions
        )

    def entropy(self, *, ignore_repetitions: bool = False, base: float = 2.0) -> float:
        """Return the Shannon entropy of the labels.

        Parameters
        ----------
        ignore_repetitions : bool, default=False
            Count each run once instead of each sample.
        base : float, default=2
            Base of the logarithm: 2 for bits.

        Returns
        -------
        float
        """
        return transitions.sequence_entropy(
            self.labels, self.segments, ignore_repetitions=ignore_repetitions, base=base
        )
