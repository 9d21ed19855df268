"""Shared parts of the baselines: settings of the log-degree objective, scores, state graphs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from graphdict.core import graphs
from graphdict.core.annotations import RowIndex
from graphdict.core.graph_learning import choose_ridge
from graphdict.engine.estimator import SignalEstimator
from graphdict.engine.penalties import LEAST
from graphdict.results import InstantaneousGraphs

__all__ = ["COUNT", "LikelihoodScoreMixin", "LogDegreeBaseline", "StateGraphs"]

COUNT = Interval(Integral, 1, None, closed="left")


class StateGraphs(InstantaneousGraphs):
    """Instantaneous graphs of samples with exactly one active atom each.

    Parameters
    ----------
    states : integer array (T,)
        Index of the atom of each sample.
    atoms : array (K, E)
        Edge weights.
    node_names : sequence of N names, optional
    """

    states: NDArray[np.intp]

    def __init__(
        self,
        states: NDArray[np.intp],
        atoms: NDArray[np.float64],
        node_names: Sequence[Any] | None = None,
    ):
        self.states = np.atleast_1d(states)
        super().__init__(np.empty((0, len(atoms)), atoms.dtype), atoms, node_names)

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """One-hot rows (T, K)."""
        return np.eye(len(self.atoms), dtype=self.atoms.dtype)[self.states]

    @coefficients.setter
    def coefficients(self, _: NDArray[np.float64]) -> None:
        """Ignore: coefficients follow from the states."""

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, samples: RowIndex) -> StateGraphs:
        return StateGraphs(self.states[samples], self.atoms, self.node_names)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Edge weights (T, E)."""
        return self.atoms[self.states]

    @property
    def laplacians(self) -> NDArray[np.float64]:
        """Combinatorial Laplacians (T, N, N)."""
        return graphs.laplacian(self.atoms)[self.states]

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Node degrees (T, N)."""
        return graphs.degrees(self.atoms)[self.states]


class LikelihoodScoreMixin:
    """Score of the estimators that have ``score_samples``."""

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log-likelihood of each sample.

        Parameters
        ----------
        X : array (T', N)
            Signals.

        Returns
        -------
        array (T',)
        """
        raise NotImplementedError

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the mean log-likelihood per sample; higher is better.

        Parameters
        ----------
        X : array (T', N)
            Signals.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())


class LogDegreeBaseline(SignalEstimator):
    """Base class of the methods that learn graphs with the objective of :class:`LogModel`."""

    avg_degree: float
    beta: float | None
    alpha_w: float

    _parameter_constraints: dict[str, Any] = {
        "avg_degree": [Interval(Real, 1, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left"), None],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "rescale": ["boolean"],
    }

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"alpha_w": 1, "beta": 2}

    @property
    def _shrinkage(self) -> float:
        """``alpha_w``, or zero where it is next to that."""
        return float(self.alpha_w) if self.alpha_w > LEAST else 0.0

    def _ridge(
        self, costs: NDArray[np.float64], active: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Return the ridge (B,) of edge costs (B, E): ``beta``, or by the average degree."""
        return choose_ridge(costs, self.beta, self.avg_degree, active)
