"""Instantaneous graphs, stored as mixtures of atoms and computed on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers, RowIndex
from graphdict.core.pictures import MOST_GRAPHS, graphs_html
from graphdict.core.recordings import Recordings
from graphdict.exceptions import import_extra

if TYPE_CHECKING:  # pragma: no cover
    import networkx
    import pandas

__all__ = [
    "InstantaneousGraphs",
    "Recordings",
    "sample_index",
]

WEAK = 0.01  # of the largest weight of an atom, below which weights do not count as edges


class InstantaneousGraphs:
    """The graph of each sample, as the mixture ``coefficients @ atoms``.

    Indexing and slicing over samples is cheap: edge weights are computed only by the properties and
    methods below, for the selected samples.

    Parameters
    ----------
    coefficients : array (T, K)
        Coefficients of each sample.
    atoms : array (K, E)
        Edge weights of the atoms, in the order of ``np.triu_indices(N, 1)``.
    node_names : sequence of N names, optional
        0, 1, ..., N - 1 by default.
    silent : boolean array (T, N), optional
        Nodes without edges in a sample, whatever its mixture.
    probable : (array (K, E), float), optional
        Probability of each edge of each atom, and the least probability of an edge. With the
        coefficients as probabilities of the atoms, edges that are less probable in a sample are
        left out of its graph. (Where coefficients are graded, probabilities are divided by the mean
        coefficient of an active atom.)
    recordings : Recordings, optional
        Which samples are of which recording; one recording by default.

    Examples
    --------
    >>> import numpy as np
    >>> from graphdict.results import InstantaneousGraphs
    >>> graphs = InstantaneousGraphs(np.eye(2), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    >>> graphs[1:].weights
    array([[0., 3., 0.]])
    >>> graphs.degrees
    array([[1., 3., 2.],
           [3., 0., 3.]])
    """

    coefficients: Floats
    atoms: Floats
    silent: Booleans | None
    n_nodes: int
    node_names: list[Any]
    recordings: Recordings

    def __init__(
        self,
        coefficients: ArrayLike,
        atoms: ArrayLike,
        node_names: Sequence[Any] | None = None,
        silent: ArrayLike | None = None,
        probable: tuple[Floats, float] | None = None,
        recordings: Recordings | None = None,
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
        self.recordings = recordings or Recordings.single(len(self))
        self._rows: Integers | None = None  # which of all samples these are; None: all
        if self.silent is not None and self.silent.shape != (len(self), self.n_nodes):
            raise ValueError(
                f"silent must have shape {(len(self), self.n_nodes)}, got {self.silent.shape}"
            )

    def __len__(self) -> int:
        return len(self.coefficients)

    def __getitem__(self, samples: RowIndex) -> InstantaneousGraphs:
        """Return the graphs of one sample, a slice, an index array or a mask."""
        silent = None if self.silent is None else self.silent[samples]
        coefficients = self.coefficients[samples]
        some = InstantaneousGraphs(
            coefficients, self.atoms, self.node_names, silent, self.probable, self.recordings
        )
        some._rows = self._rows_of(samples)
        return some

    def _rows_of(self, samples: RowIndex) -> Integers:
        """Return which of all samples of the recordings some of these are."""
        own = np.arange(len(self)) if self._rows is None else self._rows
        return np.atleast_1d(own[samples])

    def of_recording(self, recording: int | str) -> Self:
        """Return the graphs of one recording.

        Parameters
        ----------
        recording : int or str
            Its number, or its name in ``recordings.names``.

        Returns
        -------
        InstantaneousGraphs
        """
        number = self.recordings.number(recording)
        own = self.recordings.labels()
        own = own if self._rows is None else own[self._rows]
        return self[own == number]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[InstantaneousGraphs]:
        return (self[t] for t in range(len(self)))

    def __repr__(self) -> str:
        several = f" of {len(self.recordings)} recordings" if len(self.recordings) > 1 else ""
        return (
            f"<InstantaneousGraphs: {len(self)} samples{several}, {self.n_nodes} nodes, "
            f"mixtures of {len(self.atoms)} atoms>"
        )

    def _repr_html_(self) -> str:
        """Return pictures of the first samples, for notebooks."""
        shown = self[:MOST_GRAPHS]
        active = [np.flatnonzero(mixture >= 0.005).tolist() for mixture in shown.coefficients]
        titles = []
        for t, (mixture, found) in enumerate(zip(shown.coefficients, active)):
            shares = " + ".join(f"{mixture[k]:.2f} × atom {k + 1}" for k in found)  # noqa: RUF001
            titles.append(f"sample {t}: {shares or 'no atom'}")
        caption = (
            f"Instantaneous graphs: {len(self)} sample{'s' * (len(self) != 1)}, {self.n_nodes} "
            f"nodes, mixtures of {len(self.atoms)} atoms"
        )
        alone = [found[0] if len(found) == 1 else None for found in active]
        return graphs_html(
            shown.weights, self.node_names, titles, caption, count=len(self), atoms=alone
        )

    @property
    def weights(self) -> Floats:
        """Edge weights (T, E)."""
        weights = self.coefficients @ self.atoms
        if self.probable is not None:
            probabilities, least = self.probable
            absent = np.ones_like(weights)
            for active, present in zip(self.coefficients.T, probabilities, strict=True):
                absent *= 1 - np.minimum(active[:, None] * present, 1)
            weights[absent > 1 - least] = 0
        if self.silent is not None:
            rows, cols = graphs.edge_index(self.n_nodes)
            weights[self.silent[:, rows] | self.silent[:, cols]] = 0
        return weights

    @property
    def adjacencies(self) -> Floats:
        """Adjacency matrices (T, N, N)."""
        return graphs.adjacency(self.weights)

    @property
    def laplacians(self) -> Floats:
        """Combinatorial Laplacians (T, N, N)."""
        if not self._plain:
            return graphs.laplacian(self.weights)
        count = len(self.atoms)
        mixed = self.coefficients @ graphs.laplacian(self.atoms).reshape(count, -1)
        return mixed.reshape(len(self), self.n_nodes, self.n_nodes)

    @property
    def degrees(self) -> Floats:
        """Node degrees (T, N): sums of weights, negative ones subtracted."""
        if not self._plain:
            return graphs.degrees(self.weights)
        return self.coefficients @ graphs.degrees(self.atoms)

    @property
    def _plain(self) -> bool:
        """Whether the graphs are exactly the mixtures, so that linear maps apply to the atoms."""
        return self.silent is None and self.probable is None

    def to_sparse(self, threshold: float = 0.0) -> list[sparse.csr_array]:
        """Return a symmetric sparse adjacency matrix for each sample.

        Parameters
        ----------
        threshold : float, default=0.0
            Edges of at most this absolute weight are left out.

        Returns
        -------
        list of T scipy.sparse.csr_array (N, N)
        """
        rows, cols = graphs.edge_index(self.n_nodes)
        matrices = []
        for sample in self:
            weights = sample.weights[0]
            kept = np.abs(weights) > threshold
            i, j, w = rows[kept], cols[kept], weights[kept]
            shape = (self.n_nodes, self.n_nodes)
            upper = sparse.coo_array((w, (i, j)), shape=shape).tocsr()
            matrices.append(sparse.csr_array(upper + upper.T))
        return matrices

    def to_pandas(self, threshold: float = 0.0) -> pandas.DataFrame:
        """Return the edges of all samples as a table.

        Parameters
        ----------
        threshold : float, default=0.0
            Edges of at most this absolute weight are left out.

        Returns
        -------
        pandas.DataFrame
            Columns sample, source, target, weight; a row for each edge of each sample. Of several
            recordings, recording and sample (counted from the first of the recording) are the
            index.
        """
        pd = import_extra("pandas", "to_pandas()", "tables")
        weights = self.weights
        sample, edge = np.nonzero(np.abs(weights) > threshold)
        rows, cols = graphs.edge_index(self.n_nodes)
        names = np.array(self.node_names, dtype=object)
        table = {
            "source": names[rows[edge]],
            "target": names[cols[edge]],
            "weight": weights[sample, edge],
        }
        if len(self.recordings) == 1:
            return pd.DataFrame({"sample": sample, **table})
        whole = sample if self._rows is None else self._rows[sample]
        return pd.DataFrame(table, index=sample_index(self.recordings, whole))

    # A union would ask everybody who knows how many samples there are to say so to the checker.
    def to_networkx(self, threshold: float = 0.0) -> networkx.Graph[Any] | Any:
        """Return NetworkX graphs with ``weight`` on their edges.

        Parameters
        ----------
        threshold : float, default=0.0
            Edges of at most this absolute weight are left out.

        Returns
        -------
        networkx.Graph or list of networkx.Graph
            One graph for a single sample, else a list.
        """
        nx = import_extra("networkx", "to_networkx()", "tables")
        built = []
        rows, cols = graphs.edge_index(self.n_nodes)
        for weights in self.weights:
            graph = nx.Graph()
            graph.add_nodes_from(self.node_names)
            graph.add_weighted_edges_from(
                (self.node_names[rows[e]], self.node_names[cols[e]], float(weights[e]))
                for e in np.flatnonzero(np.abs(weights) > threshold)
            )
            built.append(graph)
        return built[0] if len(built) == 1 else built


def sample_index(recordings: Recordings, samples: Integers | None = None) -> pandas.MultiIndex:
    """Return the index (recording, sample) of samples, for tables of pandas.

    Parameters
    ----------
    recordings : Recordings
    samples : integer array, optional
        Samples, counted among all; every one once by default.

    Returns
    -------
    pandas.MultiIndex
        The name of the recording, and the number of the sample in it.
    """
    pd = import_extra("pandas", "sample_index()", "tables")
    samples = np.arange(recordings.total) if samples is None else samples
    labels = recordings.labels()[samples]
    names = pd.Categorical.from_codes(labels, list(recordings.names))
    return pd.MultiIndex.from_arrays(
        [names, samples - recordings.starts[labels]], names=["recording", "sample"]
    )


def thresholded_atoms(model: Any, min_confidence: float = 0.5) -> Floats:
    """Return the atoms of a fitted model without weak and improbable edges.

    These are the edges that reports, tables and figures count. An edge goes if its weight is at
    most a hundredth of the largest of its atom, or if the confidence in it is too small, where the
    model has measured that. Of averaged atoms those edges stay that are in the graph of a sample in
    which that atom alone is active.

    Parameters
    ----------
    model : fitted graph dictionary
    min_confidence : float, default=0.5
        Least ``edge_confidence_`` of an edge; 0 keeps all.

    Returns
    -------
    array (K, E)
    """
    atoms, probabilities = np.asarray(model.atoms_), getattr(model, "edge_probabilities_", None)
    if probabilities is not None:
        probable = probabilities, model._least_probability
        single = np.eye(len(atoms), dtype=atoms.dtype)
        atoms = InstantaneousGraphs(single, atoms, probable=probable).weights
    sizes = np.abs(atoms)
    weak = sizes <= WEAK * np.max(sizes, axis=1, keepdims=True, initial=0)
    confidence = getattr(model, "edge_confidence_", None)
    if confidence is not None and probabilities is None:
        weak |= confidence < min_confidence
    return np.where(weak, 0, atoms)


def __dir__() -> list[str]:
    return sorted(__all__)
