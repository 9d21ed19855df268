"""GromovWassersteinDictionary: a dictionary of graphs whose nodes do not match, through POT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from graphdict.core import graphs
from graphdict.core.annotations import Floats, RandomState
from graphdict.engine.scikit import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from graphdict.exceptions import import_extra
from graphdict.related.given import read_adjacencies

LARGEST_SEED = 2**31 - 1


@dataclass(repr=False, eq=False)
class GromovWassersteinDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Atoms of graphs of any size, whose nodes have no names in common (Vincent-Cuaz et al. 2021).

    Each graph is close, in the squared Gromov-Wasserstein distance of adjacency matrices with nodes
    of equal weight, to a mixture ``sum_k d_k W_k`` of atoms on ``n_nodes`` nodes, with coefficients
    that are not negative and sum to one. Numbering the nodes of a graph anew changes nothing. Needs
    the extra ``ot``, which brings POT.

    Parameters
    ----------
    n_atoms : int, default=3
        Number K of atoms.
    n_nodes : int, optional
        Number of nodes of the atoms; the median of the graphs' by default.
    alpha_c : float, default=0.0
        What is taken off for the squared norm of coefficients: the larger, the sparser they are.
    n_init : int, default=1
        Number of starts, of which the one of least loss is kept.
    epochs : int, default=20
        Passes over all graphs.
    batch_size : int, default=16
        Graphs in each stochastic step on the atoms.
    learning_rate : float, default=0.1
        Of these steps (Adam).
    random_state : int, RandomState or None, default=None
        Random seed or generator.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the atoms, on nodes of their own.
    diagonals_ : array (K, n_nodes)
        What an atom has between a node and itself: where one node of an atom stands for several of
        a graph, how much those are joined to each other.
    coefficients_ : array (T, K)
        Coefficients of the graphs of the fit.
    distances_ : array (T,)
        Squared Gromov-Wasserstein distance of each graph from its mixture.
    objective_ : float
        Their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from graphdict.related import GromovWassersteinDictionary
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> star = np.zeros((5, 5)); star[0, 1:] = star[1:, 0] = 1
    >>> model = GromovWassersteinDictionary(2, random_state=0).fit([ring, star, ring, star])
    >>> kinds = model.coefficients_.argmax(axis=1)
    >>> bool(kinds[0] == kinds[2] != kinds[1] == kinds[3])
    True
    """

    atoms_: Floats = field(init=False)
    diagonals_: Floats = field(init=False)
    coefficients_: Floats = field(init=False)
    distances_: Floats = field(init=False)
    objective_: float = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "n_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "alpha_c": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    n_atoms: int = 3
    _: KW_ONLY
    n_nodes: int | None = None
    alpha_c: float = 0.0
    n_init: int = 1
    epochs: int = 20
    batch_size: int = 16
    learning_rate: float = 0.1
    random_state: RandomState = None

    def fit(self, X: Sequence[ArrayLike], y: Any = None) -> Self:
        """Learn the atoms.

        Parameters
        ----------
        X : sequence of arrays (N_t, N_t) or (E_t,)
            Symmetric adjacency matrices or edge vectors, of any number of nodes each.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._validate_params()
        gromov = _require_gromov()
        given = read_adjacencies(X)
        nodes = self.n_nodes or int(np.median([len(graph) for graph in given]))
        rng = check_random_state(self.random_state)
        best: tuple[Any, ...] | None = None
        for _ in range(self.n_init):
            structures, _ = gromov.gromov_wasserstein_dictionary_learning(
                given, D=self.n_atoms, nt=nodes, reg=self.alpha_c, epochs=self.epochs,
                batch_size=min(self.batch_size, len(given)), learning_rate=self.learning_rate,
                projection="nonnegative_symmetric", use_log=False, verbose=False,
                random_state=int(rng.randint(LARGEST_SEED)),
            )  # fmt: skip
            coefficients, distances = self._unmix(gromov, given, structures)
            if best is None or distances.mean() < best[2].mean():
                best = structures, coefficients, distances
        assert best is not None
        structures, self.coefficients_, self.distances_ = best
        self.atoms_ = graphs.adjacency_to_weights(structures)
        self.diagonals_ = np.diagonal(structures, axis1=1, axis2=2).copy()
        self.objective_ = float(self.distances_.mean())
        self._n_features_out = self.n_atoms
        return self

    def transform(self, X: Sequence[ArrayLike]) -> Floats:
        """Return the coefficients of other graphs.

        Parameters
        ----------
        X : sequence of arrays (N_t, N_t) or (E_t,)
            Symmetric adjacency matrices or edge vectors, of any number of nodes each.

        Returns
        -------
        array (T', K)
            Not negative; rows sum to one.
        """
        check_is_fitted(self)
        return self._unmix(_require_gromov(), read_adjacencies(X), self._structures)[0]

    def score(self, X: Sequence[ArrayLike], y: Any = None) -> float:
        """Return minus the mean squared Gromov-Wasserstein distance from the mixtures.

        Parameters
        ----------
        X : sequence of arrays (N_t, N_t) or (E_t,)
            Graphs.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        found = self._unmix(_require_gromov(), read_adjacencies(X), self._structures)
        return -float(found[1].mean())

    @property
    def _structures(self) -> Floats:
        """Atoms as matrices (K, n_nodes, n_nodes)."""
        matrices = graphs.adjacency(self.atoms_)
        node = np.arange(matrices.shape[-1])
        matrices[:, node, node] = self.diagonals_
        return matrices

    def _unmix(
        self, gromov: ModuleType, given: list[Floats], structures: Floats
    ) -> tuple[Floats, Floats]:
        """Return coefficients (T, K) and squared distances (T,) of graphs."""
        coefficients, distances = [], []
        for graph in given:
            found = gromov.gromov_wasserstein_linear_unmixing(
                graph, structures, reg=self.alpha_c, tol_outer=1e-6, tol_inner=1e-6
            )
            coefficients.append(np.asarray(found[0]))
            distances.append(float(found[3]))
        return np.stack(coefficients), np.array(distances)


def _require_gromov() -> ModuleType:
    """Return the module of POT; raise MissingExtraError where it is missing."""
    return import_extra("ot.gromov", "a Gromov-Wasserstein dictionary", "ot", "POT")
