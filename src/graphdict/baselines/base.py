"""What all baselines share: reading signals, naming nodes, and graphs that are looked up."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from graphdict import graphs
from graphdict.logdegree import choose_ridge
from graphdict.results import InstantaneousGraphs
from graphdict.signals import Preparation

__all__ = ["GraphBaseline", "LogDegreeBaseline", "StateGraphs"]


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


class GraphBaseline(BaseEstimator):
    """Base of the baselines: signals are prepared as for the dictionaries."""

    rescale: bool
    atoms_: NDArray

    def _read(self, X: ArrayLike, *, reset: bool) -> NDArray:
        return validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32],
            ensure_min_features=2 if reset else 1, ensure_min_samples=2 if reset else 1,
        )  # fmt: skip

    def _learn(self, X: ArrayLike) -> tuple[NDArray, NDArray]:
        """Training samples as given and as prepared; sets ``active_nodes_`` and ``scale_``."""
        samples = self._read(X, reset=True)
        preparation = Preparation.learn(
            samples, np.array(self.node_names, dtype=object), self.rescale
        )
        self.active_nodes_, self.scale_ = preparation.active, preparation.scale
        return samples[:, preparation.active], preparation.apply(samples)

    def _prepare(self, X: ArrayLike) -> NDArray:
        """New signals, prepared like the training signals."""
        check_is_fitted(self)
        return self._preparation.apply(self._read(X, reset=False))

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.active_nodes_, self.scale_)

    @property
    def _active_atoms(self) -> NDArray:
        """The atoms on the active nodes."""
        return self._preparation.restrict(self.atoms_)

    @property
    def node_names(self) -> list[str]:
        """Names of the nodes: the columns of the training DataFrame, else ``x0, x1, ...``."""
        check_is_fitted(self, "n_features_in_")
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names)


class LogDegreeBaseline(GraphBaseline):
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


COUNT = Interval(Integral, 1, None, closed="left")
