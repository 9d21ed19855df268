"""What baselines share: the settings of the log-degree objective, graphs that are looked up."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from graphdict.core import graphs
from graphdict.core.graph_learning import choose_ridge
from graphdict.engine.estimator import SignalEstimator
from graphdict.results import InstantaneousGraphs

__all__ = ["COUNT", "LogDegreeBaseline", "StateGraphs"]

COUNT = Interval(Integral, 1, None, closed="left")


class StateGraphs(InstantaneousGraphs):
    """Instantaneous graphs of samples that have one atom each: looked up, never multiplied.

    Parameters
    ----------
    states : integer array (T,)
        The atom of each sample.
    atoms : array (K, E)
    node_names : sequence of N names, optional
    """

    def __init__(self, states: NDArray, atoms: NDArray, node_names: Any = None):
        self.states = np.atleast_1d(states)
        super().__init__(np.empty((0, len(atoms)), atoms.dtype), atoms, node_names)

    @property
    def coefficients(self) -> NDArray:
        """One-hot rows (T, K), built when asked for."""
        return np.eye(len(self.atoms), dtype=self.atoms.dtype)[self.states]

    @coefficients.setter
    def coefficients(self, _: NDArray) -> None:
        """The states say it all."""

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, samples: Any) -> StateGraphs:
        return StateGraphs(self.states[samples], self.atoms, self.node_names)

    @property
    def weights(self) -> NDArray:
        return self.atoms[self.states]

    @property
    def laplacians(self) -> NDArray:
        return graphs.laplacian(self.atoms)[self.states]

    @property
    def degrees(self) -> NDArray:
        return graphs.degrees(self.atoms)[self.states]


class LogDegreeBaseline(SignalEstimator):
    """Base of the methods that learn graphs with the objective of :class:`LogModel`."""

    avg_degree: float
    beta: float | None
    alpha_w: float

    _parameter_constraints: dict = {
        "avg_degree": [Interval(Real, 1, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left"), None],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "rescale": ["boolean"],
    }

    def _ridge(self, costs: NDArray, active: NDArray | None = None) -> NDArray:
        """The ridge of each row of ``costs`` (B, E), given or from the average degree."""
        return choose_ridge(costs, self.beta, self.avg_degree, active)
