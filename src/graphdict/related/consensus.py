"""ConsensusGraphs: the graphs of several views, each a small deviation from one that all share."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Floats, Integers, RescaleName, Signals
from graphdict.core.gaussian import log_likelihoods
from graphdict.core.graph_learning import average_degree_ridge, coupled_graphs, log_degree_objective
from graphdict.core.graph_learning.determinant import coupled_likelihood, likelihood_objective
from graphdict.core.graph_learning.windows import (
    active_nodes,
    connected_graphs,
    edges_between,
    without_rounding,
)
from graphdict.core.terms.signal_terms import window_distances
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.estimator import SignalEstimator
from graphdict.engine.penalties import effective_penalty, weights_in
from graphdict.native import products
from graphdict.related.deviations import consensus_of, consensus_prox, deviations
from graphdict.results import InstantaneousGraphs


@dataclass(repr=False, eq=False)
class ConsensusGraphs(SignalEstimator):
    """One graph for each view of the same nodes, all of them close to a consensus.

    Views are recordings, subjects or conditions that are known. In the words of a dictionary, a
    view is the consensus plus an atom of its own, coefficients are given (1 for the consensus, 1
    for the own atom), and a penalty keeps the own atoms small. Solves the convex problem

        min   sum_v p_v [ <w_v, z_v> + alpha_w sum(w_v) + beta/2 |w_v|^2 + h(w_v)
                          + alpha_views psi(w_v - c) ]

    over the graphs ``w_v >= 0`` of all views and the consensus ``c``. ``p_v`` is the share of the
    samples that are in view v, ``z_v`` the mean squared differences over its edges, and ``psi`` the
    L1 norm, for views that differ in a few edges, or half the squared norm, for views that differ a
    little everywhere (Karaaslanli and Aviyente 2025). ``h`` is a barrier, see ``likelihood``.

    Parameters
    ----------
    alpha_views : float, default=0.2
        Penalty on deviations from the consensus. Zero learns every view by itself; a large one
        gives all views the same graph.
    penalty : {"l1", "l2"}, default="l1"
        Norm of the deviations.
    likelihood : {"log-degree", "log-det"}, default="log-degree"
        The barrier: ``-sum_n log (D w_v)_n``, which does with few samples and with signals that are
        smoother than a Markov field, or ``-log det_+ L_v`` of the Gaussian density itself. With the
        first, ``alpha_views=0`` gives the graphs of :class:`graphdict.baselines.LogModel`.
    avg_degree : float or None, default=5
        Wanted number of edges at a node, which determines ``beta`` by all samples together.
    beta : float, default=0.0
        Ridge, where ``avg_degree`` is None. The larger, the denser the graphs.
    alpha_w : float, default=0.0
        Penalty on edge weights.
    max_iter : int, default=500
        Largest number of iterations of ADMM.
    tol : float, default=1e-4
        Relative primal and dual residual at which to stop.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that results do not depend on units.

    Attributes
    ----------
    atoms_ : array (V, E)
        Edge weights of the graph of each view, in the order of ``views_``.
    consensus_ : array (E,)
        Edge weights of the consensus: the weighted median over views for "l1", the mean for "l2".
    views_ : array (V,)
        Labels of the views, sorted.
    states_ : integer array (T,)
        View of each training sample, an index into ``views_``.
    objective_, history_, n_iter_
        Objective at the solution, history by iteration, number of iterations.
    beta_ : float
        The ridge that was used.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    atoms_: Floats = field(init=False)
    objective_: float = field(init=False)
    n_iter_: int = field(init=False)
    consensus_: Floats = field(init=False)
    views_: NDArray[Any] = field(init=False)
    states_: Integers = field(init=False)
    history_: dict[str, NDArray[Any]] = field(init=False)
    beta_: float = field(init=False)

    _gaps_advice = (
        "GraphDictLog, GraphDictMarginal and LogModel, for example, accept missing values"
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha_views": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"l1", "l2"})],
        "likelihood": [StrOptions({"log-det", "log-degree"})],
        "avg_degree": [Interval(Real, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, None, closed="left")],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rescale": ["boolean", StrOptions({"recording"})],
    }

    alpha_views: float = 0.2
    _: KW_ONLY
    penalty: Literal["l1", "l2"] = "l1"
    likelihood: Literal["log-degree", "log-det"] = "log-degree"
    avg_degree: float | None = 5
    beta: float = 0.0
    alpha_w: float = 0.0
    max_iter: int = 500
    tol: float = 1e-4
    rescale: bool | RescaleName = True

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"alpha_w": 1, "beta": 2, "alpha_views": 1 if self.penalty == "l1" else 2}

    @single_threaded_blas
    def fit(self, X: Signals, y: ArrayLike | None = None) -> Self:
        """Learn the graphs of all views, and their consensus.

        Parameters
        ----------
        X : array (T, N)
            Signals of all views.
        y : array (T,), optional
            The view of each sample, by any labels; all are of one view where it is omitted.

        Returns
        -------
        self
        """
        self._validate_params()
        samples, signals = self._learn(X, self.rescale)
        labels = np.zeros(len(signals), dtype=int) if y is None else _labels(y, len(signals))
        self.views_, self.states_ = np.unique(labels, return_inverse=True)
        order = np.argsort(self.states_, kind="stable")
        counts = np.bincount(self.states_)
        shares = counts / counts.sum()
        costs = without_rounding(window_distances(signals[order], counts).astype(np.float64))
        costs = costs + effective_penalty(self, "alpha_w")
        alpha = effective_penalty(self, "alpha_views")
        active = active_nodes(samples[order], counts)[:, self.active_nodes_]
        self.beta_ = effective_penalty(self, "beta")
        if self.avg_degree is not None:
            average = (shares @ costs)[None]
            self.beta_ = float(average_degree_ridge(average, float(self.avg_degree))[0])

        def deviation(weights: Floats) -> float:
            size = deviations(weights, shares, self.penalty)
            return float(alpha * (shares @ size))

        solve = coupled_likelihood if self.likelihood == "log-det" else coupled_graphs
        found = solve(
            costs,
            self.beta_,
            lambda values, step: consensus_prox(values, step * alpha, shares, self.penalty),
            deviation,
            shares=shares,
            active=active,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.history_ = found.history.as_dict()
        self.n_iter_ = len(found.history.objective)
        if not found.converged:
            residual = found.history.residual[-1]
            self._warn_unconverged(self.max_iter, f"largest relative residual {residual:.2g}")
        weights = found.consensus if self.likelihood == "log-det" else found.weights
        weights = weights * edges_between(active)
        measure = likelihood_objective if self.likelihood == "log-det" else log_degree_objective

        def objective(weights: Floats) -> float:
            return float(shares @ measure(weights, costs, self.beta_, active)) + deviation(weights)

        weights = connected_graphs(weights, objective, costs + self.beta_**0.5, active)
        self.objective_ = objective(weights)
        consensus = consensus_of(weights, shares, self.penalty)
        self.atoms_ = self._preparation.embed(weights_in(self, weights, signals.dtype))
        self.consensus_ = self._preparation.embed(consensus.astype(signals.dtype))
        return self

    @property
    def deviations_(self) -> Floats:
        """What each view has more or less than the consensus (V, E)."""
        check_is_fitted(self)
        return self.atoms_ - self.consensus_

    def score(self, X: Signals, y: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood per sample; the Laplacian of its view is the precision.

        A fit maximises it, penalised, with ``likelihood="log-det"`` only: to choose ``alpha_views``
        by it, take that.

        Parameters
        ----------
        X : array (T', N)
            Signals.
        y : array (T',), optional
            The view of each sample; needed where there is more than one.

        Returns
        -------
        float
        """
        signals, _ = self._prepare(X)
        states = self._states(y, len(signals))
        atoms = self._active_atoms
        one_hot = np.eye(len(atoms))
        normalisers = log_likelihoods(np.zeros_like(one_hot), one_hot, atoms)
        energies = products.energies(signals, atoms)[np.arange(len(signals)), states]
        return float(np.mean(normalisers[states] - energies / 2))

    def instantaneous_graphs(
        self, X: Signals | None = None, y: ArrayLike | None = None
    ) -> InstantaneousGraphs:
        """Return the graph of each sample, that of its view.

        Parameters
        ----------
        X : array (T', N), optional
            Signals; those of the fit by default.
        y : array (T',), optional
            The view of each sample; needed where there is more than one.

        Returns
        -------
        InstantaneousGraphs
        """
        check_is_fitted(self)
        states = self.states_ if X is None else self._states(y, self._prepare(X)[1].total)
        return InstantaneousGraphs(np.eye(len(self.atoms_))[states], self.atoms_, self.node_names)

    def _states(self, y: ArrayLike | None, count: int) -> Integers:
        """Return the views of new samples as indices."""
        if y is None:
            if len(self.views_) > 1:
                raise ValueError(
                    f"y must say which of the {len(self.views_)} views each sample is of"
                )
            return np.zeros(count, dtype=np.intp)
        labels = _labels(y, count)
        view_of = np.searchsorted(self.views_, labels)
        known = self.views_[np.minimum(view_of, len(self.views_) - 1)] == labels
        if not known.all():
            raise ValueError(
                f"y has views that the fit did not see, such as {labels[~known][0]!r}; known are "
                f"{', '.join(map(str, self.views_[:10]))}"
            )
        return view_of


def _labels(y: ArrayLike, count: int) -> NDArray[Any]:
    """Return the labels (T,) of views."""
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise ValueError(
            f"y must hold the view of each of the {count} samples, got an array of shape "
            f"{labels.shape}"
        )
    return labels
