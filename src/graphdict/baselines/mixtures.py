"""Clusters of samples with a log-degree graph each: the alternation that GLMM and KGraphs share.

The cost of sample t in cluster k is the objective of :class:`LogModel` on that one sample,

    c_tk = (x_t - mu_k)' L_k (x_t - mu_k) + alpha_w sum(w_k) + beta_k/2 |w_k|^2 - sum_n log d_kn,

so a cluster's graph, given its share of every sample, is a :class:`LogModel` on weighted distances,
solved exactly. What a method adds is how costs become shares, and the objective that both steps
lower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from graphdict.baselines.base import COUNT, LogDegreeBaseline
from graphdict.core import graphs
from graphdict.core.gaussian import log_likelihoods
from graphdict.core.graph_learning import learn_graphs, log_degree_objective
from graphdict.core.graph_learning.windows import without_rounding
from graphdict.core.seeding import spread_labels
from graphdict.core.solvers.base import History
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.estimator import SignalEstimator
from graphdict.exceptions import DeadAtomWarning, warn
from graphdict.native import products
from graphdict.results import InstantaneousGraphs

__all__ = ["Clusters", "LogDegreeMixture", "MixtureBaseline"]

WARM_UP = 15  # iterations of each start, of which the best goes on
PRECISION = 1e-7  # of the graphs of each step


@dataclass(frozen=True)
class Clusters:
    """Shares ``pi`` (K,), means (K, N), edge weights (K, E), and how the weights were found."""

    shares: NDArray
    means: NDArray
    weights: NDArray
    ridge: NDArray
    dual: NDArray | None = None

    def costs(self, signals: NDArray, alpha_w: float) -> NDArray[np.float64]:
        """``c_tk`` (T, K)."""
        weights = self.weights.astype(np.float64)
        own = log_degree_objective(weights, np.full_like(weights, alpha_w), self.ridge)
        return self.energies(signals) + own

    def energies(self, signals: NDArray) -> NDArray[np.float64]:
        """``(x_t - mu_k)' L_k (x_t - mu_k)`` (T, K)."""
        weights = self.weights.astype(signals.dtype)
        energies = products.energies(signals, weights).astype(np.float64)
        if self.means.any():
            filtered = np.einsum("kij,kj->ki", graphs.laplacian(self.weights), self.means)
            energies -= 2 * (signals @ filtered.T)
            energies += np.einsum("ki,ki->k", filtered, self.means)
        return energies


class MixtureBaseline(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SignalEstimator):
    """What a user can ask of clusters of samples with a graph each."""

    n_clusters: int
    coefficients_: NDArray

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        clusters = self.n_clusters
        solving = 8 * clusters * graphs.n_edges(nodes) * size
        return 0, solving + (5 * samples * clusters * 8 if clusters > 1 else 0)

    def predict(self, X: ArrayLike) -> NDArray:
        """The most likely cluster of each sample (T',)."""
        return np.asarray(self.transform(X)).argmax(axis=1)

    def transform(self, X: ArrayLike) -> NDArray:
        """How much of each cluster there is in each sample, (T', K)."""
        raise NotImplementedError

    def score_samples(self, X: ArrayLike) -> NDArray:
        """Log-likelihood of each sample under the mixture."""
        raise NotImplementedError

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log-likelihood per sample of signals; higher is better."""
        return float(self.score_samples(X).mean())

    def instantaneous_graphs(self, X: ArrayLike | None = None) -> InstantaneousGraphs:
        """The graph of every sample of ``X``, or of the training signals where it is omitted.

        It is the mixture of the clusters' graphs by the sample's coefficients.
        """
        check_is_fitted(self)
        coefficients = self.coefficients_ if X is None else np.asarray(self.transform(X))
        return InstantaneousGraphs(coefficients, self.atoms_, self.node_names)

    def _describe(self, weights: NDArray, coefficients: NDArray) -> None:
        self.atoms_ = self._preparation.embed(weights)
        self.coefficients_ = coefficients
        self.labels_ = coefficients.argmax(axis=1)
        self._n_features_out = len(weights)


class LogDegreeMixture(MixtureBaseline, LogDegreeBaseline):
    """Base of the mixtures whose graphs are learned with the log-degree objective."""

    n_clusters: int
    max_iter: int
    tol: float
    n_init: int
    random_state: Any

    _free_means = False
    _parameter_constraints: dict = {
        **LogDegreeBaseline._parameter_constraints,
        "n_clusters": [COUNT],
        "beta": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [COUNT],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        avg_degree: float = 5,
        beta: float | None = None,
        alpha_w: float = 0.0,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_init: int = 4,
        rescale: bool = True,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.avg_degree = avg_degree
        self.beta = beta
        self.alpha_w = alpha_w
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.rescale = rescale
        self.random_state = random_state

    def _assign(self, costs: NDArray, shares: NDArray) -> tuple[NDArray, float]:
        """Each sample's shares (T, K) from its costs, and the objective: lower is better."""
        raise NotImplementedError

    def _first_shares(self, signals: NDArray, start: int, rng: np.random.RandomState) -> NDArray:
        """Where a start begins: a share of every sample (T, K) for each cluster."""
        return np.eye(self.n_clusters)[spread_labels(signals, self.n_clusters, rng)]

    @single_threaded_blas
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the clusters of the signals ``X`` (T, N) and their graphs; ``y`` is ignored."""
        self._validate_params()
        _, signals = self._learn(X, self.rescale)
        rng = check_random_state(self.random_state)
        best: tuple[float, Clusters] | None = None
        for start in range(self.n_init):
            found = self._warm_up(signals, self._first_shares(signals, start, rng))
            # Starts that end alike are told apart by rounding: the first one stays.
            if best is None or found[0] < best[0] - 1e-9 * abs(best[0]):
                best = found
        assert best is not None
        clusters, shares, history, converged = self._descend(signals, best[1])
        self.objective_ = history.objective[-1]
        self.history_ = history.as_dict()
        self.n_iter_ = len(history.objective)
        self.shares_ = clusters.shares
        self.means_ = np.zeros((len(clusters.shares), self.n_features_in_), dtype=signals.dtype)
        self.means_[:, self.active_nodes_] = clusters.means
        self.beta_ = clusters.ridge
        self._describe(clusters.weights.astype(signals.dtype), shares.astype(signals.dtype))
        self._warn(converged)
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        signals = self._prepare(X)
        clusters = self._clusters
        shares = self._assign(clusters.costs(signals, self.alpha_w), clusters.shares)[0]
        return shares.astype(signals.dtype)

    def score_samples(self, X: ArrayLike) -> NDArray:
        signals = self._prepare(X)
        clusters = self._clusters
        count = len(clusters.shares)
        normaliser = log_likelihoods(np.zeros((count, count)), np.eye(count), clusters.weights)
        with np.errstate(divide="ignore"):
            joint = np.log(clusters.shares) + normaliser - clusters.energies(signals) / 2
        return np.logaddexp.reduce(joint, axis=1)

    @property
    def _clusters(self) -> Clusters:
        means = self.means_[:, self.active_nodes_]
        return Clusters(self.shares_, means, self._active_atoms, self.beta_)

    def _warm_up(self, signals: NDArray, shares: NDArray) -> tuple[float, Clusters]:
        """A few iterations of one start, in which the average degree still sets the ridge."""
        clusters, objective = None, np.inf
        for _ in range(WARM_UP):
            clusters = self._update(signals, shares, clusters, hold_ridge=False)
            shares, objective = self._assign(clusters.costs(signals, self.alpha_w), clusters.shares)
        assert clusters is not None
        return objective, clusters

    def _descend(
        self, signals: NDArray, clusters: Clusters
    ) -> tuple[Clusters, NDArray, History, bool]:
        """Iterate with the ridge held: one objective, which every iteration lowers."""
        history = History()
        costs = clusters.costs(signals, self.alpha_w)
        shares, objective = self._assign(costs, clusters.shares)
        for _ in range(self.max_iter):
            clusters = self._update(signals, shares, clusters, hold_ridge=True)
            costs = clusters.costs(signals, self.alpha_w)
            shares, lower = self._assign(costs, clusters.shares)
            gain, objective = objective - lower, lower
            history.add(objective, {"gain": max(gain, 0.0)})
            if gain <= self.tol:
                return clusters, shares, history, True
        return clusters, shares, history, False

    def _update(
        self, signals: NDArray, shares: NDArray, before: Clusters | None, *, hold_ridge: bool
    ) -> Clusters:
        """Means and graphs of the clusters, given how much of every sample is theirs."""
        mass = shares.sum(axis=0)
        dead = mass < 1e-8 * len(signals)
        weighted = shares / np.where(dead, 1.0, mass)
        if dead.any():  # an empty cluster sees all samples, so that it can fill again
            weighted[:, dead] = 1 / len(signals)
        weighted = weighted.astype(signals.dtype)
        costs = products.weighted_distances(signals, weighted).astype(np.float64)
        means = np.zeros((shares.shape[1], signals.shape[1]))
        if self._free_means:
            means = weighted.T.astype(np.float64) @ signals
            # What is left of equal numbers is rounding.
            rounding = 100 * float(np.finfo(signals.dtype).eps) * costs
            costs -= graphs.squared_differences(means)
            costs = np.where(costs > rounding, costs, 0)
        costs = without_rounding(costs) + self.alpha_w
        ridge = before.ridge if before is not None and hold_ridge else self._ridge(costs)
        found = learn_graphs(
            costs, ridge, dual=None if before is None else before.dual, tol=PRECISION
        )
        clusters = Clusters(mass / mass.sum(), means, found.weights, ridge, found.dual)
        if before is not None and dead.any():
            keep = dead[:, None]
            clusters = replace(
                clusters,
                means=np.where(keep, before.means, means),
                weights=np.where(keep, before.weights, found.weights),
            )
        return clusters

    def _warn(self, converged: bool) -> None:
        if not converged:
            gain = self.history_["residual"][-1]
            self._warn_unconverged(self.max_iter, f"last gain {gain:.2g}")
        empty = np.flatnonzero(~(self.coefficients_ > 1e-8).any(axis=0))
        if empty.size:
            warn(
                f"{empty.size} of {self.n_clusters} clusters are empty: {empty.tolist()}. "
                "Fewer clusters would do.",
                DeadAtomWarning,
            )
