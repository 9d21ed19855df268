"""Shared parts of the baselines: settings of the log-degree objective, state graphs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers, RowIndex
from graphdict.core.graph_learning import choose_ridge
from graphdict.core.recordings import Recordings
from graphdict.engine.estimator import SignalEstimator
from graphdict.engine.penalties import effective_penalty
from graphdict.results import InstantaneousGraphs

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
    recordings : Recordings, optional
    """

    states: Integers

    def __init__(
        self,
        states: Integers,
        atoms: Floats,
        node_names: Sequence[Any] | None = None,
        recordings: Recordings | None = None,
    ):
        self.states = np.atleast_1d(states)
        none = np.empty((0, len(atoms)), atoms.dtype)
        super().__init__(none, atoms, node_names, recordings=recordings)

    @property
    def coefficients(self) -> Floats:
        """One-hot rows (T, K)."""
        return np.eye(len(self.atoms), dtype=self.atoms.dtype)[self.states]

    @coefficients.setter
    def coefficients(self, _: Floats) -> None:
        """Ignore: coefficients follow from the states."""

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, samples: RowIndex) -> StateGraphs:
        some = StateGraphs(self.states[samples], self.atoms, self.node_names, self.recordings)
        some._rows = self._rows_of(samples)
        return some

    @property
    def weights(self) -> Floats:
        """Edge weights (T, E)."""
        return self.atoms[self.states]

    @property
    def laplacians(self) -> Floats:
        """Combinatorial Laplacians (T, N, N)."""
        return graphs.laplacian(self.atoms)[self.states]

    @property
    def degrees(self) -> Floats:
        """Node degrees (T, N)."""
        return graphs.degrees(self.atoms)[self.states]


class LogDegreeBaseline(SignalEstimator):
    """Base class of the methods that learn graphs with the objective of :class:`LogModel`."""

    avg_degree: float
    beta: float | None
    alpha_w: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "avg_degree": [Interval(Real, 1, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left"), None],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "rescale": ["boolean", StrOptions({"recording"})],
    }

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"alpha_w": 1, "beta": 2}

    @property
    def _shrinkage(self) -> float:
        """``alpha_w``, or 0 where it is too small to matter."""
        return effective_penalty(self, "alpha_w")

    def _ridge(self, costs: Floats, active: Booleans | None = None) -> Floats:
        """Return the ridge (B,) of edge costs (B, E): ``beta``, or by the average degree."""
        beta = None if self.beta is None else effective_penalty(self, "beta")
        return choose_ridge(costs, beta, self.avg_degree, active)
