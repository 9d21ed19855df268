"""GLMM: a Gaussian mixture whose precisions are graph Laplacians."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from graphdict.baselines.clusters import SoftMixture
from graphdict.baselines.mixtures import Clusters, LogDegreeMixture
from graphdict.core.annotations import Floats


@dataclass(repr=False, eq=False, kw_only=True)
class GLMM(SoftMixture, LogDegreeMixture):
    """Graph Laplacian mixture model (Maretic and Frossard 2020): soft clusters of signals.

    Every cluster has a weight ``pi_k``, a mean ``mu_k`` and a graph ``L_k``. Expectation
    maximisation minimises

        -1/T sum_t log sum_k pi_k exp(-c_tk / 2)
        c_tk = (x_t - mu_k)' L_k (x_t - mu_k) - sum_n log d_kn + alpha_w sum(w_k) + beta_k/2 |w_k|^2

    where, as in the graph update of the paper, log-degrees and a ridge replace the log-determinant
    of the Gaussian density. They are used in the E-step as well, so that both steps are exact and
    never increase the objective. With ``responsibilities="log-det"`` the E-step is the published
    one, of the Gaussian density itself: the two steps then minimise different functions, and the
    objective, the negative log-likelihood, need not fall.

    Parameters
    ----------
    n_clusters : int, default=5
        Number K of clusters.
    avg_degree : float, default=5
        Wanted number of edges at a node, which determines the ``beta_k`` during the warm-up of a
        start; then they are fixed.
    beta : float, optional
        Ridge of all clusters, instead of an average degree. It must be positive.
    alpha_w : float, default=0.0
        Penalty on edge weights.
    responsibilities : {"log-degree", "log-det"}, default="log-degree"
        What the E-step compares clusters by: the costs ``c_tk``, or Gaussian densities.
    max_iter : int, default=200
        Largest number of iterations after the warm-up.
    tol : float, default=1e-4
        Stop when an iteration lowers the objective by less than this.
    n_init : int, default=4
        Number of starts: the nearest of K spread-out samples, or, in the second start, the clusters
        of K-means. Each start runs for 15 iterations, and the best is continued.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that results do not depend on units.
    random_state : int, RandomState or None, default=None
        Random seed or generator.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the clusters' graphs, in the order of ``np.triu_indices(N, 1)``.
    coefficients_ : array (T, K)
        Probability of each cluster in the training samples, as ``transform`` returns.
    labels_ : array (T,)
        The most likely cluster of each training sample.
    means_ : array (K, N)
        Means of the clusters, of signals centred over nodes and divided by ``scale_``.
    shares_ : array (K,)
        Weights ``pi`` of the clusters.
    objective_, history_, n_iter_
        Objective at the solution, history by iteration, number of iterations.
    beta_ : array (K,)
        The ridges that were used.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    _free_means = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LogDegreeMixture._parameter_constraints,
        "responsibilities": [StrOptions({"log-degree", "log-det"})],
    }

    responsibilities: Literal["log-degree", "log-det"] = "log-degree"

    def _costs(self, clusters: Clusters, signals: Floats) -> Floats:
        if self.responsibilities == "log-degree":
            return super()._costs(clusters, signals)
        return clusters.energies(signals) - 2 * clusters.log_normalisers()

    def _e_step(self, costs: Floats, shares: Floats) -> tuple[Floats, float]:
        with np.errstate(divide="ignore"):
            joint = np.log(shares) - costs / 2
        highest = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - highest)
        total = scaled.sum(axis=1, keepdims=True)
        return scaled / total, -float(np.mean(highest + np.log(total)))

    def _initial_responsibilities(self, signals: Floats, start: int, rng: Any) -> Floats:
        """Start the second time from K-means, for clusters that differ in their means."""
        if start != 1 or self.n_clusters > len(signals):
            return super()._initial_responsibilities(signals, start, rng)
        clusters = KMeans(self.n_clusters, n_init=1, random_state=rng)
        with warnings.catch_warnings():  # of fewer distinct samples than clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            result: Floats = np.eye(self.n_clusters)[clusters.fit_predict(signals)]
            return result
