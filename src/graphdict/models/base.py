"""What every graph dictionary offers once fitted: coefficients, graphs, scores, a file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Floats, HasData, Integers, SeveralSignals, Signals, StrPath
from graphdict.core.likelihoods import Likelihood, LogDeterminant
from graphdict.core.recordings import Recordings
from graphdict.core.terms.missing import Gaps
from graphdict.engine.estimator import SignalEstimator
from graphdict.engine.recordings import by_recording, check_output
from graphdict.engine.scikit import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from graphdict.engine.scores import LikelihoodScoreMixin
from graphdict.engine.signals import has_gaps
from graphdict.engine.storage import model_files
from graphdict.engine.storage.fitted import COUNT, NUMBER, FittedValue
from graphdict.results import InstantaneousGraphs


class CodedSignals(NamedTuple):
    """Signals and the coefficients that are best for them, under atoms that are held."""

    signals: Any  # prepared
    atoms: Floats  # (K, E'), on the active nodes
    coefficients: Floats  # (T, K)
    recordings: Recordings


class GraphDictionary(
    LikelihoodScoreMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SignalEstimator
):
    """Base of the graph dictionaries. Subclasses fit, code and score."""

    window_size: int
    coefficients_: Floats
    history_: dict[str, NDArray[Any]]
    pair_weights_: Floats
    pair_means_: Floats
    _takes_lazy = True
    _takes_gaps = True
    _not_saved: ClassVar[tuple[str, ...]] = ("callback", "checkpoint")
    _objects: ClassVar[tuple[str, ...]] = ()
    _needed: ClassVar[tuple[str, ...]] = ("atoms_", "active_nodes_", "scale_", "n_features_in_")
    _fitted_values: ClassVar[dict[str, FittedValue]] = {
        "atoms_": FittedValue("KE", 0),
        "coefficients_": FittedValue("TK", 0, 1),
        "active_nodes_": FittedValue("N"),
        "feature_names_in_": FittedValue("N"),
        "pair_weights_": FittedValue("E", 0),
        "pair_means_": FittedValue("E", 0),
        "scale_": FittedValue("", 0, positive=True),
        "objective_": NUMBER,
        "n_features_in_": COUNT,
        "n_iter_": COUNT,
    }

    @classmethod
    def _of_file(cls, settings: dict[str, Any]) -> tuple[type[GraphDictionary], dict[str, Any]]:
        return cls, settings

    def _check_fitted(self, fitted: Mapping[str, Any]) -> None:
        """Check nothing; see :class:`graphdict.engine.estimator_protocols.Saved`."""

    # What a kind chooses --------------------------------------------------------------------

    @abstractmethod
    def _code_signals(self, X: Signals, out: Any = None) -> CodedSignals:
        """Prepare new signals and find their coefficients, written to ``out`` if that is given."""

    # What a user calls ----------------------------------------------------------------------

    @overload
    def transform(  # type: ignore[overload-overlap]
        self, X: SeveralSignals, *, out: StrPath | NDArray[Any] | None = None
    ) -> list[Floats]: ...
    @overload
    def transform(
        self, X: ArrayLike | HasData, *, out: StrPath | NDArray[Any] | None = None
    ) -> Floats: ...
    def transform(
        self, X: Signals, *, out: StrPath | NDArray[Any] | None = None
    ) -> Floats | list[Floats]:
        """Return the coefficients (T', K) of new signals under the learned atoms.

        Parameters
        ----------
        X : array, DataFrame, memory map, Zarr or Dask array of shape (T', N)
            Signals; or several recordings of them, as in :meth:`fit`.
        out : path or array (T', K), optional
            Where to write the coefficients: an array, or a file in NumPy's format, which is then
            returned as a memory map. Several recordings stand one after the other there.

        Returns
        -------
        array (T', K)
            Or, for several recordings, a list of one array for each.
        """
        check_output(self, X)
        coded = self._code_signals(X) if out is None else self._code_signals(X, out)
        return by_recording(X, coded.coefficients, coded.recordings)

    def score(self, X: Signals, y: Any = None) -> float:
        """Return the mean log-likelihood per sample of signals; higher is better.

        Coefficients are inferred first; then each signal, divided by ``scale_``, is measured by
        ``-(x' L x + h(L) + (N - 1) log 2 pi) / 2`` on its instantaneous graph, with the model's own
        ``h``: the exact log-density for ``GraphDictExact`` and ``GraphDictSpectral``; a stand-in
        that is no density for ``GraphDictLog`` and ``GraphDictSpectralRelaxed``. Since the
        coefficients are fitted to the samples that are scored, more atoms never look worse: compare
        models of one kind and one ``n_atoms``, or use ``GraphDictMarginal``.

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
        return super().score(X)

    def instantaneous_graphs(self, X: Signals | None = None) -> InstantaneousGraphs:
        """Return the graph of every sample: the atoms, mixed by its coefficients.

        Parameters
        ----------
        X : array (T', N), or several recordings, optional
            Signals; the training signals by default.

        Returns
        -------
        InstantaneousGraphs
            Of several recordings, graphs stand one after the other; its ``recordings`` tell
            which are of which.
        """
        check_is_fitted(self)
        coefficients, recordings = self._coefficients(X)
        return InstantaneousGraphs(
            coefficients, self.atoms_, self.node_names, recordings=recordings
        )

    def _coefficients(self, X: Signals | None) -> tuple[Floats, Recordings | None]:
        """Return the coefficients of new signals, or those of the training signals."""
        if X is None:
            return self.coefficients_, getattr(self, "recordings_", None)
        found = self._code_signals(X)
        return found.coefficients, found.recordings

    def save(self, path: StrPath) -> None:
        """Write the fitted model to one file, to be read by :func:`graphdict.load_model`.

        Parameters
        ----------
        path : path
        """
        check_is_fitted(self)
        model_files.save(self, path)

    # How it is done -------------------------------------------------------------------------

    def _read(self, X: Signals, *, reset: bool) -> tuple[Floats, Recordings]:
        samples, recordings = super()._read(X, reset=reset)
        longest = max(recordings.lengths)
        if reset and self.window_size > longest:
            of = "X" if len(recordings) == 1 else f"the longest of {len(recordings)} recordings"
            raise ValueError(
                f"window_size={self.window_size} is larger than the {longest} samples of {of}; "
                f"use at most {longest}"
            )
        return samples, recordings

    def _counts(self, recordings: Recordings) -> Integers:
        """Return the lengths of the windows whose samples share their coefficients."""
        return recordings.window_counts(self.window_size)

    def _learn_gaps(self, signals: Floats) -> None:
        """Set ``pair_weights_`` and ``pair_means_`` where training signals have missing values."""
        for name in ("pair_weights_", "pair_means_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if has_gaps(signals):
            gaps = Gaps.learn(signals, self._counts(self.recordings_))
            self.pair_weights_ = self._preparation.embed(gaps.pairs)
            self.pair_means_ = self._preparation.embed(gaps.means)

    def _gaps(self, signals: Floats) -> Gaps | None:
        """Return how observed pairs of nodes stand for all; None where no value is missing."""
        if not has_gaps(signals):
            return None
        if hasattr(self, "pair_weights_"):
            restrict = self._preparation.restrict
            return Gaps(restrict(self.pair_weights_), restrict(self.pair_means_))
        atoms = self._active_atoms
        return Gaps.of_graphs(np.asarray(self.coefficients_).mean(axis=0) @ atoms)

    def _energies(self, signals: Floats, atoms: Floats, gaps: Gaps | None) -> Floats:
        """Return ``x' L_k x`` of every sample (T, K)."""
        ones = np.ones(len(signals), dtype=int)
        term = self._likelihood().signal_term(signals, ones, keep=False, gaps=gaps)
        result: Floats = term.energies(atoms)
        return result

    def _likelihood(self) -> Likelihood:
        """Return the likelihood of signals under their graphs; once fitted, that of the fit."""
        return LogDeterminant()
