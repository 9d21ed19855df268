"""Instantaneous graphs as an object: kept as a mixture, computed only where looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphdict.core import graphs

if TYPE_CHECKING:  # pragma: no cover
    import networkx
    import pandas

__all__ = ["InstantaneousGraphs", "held_atoms"]


class InstantaneousGraphs:
    """The graph of every sample, as the mixture ``coefficients @ atoms``.

    Indexing and slicing over samples is free; arrays of the size of all graphs are built only when
    one of the properties asks for them, and cover the samples of the slice only::

        model.instantaneous_graphs(X)[100:200].weights        # (100, E)
        model.instantaneous_graphs(X)[7].to_networkx()

    Parameters
    ----------
    coefficients : array (T, K)
    atoms : array (K, E)
    node_names : sequence of N names, optional
    silent : boolean array (T, N), optional
        Nodes that have no edges in a sample, whatever its mixture says.
    probable : (array (K, E), float), optional
        Probability that each atom has each edge, with ``coefficients`` those that each sample has
        each atom: edges less probable than the number are not in the graph of a sample.
    """

    def __init__(
        self,
        coefficients: NDArray,
        atoms: NDArray,
        node_names: Any = None,
        silent: NDArray | None = None,
        probable: tuple[NDArray, float] | None = None,
    ):
        self.coefficients = np.atleast_2d(coefficients)
        self.atoms = np.atleast_2d(atoms)
        self.silent = None if silent is None else np.atleast_2d(silent)
        self.probable = probable
        if self.coefficients.shape[1] != len(self.atoms):
            raise ValueError(
                f"coefficients have {self.coefficients.shape[1]} columns but there are "
                f"{len(self.atoms)} atoms"
            )
        self.n_nodes = graphs.n_nodes(self.atoms.shape[1])
        names = range(self.n_nodes) if node_names is None else node_names
        self.node_names = list(names)
        if len(self.node_names) != self.n_nodes:
            raise ValueError(f"got {len(self.node_names)} node names for {self.n_nodes} nodes")
        if self.silent is not None and self.silent.shape != (len(self), self.n_nodes):
            raise ValueError(
                f"silent must have shape {(len(self), self.n_nodes)}, got {self.silent.shape}"
            )

    def __len__(self) -> int:
        return len(self.coefficients)

    def __getitem__(self, samples: Any) -> InstantaneousGraphs:
        """The graphs of one sample, a slice, an index array or a mask."""
        silent = None if self.silent is None else self.silent[samples]
        coefficients = self.coefficients[samples]
        return InstantaneousGraphs(coefficients, self.atoms, self.node_names, silent, self.probable)

    def __iter__(self) -> Iterator[InstantaneousGraphs]:
        return (self[t] for t in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"<InstantaneousGraphs: {len(self)} samples, {self.n_nodes} nodes, "
            f"mixtures of {len(self.atoms)} atoms>"
        )

    @property
    def weights(self) -> NDArray:
        """Edge weights (T, E)."""
        weights = self.coefficients @ self.atoms
        if self.probable is not None:
            chances, least = self.probable
            absent = np.ones_like(weights)
            for share, chance in zip(self.coefficients.T, chances, strict=True):
                absent *= 1 - share[:, None] * chance
            weights[absent > 1 - least] = 0
        if self.silent is not None:
            rows, cols = graphs.edge_index(self.n_nodes)
            weights[self.silent[:, rows] | self.silent[:, cols]] = 0
        return weights

    @property
    def adjacencies(self) -> NDArray:
        """Adjacency matrices (T, N, N)."""
        return graphs.adjacency(self.weights)

    @property
    def laplacians(self) -> NDArray:
        """Combinatorial Laplacians (T, N, N)."""
        if not self._plain:
            return graphs.laplacian(self.weights)
        count = len(self.atoms)
        mixed = self.coefficients @ graphs.laplacian(self.atoms).reshape(count, -1)
        return mixed.reshape(len(self), self.n_nodes, self.n_nodes)

    @property
    def degrees(self) -> NDArray:
        """Node degrees (T, N), without forming any graph where none lacks edges of its mixture."""
        if not self._plain:
            return graphs.degrees(self.weights)
        return self.coefficients @ graphs.degrees(self.atoms)

    @property
    def _plain(self) -> bool:
        return self.silent is None and self.probable is None

    def to_sparse(self, threshold: float = 0.0) -> list[sparse.csr_array]:
        """One symmetric SciPy sparse adjacency for each sample, edges above ``threshold``."""
        rows, cols = graphs.edge_index(self.n_nodes)
        matrices = []
        for sample in self:
            weights = sample.weights[0]
            kept = weights > threshold
            i, j, w = rows[kept], cols[kept], weights[kept]
            shape = (self.n_nodes, self.n_nodes)
            upper = sparse.coo_array((w, (i, j)), shape=shape).tocsr()
            matrices.append(sparse.csr_array(upper + upper.T))
        return matrices

    def to_pandas(self, threshold: float = 0.0) -> pandas.DataFrame:
        """Edge list with node names: columns sample, source, target, weight."""
        import pandas as pd

        weights = self.weights
        sample, edge = np.nonzero(weights > threshold)
        rows, cols = graphs.edge_index(self.n_nodes)
        names = np.array(self.node_names, dtype=object)
        return pd.DataFrame(
            {
                "sample": sample,
                "source": names[rows[edge]],
                "target": names[cols[edge]],
                "weight": weights[sample, edge],
            }
        )

    def to_networkx(self, threshold: float = 0.0) -> networkx.Graph | list[networkx.Graph]:
        """A NetworkX graph with ``weight`` on its edges; a list where there are several samples."""
        import networkx as nx

        built = []
        rows, cols = graphs.edge_index(self.n_nodes)
        for weights in self.weights:
            graph = nx.Graph()
            graph.add_nodes_from(self.node_names)
            graph.add_weighted_edges_from(
                (self.node_names[rows[e]], self.node_names[cols[e]], float(weights[e]))
                for e in np.flatnonzero(weights > threshold)
            )
            built.append(graph)
        return built[0] if len(built) == 1 else built


def held_atoms(model: Any) -> NDArray:
    """Atoms (K, E) of a fitted model without edges that it holds for absent.

    Only averaged atoms have those: an edge stays where a sample of that atom alone would have it.
    """
    atoms, chances = np.asarray(model.atoms_), getattr(model, "edge_probabilities_", None)
    if chances is None:
        return atoms
    alone = np.eye(len(atoms), dtype=atoms.dtype)
    return InstantaneousGraphs(alone, atoms, probable=(chances, model._least_probability)).weights
