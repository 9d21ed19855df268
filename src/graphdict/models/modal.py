"""Dictionaries that see of graphs their energies in shared modes: where these come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions

from graphdict.core import graphs
from graphdict.core.annotations import (
    HeldVariable,
    InitName,
    ModesName,
    RandomState,
    RescaleName,
    SolverName,
    StrPath,
    Term,
)
from graphdict.core.graph_learning.determinant import coupled_likelihood
from graphdict.core.likelihoods import LogSpectra
from graphdict.core.solvers.base import Callback
from graphdict.core.terms.likelihoods import centred_basis
from graphdict.engine.memory import BLOCK
from graphdict.engine.signals import each_block
from graphdict.engine.storage.fitted import FittedValue
from graphdict.models.soft import SoftDictionary

__all__ = ["ModalDictionary", "eigenvectors", "one_graph"]


class ModalDictionary(SoftDictionary):
    """Base of the dictionaries with a spectral likelihood."""

    modes_: NDArray[np.float64]
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
    _parameter_constraints: dict[str, Any] = {
        **SoftDictionary._parameter_constraints,
        "modes": ["array-like", StrOptions({"covariance", "graph"}), None],
    }

    def __init__(
        self,
        n_atoms: int = 5,
        *,
        alpha_w: float = 0.1,
        alpha_c: float = 0.0,
        alpha_orth: float = 0.0,
        alpha_diff: float = 0.0,
        window_size: int = 1,
        modes: ArrayLike | ModesName | None = "covariance",
        solver: SolverName = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        tau_atoms: float | None = None,
        tau_coefficients: float | None = None,
        sigma: float | None = None,
        last_iterate: bool = False,
        n_init: int = 1,
        init: InitName = "k-means++",
        atoms: ArrayLike | None = None,
        coefficients: ArrayLike | None = None,
        fix: HeldVariable | None = None,
        atom_priors: Sequence[Term] | None = None,
        coefficient_priors: Sequence[Term] | None = None,
        rescale: bool | RescaleName = True,
        random_state: RandomState = None,
        callback: Callback | None = None,
        checkpoint: StrPath | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            n_atoms, alpha_w=alpha_w, alpha_c=alpha_c, alpha_orth=alpha_orth,
            alpha_diff=alpha_diff, window_size=window_size, solver=solver, max_iter=max_iter,
            tol=tol, tau_atoms=tau_atoms, tau_coefficients=tau_coefficients, sigma=sigma,
            last_iterate=last_iterate, n_init=n_init, init=init, atoms=atoms,
            coefficients=coefficients, fix=fix,
            atom_priors=atom_priors, coefficient_priors=coefficient_priors, rescale=rescale,
            random_state=random_state, callback=callback, checkpoint=checkpoint, verbose=verbose,
        )  # fmt: skip
        self.modes = modes

    _needed = (*SoftDictionary._needed, "modes_")
    _fitted_values = {**SoftDictionary._fitted_values, "modes_": FittedValue("NM", -np.inf)}

    def _learn_likelihood(self, signals: NDArray[np.float64]) -> None:
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
            try:
                modes = np.array(self.modes, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"modes must be an array of numbers: {error}") from error
            if modes.ndim != 2 or len(modes) != nodes:
                raise ValueError(f"modes must have shape ({nodes}, M), got {modes.shape}")
            if not np.isfinite(modes).all():
                raise ValueError("modes must be finite")
            modes = self._usable(modes)
        self.modes_ = modes.astype(signals.dtype)

    def _mean_distances(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean squared difference (E,) of every pair of nodes."""
        gaps = self._gaps(signals)
        if gaps is None:
            moments = sum(each_block(signals, _second_moments)).astype(np.float64)
            return graphs.laplacian_adjoint(moments) / len(signals)
        total: Any = sum(each_block(signals, gaps.sum_of_distances))
        return np.asarray(total, dtype=np.float64) / len(signals)

    def _usable(self, modes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Given modes on the active nodes, without constants, which have no energy anywhere."""
        modes = modes[:, np.ptp(modes, axis=0) > 1e-8]
        off = np.abs(modes.T @ modes - np.eye(modes.shape[1])).max(initial=0)
        if off > 1e-4:
            raise ValueError(
                "modes must be orthonormal columns, such as eigenvectors of a Laplacian; their "
                f"products are off by {off:.2g}"
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

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows = -(-samples // self.window_size)
        powers = 3 * min(samples * nodes * size, BLOCK)
        _, solving = super()._memory_needed(samples, nodes, size)
        if windows < samples:  # of a window, powers are kept in place of pairs
            solving -= windows * graphs.n_edges(nodes) * size
        return powers, solving + windows * nodes * size


def eigenvectors(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Eigenvectors (N, N - 1) of a matrix on signals of zero mean, by ascending eigenvalue."""
    basis = centred_basis(len(matrix))
    result: NDArray[np.float64] = basis @ np.linalg.eigh(basis.T @ matrix @ basis)[1]
    return result


def one_graph(distances: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Weights (E,) of the graph of highest likelihood for mean squared differences (E,).

    ``alpha`` is what an edge weight costs.
    """
    found = coupled_likelihood(
        distances[None], 0.0, lambda x, step: np.maximum(x - step * alpha, 0),
        lambda x: alpha * float(x.sum()), shares=np.ones(1),
        active=np.ones((1, graphs.n_nodes(len(distances))), dtype=bool), max_iter=5000, tol=1e-7,
    )  # fmt: skip
    weights: NDArray[np.float64] = found.weights[0]
    return weights


def _second_moments(block: NDArray[np.float64]) -> NDArray[np.float64]:
    return block.T @ block
