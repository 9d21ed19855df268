"""Clusters of samples with a log-degree graph each: the algorithm of GLMM and KGraphs.

The cost of sample t in cluster k is the objective of :class:`LogModel` on that one sample,

    c_tk = (x_t - mu_k)' L_k (x_t - mu_k) + alpha_w sum(w_k) + beta_k/2 |w_k|^2 - sum_n log d_kn,

so the graph of a cluster, given the responsibilities, is a :class:`LogModel` of weighted distances.
A method defines how costs become responsibilities, and the objective that both steps lower.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from graphdict.baselines.base import COUNT, LogDegreeBaseline
from graphdict.baselines.clusters import MixtureBaseline
from graphdict.core import graphs
from graphdict.core.annotations import (
    Floats,
    RandomState,
    RescaleName,
    Signals,
)
from graphdict.core.gaussian import log_likelihoods
from graphdict.core.graph_learning import learn_graphs, log_degree_objective
from graphdict.core.graph_learning.windows import without_rounding
from graphdict.core.recordings import Recordings
from graphdict.core.seeding import spread_labels
from graphdict.core.solvers.base import History
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.penalties import weights_in
from graphdict.exceptions import DeadAtomWarning, warn
from graphdict.native import products

WARM_UP = 15  # iterations of each start, of which the best is continued
PRECISION = 1e-7  # of the graphs in each step


@dataclass(frozen=True)
class Clusters:
    """Weights ``pi`` (K,), means (K, N) and edge weights (K, E), with ridge and dual variables."""

    shares: Floats
    means: Floats
    weights: Floats
    ridge: Floats
    dual: Floats | None = None

    def costs(self, signals: Floats, alpha_w: float) -> Floats:
        """Return the costs ``c_tk`` (T, K)."""
        weights = self.weights.astype(np.float64)
        own = log_degree_objective(weights, np.full_like(weights, alpha_w), self.ridge)
        result: Floats = self.energies(signals) + own
        return result

    def log_normalisers(self) -> Floats:
        """Return ``(log det_+ L_k - (N - 1) log 2 pi) / 2`` (K,): the density at its mean."""
        count = len(self.shares)
        return log_likelihoods(np.zeros((count, count)), np.eye(count), self.weights)

    def energies(self, signals: Floats) -> Floats:
        """Return ``(x_t - mu_k)' L_k (x_t - mu_k)`` (T, K)."""
        signals = signals.astype(np.float64)  # weights may be too large for single precision
        energies = products.energies(signals, self.weights.astype(np.float64))
        if self.means.any():
            filtered = np.einsum("kij,kj->ki", graphs.laplacian(self.weights), self.means)
            energies -= 2 * (signals @ filtered.T)
            energies += np.einsum("ki,ki->k", filtered, self.means)
        return energies


@dataclass(repr=False, eq=False)
class LogDegreeMixture(MixtureBaseline, LogDegreeBaseline):
    """Base class of the mixtures whose graphs minimise the log-degree objective."""

    objective_: float = field(init=False)
    history_: dict[str, NDArray[Any]] = field(init=False)
    n_iter_: int = field(init=False)
    shares_: Floats = field(init=False)
    means_: Floats = field(init=False)
    beta_: Floats = field(init=False)
    _free_means = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LogDegreeBaseline._parameter_constraints,
        "n_clusters": [COUNT],
        "beta": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [COUNT],
        "random_state": ["random_state"],
    }

    n_clusters: int = 5
    _: KW_ONLY
    avg_degree: float = 5
    beta: float | None = None
    alpha_w: float = 0.0
    max_iter: int = 200
    tol: float = 1e-4
    n_init: int = 4
    rescale: bool | RescaleName = True
    random_state: RandomState = None

    def _e_step(self, costs: Floats, shares: Floats) -> tuple[Floats, float]:
        """Return responsibilities (T, K), given costs (T, K) and ``pi`` (K,), and the objective."""
        raise NotImplementedError

    def _costs(self, clusters: Clusters, signals: Floats) -> Floats:
        """Return the costs (T, K) of samples in clusters that the E-step compares."""
        return clusters.costs(signals, self._shrinkage)

    def _initial_responsibilities(
        self, signals: Floats, start: int, rng: np.random.RandomState
    ) -> Floats:
        """Return the responsibilities (T, K) of a start."""
        return np.eye(self.n_clusters)[spread_labels(signals, self.n_clusters, rng)]

    @single_threaded_blas
    def fit(self, X: Signals, y: Any = None) -> Self:
        self._validate_params()
        _, signals = self._learn(X, self.rescale)
        rng = check_random_state(self.random_state)
        best: tuple[float, Clusters] | None = None
        for start in range(self.n_init):
            found = self._warm_up(signals, self._initial_responsibilities(signals, start, rng))
            # Of starts that differ by rounding only, take the first.
            if best is None or found[0] < best[0] - 1e-9 * abs(best[0]):
                best = found
        assert best is not None
        clusters, responsibilities, history, converged = self._iterate(signals, best[1])
        self.objective_ = history.objective[-1]
        self.history_ = history.as_dict()
        self.n_iter_ = len(history.objective)
        self.shares_ = clusters.shares
        self.means_ = np.zeros((len(clusters.shares), self.n_features_in_), dtype=signals.dtype)
        self.means_[:, self.active_nodes_] = clusters.means
        self.beta_ = clusters.ridge
        self._describe(
            weights_in(self, clusters.weights, signals.dtype),
            responsibilities.astype(signals.dtype),
        )
        self._warn(converged)
        return self

    def _memberships(self, X: Signals) -> tuple[Floats, Recordings]:
        signals, recordings = self._prepare(X)
        clusters = self._clusters
        responsibilities = self._e_step(self._costs(clusters, signals), clusters.shares)[0]
        return responsibilities.astype(signals.dtype), recordings

    def _scores(self, X: Signals) -> tuple[Floats, Recordings]:
        signals, recordings = self._prepare(X)
        clusters = self._clusters
        normaliser = clusters.log_normalisers()
        with np.errstate(divide="ignore"):
            joint = np.log(clusters.shares) + normaliser - clusters.energies(signals) / 2
        return np.logaddexp.reduce(joint, axis=1), recordings

    @property
    def _clusters(self) -> Clusters:
        """The fitted clusters on the active nodes."""
        means = self.means_[:, self.active_nodes_]
        return Clusters(self.shares_, means, self._active_atoms, self.beta_)

    def _warm_up(self, signals: Floats, responsibilities: Floats) -> tuple[float, Clusters]:
        """Run some iterations of one start, in which the average degree sets the ridge."""
        clusters, objective = None, np.inf
        for _ in range(WARM_UP):
            clusters = self._m_step(signals, responsibilities, clusters, fix_ridge=False)
            costs = self._costs(clusters, signals)
            responsibilities, objective = self._e_step(costs, clusters.shares)
        assert clusters is not None
        return objective, clusters

    def _iterate(
        self, signals: Floats, clusters: Clusters
    ) -> tuple[Clusters, Floats, History, bool]:
        """Iterate with fixed ridges; return clusters, responsibilities, history, convergence."""
        history = History()
        costs = self._costs(clusters, signals)
        responsibilities, objective = self._e_step(costs, clusters.shares)
        for _ in range(self.max_iter):
            clusters = self._m_step(signals, responsibilities, clusters, fix_ridge=True)
            costs = self._costs(clusters, signals)
            responsibilities, lower = self._e_step(costs, clusters.shares)
            gain, objective = objective - lower, lower
            history.add(objective, {"gain": max(gain, 0.0)})
            if gain <= self.tol:
                return clusters, responsibilities, history, True
        return clusters, responsibilities, history, False

    def _m_step(
        self, signals: Floats, responsibilities: Floats, before: Clusters | None, *, fix_ridge: bool
    ) -> Clusters:
        """Return the clusters, given the responsibilities (T, K)."""
        mass = responsibilities.sum(axis=0)
        dead = mass < 1e-8 * len(signals)
        weighted = responsibilities / np.where(dead, 1.0, mass)
        if dead.any():  # an empty cluster gets all samples, so that it can recover
            weighted[:, dead] = 1 / len(signals)
        weighted = weighted.astype(signals.dtype)
        costs = products.weighted_distances(signals, weighted).astype(np.float64)
        means = np.zeros((responsibilities.shape[1], signals.shape[1]))
        if self._free_means:
            means = weighted.T.astype(np.float64) @ signals
            # Differences of equal numbers are rounding errors.
            rounding = 100 * float(np.finfo(signals.dtype).eps) * costs
            costs -= graphs.squared_differences(means)
            costs = np.where(costs > rounding, costs, 0)
        costs = without_rounding(costs) + self._shrinkage
        ridge = before.ridge if before is not None and fix_ridge else self._ridge(costs)
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
        """Warn where the fit did not converge, or clusters are empty."""
        if not converged:
            gain = self.history_["residual"][-1]
            self._warn_unconverged(self.max_iter, f"last gain {gain:.2g}")
        empty = np.flatnonzero(~(self.coefficients_ > 1e-8).any(axis=0))
        if empty.size:
            warn(
                f"{empty.size} of {self.n_clusters} clusters are empty: {empty.tolist()}. "
                "Use fewer clusters.",
                DeadAtomWarning,
            )
