"""LogModel: one graph for all samples, by smoothness and a log barrier on the degrees."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from graphdict.baselines.base import LogDegreeBaseline, StateGraphs
from graphdict.core import graphs
from graphdict.core.annotations import Floats, RescaleName, Signals
from graphdict.core.gaussian import log_likelihoods
from graphdict.core.graph_learning import learn_graphs, log_degree_objective
from graphdict.core.recordings import Recordings
from graphdict.core.terms.missing import GappySmoothness, Gaps
from graphdict.core.terms.signal_terms import window_distances
from graphdict.engine.penalties import weights_in
from graphdict.engine.scores import LikelihoodScoreMixin
from graphdict.engine.signals import has_gaps
from graphdict.native import products


@dataclass(repr=False, eq=False)
class LogModel(LikelihoodScoreMixin, LogDegreeBaseline):
    """Static graph learning with a log barrier on the degrees (Kalofolias 2016).

    With ``z_ij`` the mean over samples of ``(x_ti - x_tj)^2``, solves the convex problem

        min over w >= 0   <w, z> + alpha_w sum(w) + beta/2 |w|^2 - sum_n log (D w)_n

    to the precision of the arithmetic. Kalofolias' ``|W o Z|_1 - a sum log(W 1) + b/2 |W|_F^2`` is
    twice this objective for ``a = 2`` and ``b = beta``; other values of ``a`` only scale the graph.

    Parameters
    ----------
    avg_degree : float, default=5
        Wanted number of edges at a node, which determines ``beta`` approximately (Kalofolias and
        Perraudin 2018).
    beta : float, optional
        Ridge, instead of an average degree: the larger, the denser the graph. Zero gives the
        sparsest graph.
    alpha_w : float, default=0.0
        Penalty on edge weights. Under a log barrier it makes graphs denser, not sparser.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that results do not depend on units.

    Attributes
    ----------
    atoms_ : array (1, E)
        Edge weights of the graph, in the order of ``np.triu_indices(N, 1)``.
    objective_ : float
        Objective at the solution.
    residual_ : float
        Largest relative violation of the optimality conditions.
    beta_ : float
        The ridge that was used.
    n_iter_ : int
        Newton steps.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    atoms_: Floats = field(init=False)
    objective_: float = field(init=False)
    n_iter_: int = field(init=False)
    residual_: float = field(init=False)
    beta_: float = field(init=False)

    _takes_gaps = True

    avg_degree: float = 5
    _: KW_ONLY
    beta: float | None = None
    alpha_w: float = 0.0
    rescale: bool | RescaleName = True

    def fit(self, X: Signals, y: Any = None) -> Self:
        self._validate_params()
        _, signals = self._learn(X, self.rescale)
        if has_gaps(signals):
            costs = window_distances(signals, np.array([len(signals)]))
        else:
            moments = (signals.T @ signals) / np.asarray(len(signals), dtype=signals.dtype)
            costs = graphs.laplacian_adjoint(moments)[None]
        costs = costs + np.asarray(self._shrinkage, signals.dtype)
        ridge = self._ridge(costs)
        found = learn_graphs(costs, ridge)
        self.atoms_ = self._preparation.embed(weights_in(self, found.weights, signals.dtype))
        self.objective_ = float(log_degree_objective(found.weights, costs, ridge)[0])
        self.residual_ = float(found.residual[0])
        self.beta_ = float(ridge[0])
        self.n_iter_ = max(found.n_iter, 1)
        return self

    def _scores(self, X: Signals) -> tuple[Floats, Recordings]:
        """Return the log-likelihood of each sample; the Laplacian is the precision."""
        signals, recordings = self._prepare(X)
        atoms = self._active_atoms
        if has_gaps(signals):
            energies = GappySmoothness(signals, Gaps.of_graphs(atoms[0])).energies(atoms)
        else:
            energies = products.energies(signals, atoms)
        normaliser = log_likelihoods(np.zeros((1, 1)), np.ones((1, 1)), atoms)
        return normaliser - energies[:, 0] / 2, recordings

    def instantaneous_graphs(self, X: Signals | None = None) -> StateGraphs:
        """Return the graph of each sample, the same for all.

        Parameters
        ----------
        X : array (T', N), optional
            Signals; a single sample by default.

        Returns
        -------
        StateGraphs
        """
        recordings = Recordings.single(1) if X is None else self._prepare(X)[1]
        states = np.zeros(recordings.total, dtype=np.intp)
        return StateGraphs(states, self.atoms_, self.node_names, recordings)
