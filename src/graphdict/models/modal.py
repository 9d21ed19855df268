"""Base of the dictionaries with shared modes: how the modes are given or learned from signals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from graphdict.core import graphs
from graphdict.core.annotations import Floats, ModesName
from graphdict.core.graph_learning.determinant import coupled_likelihood
from graphdict.core.likelihoods import LogSpectra
from graphdict.core.terms import LogBarrier
from graphdict.engine.containers import as_numbers
from graphdict.engine.signals import BLOCK_BYTES, each_block
from graphdict.engine.storage.fitted import FittedValue
from graphdict.models.soft import SoftDictionary


@dataclass(repr=False, eq=False, kw_only=True)
class ModalDictionary(SoftDictionary):
    """Base of the dictionaries with a spectral likelihood."""

    modes: ArrayLike | ModesName | None = "covariance"
    modes_: Floats = field(init=False)
    _own_parameters = """
    modes : array (N, M), "covariance" or "graph", default="covariance"
        Orthonormal eigenvectors in columns; one that is constant is left out. "covariance" takes
        those of the training signals' covariance; "graph" learns them: those of the one graph that
        explains all training signals best.
    """
    _own_attributes = """
    modes_ : array (N, M)
        The shared eigenvectors; rows of silent nodes are zero.
    """
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SoftDictionary._parameter_constraints,
        "modes": ["array-like", StrOptions({"covariance", "graph"}), None],
    }

    _needed = (*SoftDictionary._needed, "modes_")
    _fitted_values = {**SoftDictionary._fitted_values, "modes_": FittedValue("NM", -np.inf)}

    def _learn_likelihood(self, signals: Floats) -> None:
        nodes = len(self.active_nodes_)
        if self.modes is None or isinstance(self.modes, str):
            distances = self._mean_distances(signals)
            active = eigenvectors(
                -graphs.adjacency(distances) / 2  # the covariance, up to constants
                if self.modes != "graph"
                else graphs.laplacian(one_graph(distances, self.alpha_w))
            )
            modes = np.zeros((nodes, active.shape[1]))
            modes[self.active_nodes_] = active
        else:
            modes = as_numbers("modes", self.modes, np.float64)
            if modes.ndim != 2 or len(modes) != nodes:
                raise ValueError(f"modes must have shape ({nodes}, M), got {modes.shape}")
            if not np.isfinite(modes).all():
                raise ValueError("modes must be finite")
            modes = self._usable(modes)
        self.modes_ = modes.astype(signals.dtype)

    def _mean_distances(self, signals: Floats) -> Floats:
        """Return the mean squared difference (E,) of every pair of nodes."""
        gaps = self._gaps(signals)
        if gaps is None:
            moments = sum(each_block(signals, _second_moments)).astype(np.float64)
            return graphs.laplacian_adjoint(moments) / len(signals)
        total: Any = sum(each_block(signals, gaps.sum_of_distances))
        return np.asarray(total, dtype=np.float64) / len(signals)

    def _usable(self, modes: Floats) -> Floats:
        """Return given modes on the active nodes, without constants, which have no energy."""
        modes = modes[:, np.ptp(modes, axis=0) > 1e-8]
        off = np.abs(modes.T @ modes - np.eye(modes.shape[1])).max(initial=0)
        if off > 1e-4:
            raise ValueError(
                "modes must be orthonormal columns, such as eigenvectors of a Laplacian; their "
                f"inner products are off by {off:.2g}"
            )
        active = modes[self.active_nodes_]
        active = active - active.mean(axis=0)
        if not np.allclose(active.T @ active, np.eye(active.shape[1]), atol=1e-4):
            found, size = np.linalg.qr(active)  # in their order; what depends on others is left out
            active = (found * np.sign(np.diag(size)))[:, np.abs(np.diag(size)) > 1e-6]
        if not active.shape[1]:
            raise ValueError("modes must have a column that is not constant on the active nodes")
        usable = np.zeros((len(modes), active.shape[1]))
        usable[self.active_nodes_] = active
        return usable

    def _likelihood(self) -> LogSpectra:
        return LogSpectra(self.modes_[self.active_nodes_])

    def _barrier(self) -> LogBarrier:
        return LogBarrier()

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows = -(-samples // self.window_size)
        powers = 3 * min(samples * nodes * size, BLOCK_BYTES)
        _, solving = super()._memory_needed(samples, nodes, size)
        if windows < samples:  # of a window, powers are kept in place of pairs
            solving -= windows * graphs.n_edges(nodes) * size
        return powers, solving + windows * nodes * size


def eigenvectors(matrix: Floats) -> Floats:
    """Return eigenvectors (N, N - 1) of a matrix on signals of zero mean, eigenvalues ascending."""
    basis = graphs.zero_sum_basis(len(matrix))
    result: Floats = basis @ np.linalg.eigh(basis.T @ matrix @ basis)[1]
    return result


def one_graph(distances: Floats, alpha: float) -> Floats:
    """Return weights (E,) of the graph of highest likelihood for mean squared differences (E,).

    ``alpha`` is what an edge weight costs.
    """
    found = coupled_likelihood(
        distances[None], 0.0, lambda x, step: np.maximum(x - step * alpha, 0),
        lambda x: alpha * float(x.sum()), shares=np.ones(1),
        active=np.ones((1, graphs.n_nodes(len(distances))), dtype=bool), max_iter=5000, tol=1e-7,
    )  # fmt: skip
    weights: Floats = found.weights[0]
    return weights


def _second_moments(block: Floats) -> Floats:
    return block.T @ block
