"""What methods with clusters of samples, and a graph for each, offer once fitted."""

from __future__ import annotations

from typing import overload

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from graphdict.core import graphs
from graphdict.core.annotations import Floats, HasData, Integers, SeveralSignals, Signals
from graphdict.core.recordings import Recordings
from graphdict.engine.estimator import SignalEstimator
from graphdict.engine.recordings import by_recording, check_output
from graphdict.engine.scikit import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from graphdict.engine.scores import LikelihoodScoreMixin
from graphdict.results import InstantaneousGraphs


class MixtureBaseline(
    LikelihoodScoreMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SignalEstimator
):
    """Base class of the methods with clusters of samples and a graph for each."""

    atoms_: Floats
    labels_: Integers
    n_clusters: int
    coefficients_: Floats
    _gaps_advice = (
        "GraphDictLog, GraphDictMarginal and LogModel, for example, accept missing values"
    )

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        clusters = self.n_clusters
        solving = 8 * clusters * graphs.n_edges(nodes) * size
        return 0, solving + (5 * samples * clusters * 8 if clusters > 1 else 0)

    def _memberships(self, X: Signals) -> tuple[Floats, Recordings]:
        """Return the coefficients (T', K) of each sample, and the recordings of samples."""
        raise NotImplementedError

    @overload
    def predict(self, X: SeveralSignals) -> list[Integers]: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, X: ArrayLike | HasData) -> Integers: ...
    def predict(self, X: Signals) -> Integers | list[Integers]:
        """Return the most likely cluster of each sample.

        Parameters
        ----------
        X : array (T', N), or several recordings
            Signals.

        Returns
        -------
        integer array (T',)
            Or, for several recordings, a list of one array for each.
        """
        coefficients, recordings = self._memberships(X)
        return by_recording(X, coefficients.argmax(axis=1), recordings)

    @overload
    def transform(self, X: SeveralSignals) -> list[Floats]: ...  # type: ignore[overload-overlap]
    @overload
    def transform(self, X: ArrayLike | HasData) -> Floats: ...
    def transform(self, X: Signals) -> Floats | list[Floats]:
        """Return the coefficient of each cluster in each sample.

        Parameters
        ----------
        X : array (T', N), or several recordings
            Signals.

        Returns
        -------
        array (T', K)
            Rows sum to one. For several recordings, a list of one array for each.
        """
        check_output(self, X)
        return by_recording(X, *self._memberships(X))

    def instantaneous_graphs(self, X: Signals | None = None) -> InstantaneousGraphs:
        """Return the graph of each sample: the clusters' graphs, mixed by its coefficients.

        Parameters
        ----------
        X : array (T', N), optional
            Signals; the training signals by default.

        Returns
        -------
        InstantaneousGraphs
        """
        check_is_fitted(self)
        found = (self.coefficients_, self.recordings_) if X is None else self._memberships(X)
        return InstantaneousGraphs(found[0], self.atoms_, self.node_names, recordings=found[1])

    def _describe(self, weights: Floats, coefficients: Floats) -> None:
        """Set ``atoms_``, ``coefficients_`` and ``labels_``."""
        self.atoms_ = self._preparation.embed(weights)
        self.coefficients_ = coefficients
        self.labels_ = coefficients.argmax(axis=1)
        self._n_features_out = len(weights)


class SoftMixture(MixtureBaseline):
    """Base class of those in which a sample belongs to several clusters, more or less."""

    @overload
    def predict_proba(self, X: SeveralSignals) -> list[Floats]: ...  # type: ignore[overload-overlap]
    @overload
    def predict_proba(self, X: ArrayLike | HasData) -> Floats: ...
    def predict_proba(self, X: Signals) -> Floats | list[Floats]:
        """Return the probability of each cluster in each sample.

        Parameters
        ----------
        X : array (T', N), or several recordings
            Signals.

        Returns
        -------
        array (T', K)
            Or, for several recordings, a list of one array for each.
        """
        return by_recording(X, *self._memberships(X))
