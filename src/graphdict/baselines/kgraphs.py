"""KGraphs: K-means with a graph instead of a centre for each cluster."""

from __future__ import annotations

import numpy as np

from graphdict.baselines.mixtures import LogDegreeMixture
from graphdict.core.annotations import Floats


class KGraphs(LogDegreeMixture):
    """K-Graphs (Araghi, Sabbaqi and Babaie-Zadeh 2019): hard clusters of signals.

    Minimises, over a cluster ``k(t)`` for each sample and a graph ``w_k >= 0`` for each cluster,

        1/T sum_t c_{t, k(t)}
        c_tk = x_t' L_k x_t - sum_n log d_kn + alpha_w sum(w_k) + beta_k/2 |w_k|^2

    by alternating between the graphs of given clusters, each the solution of a :class:`LogModel`,
    and the assignment of each sample to the cluster of least cost. Neither step increases the
    objective. The terms of the graph count once per sample, so that they do not depend on the size
    of the cluster and take part in the assignment.

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
    max_iter : int, default=200
        Largest number of iterations after the warm-up.
    tol : float, default=1e-4
        Stop when an iteration lowers the objective by less than this.
    n_init : int, default=4
        Number of starts, from the nearest of K spread-out samples. Each start runs for 15
        iterations, and the best is continued.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that results do not depend on units.
    random_state : int, RandomState or None, default=None
        Random seed or generator.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the clusters' graphs, in the order of ``np.triu_indices(N, 1)``.
    coefficients_ : array (T, K)
        One-hot rows of the training samples, as ``transform`` returns.
    labels_ : array (T,)
        Cluster of each training sample.
    shares_ : array (K,)
        Share of the samples in each cluster.
    objective_, history_, n_iter_
        Objective at the solution, history by iteration, number of iterations.
    beta_ : array (K,)
        The ridges that were used.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    def _e_step(self, costs: Floats, shares: Floats) -> tuple[Floats, float]:
        nearest = costs.argmin(axis=1)
        return np.eye(costs.shape[1])[nearest], float(costs.min(axis=1).mean())
