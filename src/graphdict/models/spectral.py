"""GraphDictSpectral: all graphs share eigenvectors, and only their spectra are learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.core import graphs
from graphdict.core.annotations import (
    HeldVariable,
    InitName,
    RandomState,
    SolverName,
    StrPath,
    Term,
)
from graphdict.core.likelihoods import LogSpectra
from graphdict.core.solvers.base import Callback
from graphdict.core.terms.likelihoods import centred_basis
from graphdict.engine.memory import BLOCK
from graphdict.engine.signals import each_block
from graphdict.engine.storage.fitted import FittedValue
from graphdict.models.docs import document
from graphdict.models.soft import SoftDictionary

__all__ = ["GraphDictSpectral"]


@document
class GraphDictSpectral(SoftDictionary):
    """Graph dictionary whose graphs act as filters in one shared Fourier basis.

    All Laplacians are ``U diag(spectrum) U'`` for the eigenvectors ``U`` of the signals'
    covariance, or given ``modes``. A signal then varies over its graph by ``sum_m spectrum_m (u_m'
    x)^2``, and ``-log det_+`` is ``-sum_m log spectrum_m``: a sample costs O(K N) instead of O(K
    N^2). The mode of constant signals is left out.

    Atoms are learned as graphs that enter by their spectra ``u_m' L_k u_m`` alone. What is shown of
    each is the graph of its spectrum and the shared eigenvectors, without edges whose weights would
    be negative; or the learned graph itself where ``atom_priors`` choose among graphs of one
    spectrum.
    """

    modes_: NDArray[np.float64]
    _own_parameters = """
    modes : array (N, M), optional
        Orthonormal eigenvectors in columns; one that is constant is left out. By default those of
        the covariance of the training signals.
    """
    _own_attributes = """
    modes_ : array (N, M)
        The shared eigenvectors; rows of silent nodes are zero.
    """
    _parameter_constraints: dict[str, Any] = {
        **SoftDictionary._parameter_constraints,
        "modes": ["array-like", None],
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
        modes: ArrayLike | None = None,
        solver: SolverName = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        n_init: int = 1,
        init: InitName = "k-means++",
        atoms: ArrayLike | None = None,
        coefficients: ArrayLike | None = None,
        fix: HeldVariable | None = None,
        atom_priors: Sequence[Term] | None = None,
        coefficient_priors: Sequence[Term] | None = None,
        rescale: bool = True,
        random_state: RandomState = None,
        callback: Callback | None = None,
        checkpoint: StrPath | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            n_atoms, alpha_w=alpha_w, alpha_c=alpha_c, alpha_orth=alpha_orth,
            alpha_diff=alpha_diff, window_size=window_size, solver=solver, max_iter=max_iter,
            tol=tol, n_init=n_init, init=init, atoms=atoms, coefficients=coefficients, fix=fix,
            atom_priors=atom_priors, coefficient_priors=coefficient_priors, rescale=rescale,
            random_state=random_state, callback=callback, checkpoint=checkpoint, verbose=verbose,
        )  # fmt: skip
        self.modes = modes

    _needed = (*SoftDictionary._needed, "modes_")
    _fitted_values = {**SoftDictionary._fitted_values, "modes_": FittedValue("NM", -np.inf)}

    def _learn_likelihood(self, signals: NDArray[np.float64]) -> None:
        nodes = len(self.active_nodes_)
        if self.modes is None:
            basis = centred_basis(signals.shape[1])
            gaps = self._gaps(signals)
            if gaps is None:
                moments = sum(each_block(signals, _second_moments))
            else:  # the same from distances, up to constants
                moments = -graphs.adjacency(sum(each_block(signals, gaps.sum_of_distances))) / 2
            moments = basis.T @ moments.astype(np.float64) @ basis
            active = basis @ np.linalg.eigh(moments)[1]
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

    def _graphs_of(self, atoms: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.fix == "atoms" or self.atom_priors:
            return atoms
        spectra = self._likelihood().spectra
        return np.maximum(spectra.weights(spectra.apply(atoms)), 0)


def _second_moments(block: NDArray[np.float64]) -> NDArray[np.float64]:
    return block.T @ block
