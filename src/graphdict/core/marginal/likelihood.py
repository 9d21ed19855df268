"""The Gaussian likelihood of signals under the graph of each pattern, connected or not.

The graph of pattern ``c`` is ``L_c = sum_{k in c} L_k``, and signals that sum to zero over nodes
have the density of precision ``L_c + N_c / noise``. ``N_c`` projects onto the signals, other than
constants, that ``L_c`` is blind to: those constant on each connected component. A graph that falls
apart thus says that each component sums to (almost) zero and an isolated node is (almost) silent,
as in a degenerate field, and the density stays finite and comparable between all patterns. For a
connected graph ``N_c = 0`` and it is the exact log-det likelihood.

Only C matrices are factorised, whatever the number of samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from graphdict.core import graphs

__all__ = ["NOISE", "PatternGraphs"]

NOISE = 1e-10  # variance, relative to that of the signals, in directions without any
BLOCK_BYTES = 1 << 24


@dataclass
class PatternGraphs:
    """The graphs of all patterns (C, K) on ``nodes`` nodes, for atoms that keep their support."""

    patterns: NDArray
    nodes: int
    noise: float = NOISE
    components: dict[int, NDArray] = field(default_factory=dict)

    @classmethod
    def of(cls, patterns: NDArray, atoms: NDArray, noise: float = NOISE) -> PatternGraphs:
        """Find the components of every pattern; ``components`` holds those with several."""
        nodes = graphs.n_nodes(atoms.shape[1])
        support = atoms > 0
        found: dict[int, NDArray] = {}
        if not support.all(axis=1).all():
            for index, pattern in enumerate(patterns):
                edges = support[pattern > 0].any(axis=0)
                if edges.all():
                    continue
                count, labels = connected_components(graphs.adjacency(edges), directed=False)
                if count > 1:
                    found[index] = np.eye(count)[labels] / np.sqrt(np.bincount(labels))
        return cls(patterns, nodes, noise, found)

    def log_determinants(self, atoms: NDArray) -> NDArray:
        """Log-determinant of each pattern's precision (C,) on signals that sum to zero."""
        values = np.empty(len(self.patterns))
        for rows, matrices in self.precisions(atoms):
            values[rows] = _log_determinants(matrices)
        for index, basis in self.components.items():
            values[index] -= (basis.shape[1] - 1) * np.log(self.noise)
        return values

    def resistances(self, atoms: NDArray, weights: NDArray) -> NDArray:
        """Effective resistances summed over the patterns of each atom, (C,) -> (K, E).

        ``sum_c weights_c [k in c] r_ij(L_c)``: the gradient of the weighted log-determinants.
        """
        count, size = self.patterns.shape[1], self.nodes**2
        inverses = np.zeros((count, size))
        for rows, matrices in self.precisions(atoms):
            weighted = self.patterns[rows] * weights[rows, None]
            inverses += weighted.T @ np.linalg.inv(matrices).reshape(-1, size)
        return graphs.laplacian_adjoint(inverses.reshape(count, self.nodes, self.nodes))

    def log_likelihoods(
        self, energies: NDArray, blind: dict[int, NDArray], determinants: NDArray, counts: NDArray
    ) -> NDArray:
        """``log p(x | c)`` (rows, C), each row a window that adds up ``counts`` samples.

        ``energies`` (rows, K) are ``x' L_k x`` and ``blind`` (from :meth:`blind_energies`) what
        disconnected patterns see of each row, both summed over the window; ``determinants`` (C,)
        are those of :meth:`log_determinants`.
        """
        constant = determinants - (self.nodes - 1) * np.log(2 * np.pi)
        values = energies.astype(np.float64) @ self.patterns.T.astype(np.float64)
        np.subtract(counts[:, None] * constant, values, out=values)
        for index, energy in blind.items():
            values[:, index] -= energy / self.noise
        values *= 0.5
        return values

    def blind_energies(self, signals: NDArray) -> dict[int, NDArray]:
        """``x' N_c x`` (T,) of each disconnected pattern."""
        return {
            index: np.square(signals @ basis.astype(signals.dtype)).sum(axis=1, dtype=np.float64)
            for index, basis in self.components.items()
        }

    def precisions(self, atoms: NDArray) -> Iterator[tuple[slice, NDArray]]:
        """Blocks of ``L_c`` with eigenvalue 1 in place of its zeros.

        The eigenvalues ``1 / noise`` are put in by hand where they matter: in the matrix they would
        drown those of weak edges.
        """
        laplacians = graphs.laplacian(atoms.astype(np.float64)).reshape(len(atoms), -1)
        size = max(1, BLOCK_BYTES // (8 * self.nodes**2))
        for start in range(0, len(self.patterns), size):
            rows = slice(start, min(start + size, len(self.patterns)))
            mixed = self.patterns[rows].astype(np.float64) @ laplacians
            matrices = mixed.reshape(-1, self.nodes, self.nodes)
            matrices += 1 / self.nodes
            for index, basis in self.components.items():
                if rows.start <= index < rows.stop:
                    matrices[index - rows.start] += basis @ basis.T - 1 / self.nodes
            yield rows, matrices


def _log_determinants(matrices: NDArray) -> NDArray:
    """Of positive definite matrices, by Cholesky unless weights differ beyond its reach."""
    try:
        factors = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(matrices)
        smallest = np.finfo(float).eps * values[:, -1:]
        return np.log(np.maximum(values, smallest)).sum(axis=1)
    return 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
