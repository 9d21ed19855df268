"""GLMM: a Gaussian mixture whose precisions are graph Laplacians."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from graphdict.baselines.mixtures import LogDegreeMixture

__all__ = ["GLMM"]


class GLMM(LogDegreeMixture):
    """Graph Laplacian mixture model (Maretic and Frossard 2020): soft clusters of signals.

    Every cluster has a share ``pi_k``, a mean ``mu_k`` and a graph ``L_k``. Expectation
    maximisation minimises

        -1/T sum_t log sum_k pi_k exp(-c_tk / 2)
        c_tk = (x_t - mu_k)' L_k (x_t - mu_k) - sum_n log d_kn + alpha_w sum(w_k) + beta_k/2 |w_k|^2

    in which, as in the paper's graph update, log-degrees and a ridge stand for the log-determinant
    of the Gaussian density. Using them in the expectation as well makes the whole one objective,
    and both steps exact: it never rises from one iteration to the next.

    Parameters
    ----------
    n_clusters : int, default=5
        Number K of clusters.
    avg_degree : float, default=5
        Wanted number of edges at a node, from which the ``beta_k`` are set by the sorted distances
        while starts warm up; then they are held.
    beta : float, optional
        Ridge of all clusters, instead of an average degree. It must be positive.
    alpha_w : float, default=0.0
        Penalty on edge weights.
    max_iter : int, default=200
        Largest number of iterations after the warm-up.
    tol : float, default=1e-4
        Gain of the objective in an iteration at which to stop.
    n_init : int, default=4
        Starts: samples go to the nearest of K spread-out samples, or, in the second start, to the
        clusters of K-means. Each warms up for 15 iterations, and the best goes on.
    rescale : bool, default=True
        Divide all signals by one number, so that units do not matter.
    random_state : int, RandomState or None, default=None
        Decides everything random.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the clusters' graphs, in the order of ``np.triu_indices(N, 1)``.
    coefficients_ : array (T, K)
        Probability of each cluster for the training samples: what ``transform`` gives for them.
    labels_ : array (T,)
        The most likely cluster.
    means_ : array (K, N)
        In the units of the signals after taking each sample's mean over nodes and dividing by
        ``scale_``.
    shares_ : array (K,)
        ``pi``.
    objective_, history_, n_iter_
        The objective at the solution, by iteration, and their number.
    beta_ : array (K,)
        The ridges that were used.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    _free_means = True

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probability of each cluster for each sample, (T', K)."""
        return np.asarray(self.transform(X))

    def _assign(self, costs: NDArray, shares: NDArray) -> tuple[NDArray, float]:
        with np.errstate(divide="ignore"):
            joint = np.log(shares) - costs / 2
        highest = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - highest)
        total = scaled.sum(axis=1, keepdims=True)
        return scaled / total, -float(np.mean(highest + np.log(total)))

    def _first_shares(self, signals: NDArray, start: int, rng: Any) -> NDArray:
        """The second start is K-means, for clusters that differ in their means."""
        if start != 1 or self.n_clusters > len(signals):
            return super()._first_shares(signals, start, rng)
        clusters = KMeans(self.n_clusters, n_init=1, random_state=rng)
        with warnings.catch_warnings():  # fewer distinct samples than clusters will do
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.eye(self.n_clusters)[clusters.fit_predict(signals)]
