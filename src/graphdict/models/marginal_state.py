"""What a fitted GraphDictMarginal holds: its attributes, what of them is saved, and its density."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Signals
from graphdict.core.marginal.dictionary import PatternDictionary
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filters import FILTERS
from graphdict.core.marginal.likelihood import NOISE
from graphdict.core.marginal.patterns import count_patterns, default_max_active, enumerate_patterns
from graphdict.core.marginal.protocols import PatternLikelihood
from graphdict.core.marginal.signed import SignedLikelihood
from graphdict.core.marginal.time_hierarchy import hierarchy_patterns
from graphdict.core.recordings import Recordings
from graphdict.engine.marginal.em import Fit
from graphdict.engine.marginal.learn_filtered import MOST_FILTERED
from graphdict.engine.marginal.redundant import warn_of_redundant_atoms
from graphdict.engine.marginal.sample_values import coefficients_of, log_evidence_of
from graphdict.engine.marginal.samples import OpenSignals, open_signals
from graphdict.engine.marginal.settings import Settings
from graphdict.engine.marginal.silent_nodes import silent_nodes
from graphdict.engine.signals import BLOCK_BYTES
from graphdict.engine.sources import too_large
from graphdict.engine.storage.fitted import COUNT, NUMBER, FittedValue
from graphdict.models.base import CodedSignals, GraphDictionary
from graphdict.models.filtered_fit import FilteredFit
from graphdict.models.marginal_settings import MarginalSettings
from graphdict.models.signed import check_signed_atoms


class FitRequest(NamedTuple):
    """What a fit is asked for beside its parameters, by those who choose settings by trial fits."""

    start: MarginalState | None = None  # a fit from which to begin, without a search
    filter_from: MarginalState | None = None  # a fit whose filter is to be taken
    measure_edges: bool = True  # whether to say how sure edges are


class MarginalState(FilteredFit, MarginalSettings):
    """Base of :class:`GraphDictMarginal`: its fitted attributes, and what follows from them."""

    atoms_: Floats
    objective_: float
    history_: dict[str, NDArray[Any]]
    n_iter_: int
    patterns_: NDArray[Any]
    pattern_probabilities_: Floats
    edge_probabilities_: Floats
    edge_confidence_: Floats
    edge_intervals_: Floats
    stay_probability_: float
    filter_: str
    filter_power_: float
    tails_: float
    alpha_w_: float
    gains_: Floats
    log_likelihood_: float
    noise_: float
    silent_: Booleans
    n_samples_seen_: int
    stream_: dict[str, Any]
    _in_stream: bool = False  # whether samples come in batches
    _request: FitRequest = FitRequest()
    _pooled: float = 0.0  # samples that atoms have in common beside their own

    _needed = (
        *GraphDictionary._needed, "patterns_", "pattern_probabilities_", "stay_probability_",
        "noise_",
    )  # fmt: skip
    _fitted_values = {
        **GraphDictionary._fitted_values,
        "atoms_": FittedValue("KE", -np.inf),
        "patterns_": FittedValue("CK", 0, 1),
        "pattern_probabilities_": FittedValue("C", 0, 1),
        "edge_probabilities_": FittedValue("KE", 0, 1),
        "edge_confidence_": FittedValue("KE", 0, 1),
        "edge_intervals_": FittedValue("KEL"),
        "silent_": FittedValue("TN", 0, 1),
        "filter_": FittedValue(choices=FILTERS),
        "filter_power_": FittedValue("", 0, positive=True),
        "tails_": NUMBER,
        "gains_": FittedValue("T", 0),
        "alpha_w_": FittedValue("", 0),
        "noise_": FittedValue("", 0, positive=True),
        "stay_probability_": FittedValue("", 0, 1),
        "log_likelihood_": NUMBER,
        "n_samples_seen_": COUNT,
    }

    def _check_fitted(self, fitted: Mapping[str, Any]) -> None:
        if abs(float(np.sum(fitted["pattern_probabilities_"])) - 1) > 1e-3:
            raise ValueError("pattern_probabilities_ must sum to one")
        check_signed_atoms(fitted["atoms_"], fitted["active_nodes_"], self.signed)

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"alpha_w": 1, "sparsity": 0}

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows = -(-samples // self.window_size)
        most = min(self.max_active or self.n_atoms, self.n_atoms)
        patterns = count_patterns(self.n_atoms, most, self.levels)
        rows = windows * (patterns if self.max_active else min(patterns, 5000)) * 8
        solving = 8 * self.n_atoms * graphs.n_edges(nodes) * size
        solving += 4 * min(rows, BLOCK_BYTES) + 2 * samples * self.n_atoms * size
        if self.prior != "hierarchy" and not self.average and self._may_be_filtered:
            # Second moments, spectra and their products, for every set of atoms.
            solving += 8 * min(patterns, MOST_FILTERED) * nodes**2 * 8
        if self.prior == "markov" and not too_large((rows,), np.uint8):  # kept for sweeps
            solving += rows
        return 0, solving

    @property
    def _least_probability(self) -> float:
        """From which probability on an atom is in a graph, unless the user says otherwise."""
        if self.prior == "hierarchy" or self.sparsity == 0:
            return 0.0
        averaged = hasattr(self, "edge_probabilities_")
        return self.sparsity / (1 + self.sparsity) if averaged else 1 / 3

    @property
    def _may_be_filtered(self) -> bool:
        """Whether there is room for another power than 1, for tails, or for negative weights."""
        return super()._may_be_filtered or self.signed

    @property
    def _mean_activations(self) -> NDArray[Any]:
        """Mean activation (K,) of every atom where it is active: 1 but for ``levels``.

        A coefficient divided by it is about the probability that the atom is active.
        """
        active = self.pattern_probabilities_ @ (self.patterns_ > 0)
        means = self.pattern_probabilities_ @ self.patterns_
        return np.where(active > 0, means / np.where(active > 0, active, 1), 1.0)

    @property
    def _is_papers_model(self) -> bool:
        """Whether the fit has a power of 1, Gaussian tails, and no negative weights."""
        return super()._is_papers_model and not self.signed

    @property
    def _planned_work(self) -> float:
        """Iterations of EM."""
        return self._settings.planned_iterations

    @property
    def _settings(self) -> Settings:
        alpha = None if isinstance(self.alpha_w, str) else self.alpha_w
        return Settings(
            alpha_w=alpha, sparsity=self.sparsity, prior=self.prior, n_init=self.n_init,
            max_iter=self.max_iter, tol=self.tol, average=self.average,
        )  # fmt: skip

    def _patterns(self) -> NDArray[Any]:
        """Return the patterns (C, K) that the parameters allow."""
        if self.prior == "hierarchy":
            return hierarchy_patterns(self.n_atoms)
        largest = self.max_active or default_max_active(self.n_atoms, self.levels)
        largest = 1 if self.signed else largest
        return enumerate_patterns(self.n_atoms, min(largest, self.n_atoms), self.levels)

    def _pattern_likelihood(self, atoms: NDArray[Any]) -> PatternLikelihood:
        """Return the likelihood of the learned patterns for atoms (K, E) on the active nodes."""
        given = self.patterns_, atoms, self.noise_
        if self.signed:
            return SignedLikelihood.of(*given, tails=float(self.tails_))
        if self._is_papers_model:
            return self._settings.likelihood(*given)
        tails = float(self.tails_)
        return FilteredLikelihood.of(*given, filter=self._found_filter, tails=tails)

    def _silent(self, signals: Any) -> NDArray[Any] | None:
        """Return which nodes are silent in which prepared signals (T, N); None where none is."""
        return silent_nodes(signals, (self.noise_ / NOISE) ** 0.5, self.active_nodes_)

    def _open_training(
        self, signals: Any, patterns: int, rng: np.random.RandomState | None = None
    ) -> AbstractContextManager[OpenSignals]:
        """Open prepared training signals for passes."""
        return open_signals(signals, self.window_size, patterns, rng, recordings=self.recordings_)

    @contextmanager
    def _open(self, X: Signals) -> Iterator[tuple[OpenSignals, PatternDictionary, Recordings]]:
        """Open new signals, prepared, with the learned dictionary on the active nodes."""
        check_is_fitted(self)
        signals, recordings = self._prepare(X)
        self._check_recordings(recordings)
        atoms = self._active_atoms.astype(np.float64)
        stay = self.stay_probability_ if self.prior == "markov" else None
        dictionary = PatternDictionary(
            self._pattern_likelihood(atoms), atoms, self.pattern_probabilities_, stay,
            known_in_time=self.prior == "hierarchy",
        )  # fmt: skip
        given = signals, self.window_size, len(self.patterns_)
        with open_signals(*given, recordings=recordings) as data:
            yield data, dictionary, recordings

    def _check_recordings(self, recordings: Recordings) -> None:
        """Raise where a tree of intervals would divide a recording that has breaks."""
        if self.prior == "hierarchy" and recordings.breaks:
            raise ValueError(
                'prior="hierarchy" divides the duration of each recording, and X has '
                f"{len(recordings.breaks)} break(s) at which something is left out: give the "
                'pieces as recordings, or use prior="markov" or "independent"'
            )

    def _scores(self, X: Signals) -> tuple[Floats, Recordings]:
        with self._open(X) as (data, dictionary, recordings):
            return log_evidence_of(data, dictionary), recordings

    def _code_signals(self, X: Signals, out: Any = None) -> CodedSignals:
        with self._open(X) as (data, dictionary, recordings):
            coefficients = coefficients_of(data, dictionary, out)
            return CodedSignals(data, dictionary.atoms, coefficients, recordings)

    def _store(self, fit: Fit, coefficients: Floats, gains: NDArray[Any] | None = None) -> None:
        """Set the fitted attributes, and warn of idle atoms and of an unfinished fit."""
        dictionary = fit.dictionary
        self.__dict__.pop("silent_", None)  # of an earlier fit
        self.filter_, self.filter_power_, self.tails_ = "power", 1.0, np.inf
        if isinstance(dictionary.likelihood, FilteredLikelihood):
            learned = dictionary.likelihood
            self.filter_, self.filter_power_ = learned.filter.name, float(learned.filter.parameter)
            self.tails_, self.alpha_w_ = float(learned.tails), 0.0
        self.gains_ = np.ones(len(coefficients)) if gains is None else gains
        self.patterns_ = dictionary.patterns
        self.pattern_probabilities_ = dictionary.probabilities
        self.stay_probability_ = dictionary.stay or 0.0
        # Of weights of either sign, single precision could leave graphs that are not definite.
        dtype = np.float64 if self.signed else coefficients.dtype
        self.atoms_ = self._preparation.embed(dictionary.atoms.astype(dtype))
        self.__dict__.pop("edge_probabilities_", None)  # of an earlier fit
        if fit.edge_probabilities is not None:
            probabilities = fit.edge_probabilities.astype(coefficients.dtype)
            self.edge_probabilities_ = self._preparation.embed(probabilities)
        self.coefficients_ = coefficients
        self.objective_ = fit.objective
        self.history_ = fit.history.as_dict()
        self.n_iter_ = len(fit.history.objective)
        self.log_likelihood_ = fit.log_likelihood
        self._n_features_out = len(self.atoms_)
        if not fit.interrupted:
            warn_of_redundant_atoms(self.atoms_, fit.usage)
        if not fit.converged and not fit.interrupted:
            change = (
                f"the last iteration changed the objective by {self.history_['residual'][-1]:.2g}"
            )
            self._warn_unconverged(self.max_iter, f"{change}, relatively")

    def _store_edges(self, measured: tuple[NDArray[Any], NDArray[Any], Any] | None) -> None:
        """Set how sure edges are, or nothing where that is not known."""
        for name in ("edge_confidence_", "edge_intervals_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if measured is not None:
            confidence, intervals, _ = measured
            self.edge_confidence_ = self._preparation.embed(confidence)
            limits = [self._preparation.embed(limit) for limit in np.moveaxis(intervals, -1, 0)]
            self.edge_intervals_ = np.stack(limits, axis=-1)
