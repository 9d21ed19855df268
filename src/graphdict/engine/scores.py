"""Scores of the estimators that know how probable a sample is."""

from __future__ import annotations

from typing import Any, overload

from numpy.typing import ArrayLike

from graphdict.core.annotations import Floats, HasData, SeveralSignals, Signals
from graphdict.core.recordings import Recordings
from graphdict.engine.recordings import by_recording


class LikelihoodScoreMixin:
    """Score of the estimators that know the likelihood of a sample."""

    def _scores(self, X: Signals) -> tuple[Floats, Recordings]:
        """Return the log-likelihood of each sample (T',), and the recordings of samples."""
        raise NotImplementedError

    @overload
    def score_samples(  # type: ignore[overload-overlap]
        self, X: SeveralSignals
    ) -> list[Floats]: ...
    @overload
    def score_samples(self, X: ArrayLike | HasData) -> Floats: ...
    def score_samples(self, X: Signals) -> Floats | list[Floats]:
        """Return the log-likelihood of each sample; their mean is :meth:`score`.

        Parameters
        ----------
        X : array (T', N), or several recordings
            Signals.

        Returns
        -------
        array (T',)
            Or, for several recordings, a list of one array for each.
        """
        return by_recording(X, *self._scores(X))

    def score(self, X: Signals, y: Any = None) -> float:
        """Return the mean log-likelihood per sample; higher is better.

        Parameters
        ----------
        X : array (T', N), or several recordings
            Signals.
        y : None
            Ignored.

        Returns
        -------
        float
            Of several recordings, the mean over all their samples.
        """
        return float(self._scores(X)[0].mean())
