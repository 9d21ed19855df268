"""GraphFactors: a dictionary from graphs that are given, with coefficients in [0, 1]."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Floats, RandomState
from graphdict.engine.scikit import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from graphdict.exceptions import ConvergenceWarning, warn
from graphdict.related.given import read_weights
from graphdict.results import InstantaneousGraphs

Graphs = ArrayLike | InstantaneousGraphs


@dataclass(repr=False, eq=False)
class GraphFactors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Atoms and coefficients of graphs that are given, such as the snapshots of a network in time.

    Finds nonnegative factors of the edge weights ``A`` (T, E), of mean square one,

        1/(2T) |A - Delta W|^2 + alpha_w sum(W)
          + alpha_diff/(2T) sum_tk |w_k|^2 (delta_{t+1,k} - delta_tk)^2

    over atoms ``W >= 0`` (K, E) and coefficients ``Delta`` in [0, 1] (T, K). Edges that nobody has
    seen may be missing (NaN): they are left out of the first sum, and the graphs of the fit say
    what they would be. With ``alpha_diff``, for graphs in order of time, what an atom adds changes
    slowly, and atoms are the key-mode graphs of a temporal network (Das and Isufi 2024).

    Parameters
    ----------
    n_atoms : int, default=5
        Number K of atoms.
    alpha_w : float, default=0.0
        L1 penalty on weights of atoms: sparse atoms.
    alpha_diff : float, default=0.0
        Penalty on changes from one graph to the next.
    n_init : int, default=4
        Number of starts: extreme graphs among those given, then random ones. The best is kept.
    max_iter : int, default=1000
        Largest number of steps of projected L-BFGS from each start.
    tol : float, default=1e-5
        Stop where a projected gradient is smaller than this, relative to that at the start.
    random_state : int, RandomState or None, default=None
        Random seed or generator.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the atoms, in the order of ``np.triu_indices(N, 1)`` and the unit of the
        graphs. The largest coefficient of each is 1.
    coefficients_ : array (T, K)
        Share of each atom in the graphs given, between 0 and 1.
    objective_ : float
        Objective at the solution.
    n_iter_ : int
        Evaluations of the objective from the best start.
    scale_ : float
        What weights were divided by.
    n_features_in_ : int
        Number E of edges.

    Examples
    --------
    >>> import numpy as np
    >>> from graphdict.related import GraphFactors
    >>> network = np.array([[2.0, 0, 0], [1, 0, 3], [0, 0, 6]])
    >>> model = GraphFactors(2, random_state=0).fit(network)
    >>> model.coefficients_[1].round(2)
    array([0.5, 0.5])
    """

    atoms_: Floats = field(init=False)
    coefficients_: Floats = field(init=False)
    objective_: float = field(init=False)
    n_iter_: int = field(init=False)
    n_features_in_: int = field(init=False)
    scale_: float = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "alpha_diff": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    n_atoms: int = 5
    _: KW_ONLY
    alpha_w: float = 0.0
    alpha_diff: float = 0.0
    n_init: int = 4
    max_iter: int = 1000
    tol: float = 1e-5
    random_state: RandomState = None

    def fit(self, X: Graphs, y: Any = None) -> Self:
        """Learn atoms and coefficients.

        Parameters
        ----------
        X : array (T, E) or (T, N, N), or InstantaneousGraphs
            The graphs: edge vectors, symmetric adjacency matrices (NaN where an edge was not seen)
            or what ``instantaneous_graphs`` of another model returns.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._validate_params()
        weights = read_weights(X, missing=True)
        self.n_features_in_ = weights.shape[1]
        mean_square = float(np.nanmean(np.square(weights))) if not np.isnan(weights).all() else 0.0
        self.scale_ = mean_square**0.5 or 1.0
        problem = _Factors(
            weights / self.scale_, self.n_atoms, self.alpha_w, self.alpha_diff, self.tol
        )
        rng = check_random_state(self.random_state)
        best = None
        for start in range(self.n_init):
            found = problem.minimise(problem.start(rng, extreme=start == 0), self.max_iter)
            if best is None or found[0] < best[0]:
                best = found
        assert best is not None
        self.objective_, coefficients, atoms, residual, self.n_iter_ = best
        if residual > self.tol:
            warn(
                f"GraphFactors stopped at max_iter={self.max_iter} before tol={self.tol}: relative "
                f"gradient {residual:.2g}. Raise max_iter, or tol if the result is good enough.",
                ConvergenceWarning,
            )
        self.coefficients_, self.atoms_ = coefficients, atoms * self.scale_
        self._n_features_out = self.n_atoms
        return self

    def transform(self, X: Graphs) -> Floats:
        """Return the coefficients of other graphs on the same nodes; a convex problem.

        Parameters
        ----------
        X : array (T', E) or (T', N, N), or InstantaneousGraphs
            Graphs, NaN where an edge was not seen.

        Returns
        -------
        array (T', K)
        """
        problem = self._problem(X)
        atoms = self.atoms_ / self.scale_
        start = np.full((problem.count, len(atoms)), 0.5)
        return problem.minimise((start, atoms), self.max_iter, fix_atoms=True)[1]

    def instantaneous_graphs(self, X: Graphs | None = None) -> InstantaneousGraphs:
        """Return graphs as mixtures of the atoms, which also have the edges that were not seen.

        Parameters
        ----------
        X : array (T', E) or (T', N, N), or InstantaneousGraphs, optional
            Graphs; those of the fit by default.

        Returns
        -------
        InstantaneousGraphs
        """
        check_is_fitted(self)
        coefficients = self.coefficients_ if X is None else np.asarray(self.transform(X))
        return InstantaneousGraphs(coefficients, self.atoms_)

    def score(self, X: Graphs, y: Any = None) -> float:
        """Return the share of the squared weights that the dictionary explains, at most 1.

        Parameters
        ----------
        X : array (T', E) or (T', N, N), or InstantaneousGraphs
            Graphs, NaN where an edge was not seen.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        weights = read_weights(X, missing=True)
        errors = np.nansum(np.square(weights - self.instantaneous_graphs(X).weights))
        return float(1 - errors / max(np.nansum(np.square(weights)), np.finfo(float).tiny))

    def _problem(self, X: Graphs) -> _Factors:
        """Return the problem of new graphs."""
        check_is_fitted(self)
        weights = read_weights(X, missing=True)
        if weights.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {weights.shape[1]} features, but GraphFactors is expecting "
                f"{self.n_features_in_} features as input: graphs must be on the same nodes"
            )
        return _Factors(weights / self.scale_, len(self.atoms_), 0.0, self.alpha_diff, self.tol)


class _Factors:
    """The objective of graphs (T, E), NaN where an edge is not seen, and how to minimise it."""

    def __init__(
        self, weights: Floats, atoms: int, alpha_w: float, alpha_diff: float,
        tol: float,
    ):  # fmt: skip
        self.seen = ~np.isnan(weights)
        self.weights = np.where(self.seen, weights, 0.0)
        self.count, self.atoms = len(weights), atoms
        self.alpha_w, self.alpha_diff, self.tol = alpha_w, alpha_diff, tol

    def start(self, rng: np.random.RandomState, *, extreme: bool) -> tuple[Floats, Floats]:
        """Return coefficients (T, K) and atoms (K, E) to begin with.

        Atoms are graphs of the data, each the one that those before it explain least (by orthogonal
        projection) or drawn at random, and all others are mixtures of them.
        """
        means = self.weights.sum(axis=0) / np.maximum(self.seen.sum(axis=0), 1)
        whole = np.where(self.seen, self.weights, means)
        rest, chosen = whole.copy(), []
        for _ in range(self.atoms):
            sizes = np.einsum("te,te->t", rest, rest)
            row = int(sizes.argmax()) if extreme else int(rng.randint(self.count))
            chosen.append(row)
            unit = rest[row] / (np.linalg.norm(rest[row]) or 1.0)
            rest = rest - np.outer(rest @ unit, unit)
        atoms = np.maximum(whole[chosen], 0) + 0.01 * rng.random_sample(whole[chosen].shape)
        coefficients = np.linalg.lstsq(atoms.T, whole.T, rcond=None)[0].T
        return np.clip(coefficients, 0.05, 1), atoms

    def minimise(
        self, start: tuple[Floats, Floats], steps: int, *, fix_atoms: bool = False
    ) -> tuple[float, Floats, Floats, float, int]:
        """Return objective, coefficients, atoms, relative projected gradient and evaluations."""
        coefficients, atoms = start
        size = coefficients.size
        upper = np.concatenate([np.ones(size), np.full(0 if fix_atoms else atoms.size, np.inf)])

        def split(point: Floats) -> tuple[Floats, Floats]:
            rest = atoms if fix_atoms else point[size:].reshape(atoms.shape)
            return point[:size].reshape(coefficients.shape), rest

        def function(point: Floats) -> tuple[float, Floats]:
            value, *slopes = self.value_and_slopes(*split(point))
            kept = slopes[:1] if fix_atoms else slopes
            return value, np.concatenate([slope.ravel() for slope in kept])

        first = coefficients.ravel() if fix_atoms else np.append(coefficients, atoms)
        largest = _projected_gradient(first, function(first)[1], upper)
        options = {"maxiter": steps, "gtol": self.tol * largest, "ftol": 0.0, "maxfun": 4 * steps}
        bounds = list(zip(np.zeros(len(upper)), upper))
        done = minimize(
            function, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        point = np.clip(done.x, 0, upper)
        residual = _projected_gradient(point, done.jac, upper) / (largest or 1.0)
        found, others = split(point)
        if not fix_atoms:  # what one factor is too large by, the other is too small
            most = found.max(axis=0)
            most = np.where(most > 0, most, 1.0)
            found, others = found / most, others * most[:, None]
        value = self.value_and_slopes(found, others)[0]
        return value, found, others, residual, int(done.nfev)

    def value_and_slopes(self, coefficients: Floats, atoms: Floats) -> tuple[float, Floats, Floats]:
        """Return the objective and its gradients in coefficients (T, K) and atoms (K, E)."""
        errors = (coefficients @ atoms - self.weights) * self.seen
        value = 0.5 * float(np.vdot(errors, errors)) / self.count + self.alpha_w * float(
            atoms.sum()
        )
        slope, atom_slope = errors @ atoms.T / self.count, coefficients.T @ errors / self.count
        atom_slope += self.alpha_w
        if self.alpha_diff > 0 and self.count > 1:
            strength = self.alpha_diff / self.count
            changes = np.diff(coefficients, axis=0)
            squares = np.einsum("ke,ke->k", atoms, atoms)
            moved = np.einsum("tk,tk->k", changes, changes)
            value += 0.5 * strength * float(squares @ moved)
            slope[1:] += strength * squares * changes
            slope[:-1] -= strength * squares * changes
            atom_slope += strength * moved[:, None] * atoms
        return value, slope, atom_slope


def _projected_gradient(point: Floats, gradient: Floats, upper: Floats) -> float:
    """Return the largest entry of the gradient along which a point can still move downhill."""
    held = ((point <= 0) & (gradient > 0)) | ((point >= upper) & (gradient < 0))
    return float(np.abs(np.where(held, 0.0, gradient)).max(initial=0.0))
