"""KGraphs: K-means with a graph for each cluster in place of a centre."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.baselines.mixtures import LogDegreeMixture

__all__ = ["KGraphs"]


class KGraphs(LogDegreeMixture):
    """K-Graphs (Araghi, Sabbaqi and Babaie-Zadeh 2019): hard clusters of signals.

    Minimises, over a cluster ``k(t)`` for each sample and a graph ``w_k >= 0`` for each cluster,

        1/T sum_t c_{t, k(t)}
        c_tk = x_t' L_k x_t - sum_n log d_kn + alpha_w sum(w_k) + beta_k/2 |w_k|^2

    by learning the graphs for given clusters, each the exact solution of a :class:`LogModel`, and
    moving each sample to the cluster where it costs least, in turns. Neither step raises the
    objective. The graph's own terms are counted once for every sample: a large cluster is then not
    held to a smaller graph, and the terms take part in the assignment.

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
        Starts, in which samples go to the nearest of K spread-out samples. Each warms up for 15
        iterations, and the best goes on.
    rescale : bool, default=True
        Divide all signals by one number, so that units do not matter.
    random_state : int, RandomState or None, default=None
        Decides everything random.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the clusters' graphs, in the order of ``np.triu_indices(N, 1)``.
    coefficients_ : array (T, K)
        One-hot rows: what ``transform`` gives for the training samples.
    labels_ : array (T,)
        The cluster of each training sample.
    shares_ : array (K,)
        Share of the samples in each cluster.
    objective_, history_, n_iter_
        The objective at the solution, by iteration, and their number.
    beta_ : array (K,)
        The ridges that were used.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    def _assign(self, costs: NDArray, shares: NDArray) -> tuple[NDArray, float]:
        nearest = costs.argmin(axis=1)
        return np.eye(costs.shape[1])[nearest], float(costs.min(axis=1).mean())
