"""The estimator that all graph dictionaries share: read, start, solve, code, describe."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from graphdict import graphs, persistence
from graphdict.checkpoint import Checkpoint, Stage, identity
from graphdict.estimator import SignalEstimator
from graphdict.exceptions import DeadAtomWarning
from graphdict.models.starts import (
    STARTS,
    check_given,
    check_held,
    start_atoms,
    start_coefficients,
)
from graphdict.operators import Bilinear
from graphdict.problem import Problem, row_barriers
from graphdict.progress import with_progress
from graphdict.results import InstantaneousGraphs
from graphdict.signals import OnAllNodes, has_gaps, row_slices
from graphdict.solvers import Solution, bipds, mm
from graphdict.solvers.blocks import add_in_groups, crew_for
from graphdict.solvers.coding import code_part, codes_samples_alone
from graphdict.solvers.mm import mm_lacks
from graphdict.solvers.passes import total_objective
from graphdict.sources import put_together, signal_fit
from graphdict.terms import (
    L1,
    NonNegative,
    Orthogonality,
    TotalVariation,
    UnitBox,
)
from graphdict.terms.coefficients import window_counts, window_means
from graphdict.terms.likelihoods import smoothness
from graphdict.terms.missing import Gaps

__all__ = ["GraphDictionary"]


class GraphDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SignalEstimator):
    """Base of the graph dictionaries. A model is a choice of operator and barrier."""

    _reads_in_parts = True

    _takes_gaps = True
    _parameter_constraints: dict = {
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "alpha_c": [Interval(Real, 0, None, closed="left")],
        "alpha_orth": [Interval(Real, 0, None, closed="left")],
        "alpha_diff": [Interval(Real, 0, None, closed="left")],
        "window_size": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"auto", "bipds", "mm"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(STARTS))],
        "atoms": ["array-like", None],
        "coefficients": ["array-like", None],
        "fix": [StrOptions({"atoms", "coefficients"}), None],
        "atom_priors": [list, tuple, None],
        "coefficient_priors": [list, tuple, None],
        "rescale": ["boolean"],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "checkpoint": [str, os.PathLike, None],
        "verbose": ["verbose"],
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
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        n_init: int = 1,
        init: str = "k-means++",
        atoms: ArrayLike | None = None,
        coefficients: ArrayLike | None = None,
        fix: str | None = None,
        atom_priors: Any = None,
        coefficient_priors: Any = None,
        rescale: bool = True,
        random_state: Any = None,
        callback: Any = None,
        checkpoint: Any = None,
        verbose: int = 0,
    ):
        self.n_atoms = n_atoms
        self.alpha_w = alpha_w
        self.alpha_c = alpha_c
        self.alpha_orth = alpha_orth
        self.alpha_diff = alpha_diff
        self.window_size = window_size
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.atoms = atoms
        self.coefficients = coefficients
        self.fix = fix
        self.atom_priors = atom_priors
        self.coefficient_priors = coefficient_priors
        self.rescale = rescale
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose

    # What a model chooses -------------------------------------------------------------------

    @abstractmethod
    def _likelihood(self, nodes: int) -> tuple[Bilinear, Any]:
        """The operator and the barrier on graphs of ``nodes`` active nodes."""

    def _learn_likelihood(self, signals: NDArray) -> None:
        """Learn from prepared training signals what :meth:`_likelihood` needs, if anything."""

    # What a user calls ----------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the atoms and the coefficients of the signals ``X`` (T, N).

        Parameters
        ----------
        X : array, DataFrame, memory map, Zarr or Dask array of shape (T, N)
            One row for each sample, one column for each node. What is larger than scikit-learn's
            ``working_memory`` is read part by part; see the page on scaling. NaN stands for a
            missing value.
        y : None
            Ignored; there for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        self._validate_params()
        samples, signals = self._learn(X, self.rescale and self.fix != "atoms")
        self._learn_gaps(signals)
        self._learn_likelihood(signals)
        problem = self._problem(signals)
        starts = 1 if self.atoms is not None or self.coefficients is not None else self.n_init
        rng = check_random_state(self.random_state)
        kept = Checkpoint(None, {})
        if self.checkpoint is not None:
            kept = Checkpoint(self.checkpoint, identity(self, samples))
            kept.restore_chance(rng)
        with crew_for(problem, self._shape_of_atoms(signals)) as crew:
            best: Solution | None = None
            for _ in range(starts):
                start = self._start(problem, signals, rng, crew)
                solution = self._solve(problem, *start, crew, kept.stage())
                if best is None or solution.objective < best.objective:
                    best = solution
                if solution.interrupted:
                    break
            assert best is not None
            atoms, objective = self._graphs_of(best.atoms), best.objective
            interrupted = solution.interrupted
            if self.fix == "coefficients" or (interrupted and best is solution):
                coefficients = _by_sample(best.coefficients, problem.counts)
                if atoms is not best.atoms:
                    value = total_objective(crew, crew.place(best.coefficients), atoms)
                    objective = value + problem.atoms.value(atoms)
            else:
                stage = kept.stage()
                coefficients, value, coded = self._code(problem, atoms, crew, stage=stage)
                objective = value + problem.atoms.value(atoms)
                interrupted = interrupted or not coded
        if not interrupted:
            kept.finish()
        self._describe(best, atoms, objective, coefficients)
        return self

    def transform(self, X: ArrayLike, *, out: Any = None) -> NDArray:
        """Coefficients (T', K) of new signals under the learned atoms.

        Parameters
        ----------
        X : array, DataFrame, memory map, Zarr or Dask array of shape (T', N)
            Signals.
        out : path or array (T', K), optional
            Where to write the coefficients: an array, or a file in NumPy's format, which is then
            returned as a memory map.

        Returns
        -------
        array (T', K)
        """
        _, _, coefficients = self._encode(X) if out is None else self._encode(X, out)
        return coefficients

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log-likelihood per sample of signals; higher is better.

        Coefficients are inferred first; then each signal, divided by ``scale_``, is measured by
        ``-(x' L x + h(L) + (N - 1) log 2 pi) / 2`` on its instantaneous graph, with the model's own
        ``h``: the exact log-density for ``GraphDictExact``, and for ``GraphDictSpectral`` of graphs
        that share its modes; a stand-in that is no density for ``GraphDictLog``. Since the
        coefficients are fitted to the samples that are scored, more atoms never look worse: compare
        models of one kind and one ``n_atoms``, or use ``GraphDictMarginal``.
        """
        return float(self.score_samples(X).mean())

    def score_samples(self, X: ArrayLike) -> NDArray:
        """Log-likelihood of each sample; their mean is :meth:`score`."""
        signals, atoms, coefficients = self._encode(X)
        counts = self._counts(len(signals))
        rows = coefficients
        if self.window_size > 1:
            rows = coefficients[np.cumsum(counts) - counts]
        operator, barrier = self._likelihood(signals.shape[1])
        barriers = _by_sample(row_barriers(operator, barrier, rows, atoms), counts)
        constant = (signals.shape[1] - 1) * np.log(2 * np.pi)
        scores = -(barriers + constant) / 2
        gaps = self._gaps(signals)
        for some in row_slices(signals):
            energies = self._energies(signals[some], atoms, gaps)
            fit = np.einsum("tk,tk->t", coefficients[some], energies, dtype=np.float64)
            scores[some] -= fit / 2
        return scores

    def instantaneous_graphs(self, X: ArrayLike | None = None) -> InstantaneousGraphs:
        """The graph of every sample of ``X``, or of the training signals where it is omitted."""
        check_is_fitted(self)
        coefficients = self.coefficients_ if X is None else self._encode(X)[2]
        return InstantaneousGraphs(coefficients, self.atoms_, self.node_names)

    def save(self, path: Any) -> None:
        """Write the fitted model to one file, to be read by :func:`graphdict.load_model`."""
        check_is_fitted(self)
        persistence.save(self, path)

    # How it is done -------------------------------------------------------------------------

    def _read(self, X: ArrayLike, *, reset: bool) -> NDArray:
        samples = super()._read(X, reset=reset)
        if reset and self.window_size > len(samples):
            raise ValueError(
                f"window_size={self.window_size} is larger than the {len(samples)} samples of X; "
                f"use at most {len(samples)}"
            )
        return samples

    def _counts(self, samples: int) -> NDArray:
        """Lengths of the windows in which consecutive samples share their coefficients."""
        return window_counts(samples, self.window_size)

    def _learn_gaps(self, signals: NDArray) -> None:
        """Learn how observed pairs stand for all, where training signals have gaps."""
        for name in ("pair_weights_", "pair_means_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if has_gaps(signals):
            gaps = Gaps.learn(signals, self._counts(len(signals)))
            self.pair_weights_ = self._preparation.embed(gaps.pairs)
            self.pair_means_ = self._preparation.embed(gaps.means)

    def _gaps(self, signals: NDArray) -> Gaps | None:
        """How observed pairs stand for all; None where nothing is missing."""
        if not has_gaps(signals):
            return None
        if hasattr(self, "pair_weights_"):
            restrict = self._preparation.restrict
            return Gaps(restrict(self.pair_weights_), restrict(self.pair_means_))
        atoms = self._active_atoms
        return Gaps.of_graphs(np.asarray(self.coefficients_).mean(axis=0) @ atoms)

    def _energies(self, signals: NDArray, atoms: NDArray, gaps: Gaps | None) -> NDArray:
        """``x' L_k x`` of every sample (T, K)."""
        ones = np.ones(len(signals), dtype=int)
        return self._smoothness()(signals, ones, keep=False, gaps=gaps).energies(atoms)

    def _smoothness(self) -> Callable[..., Any]:
        """What makes the term of how signals vary over their graphs; see :func:`signal_fit`."""
        return smoothness

    def _problem(self, signals: NDArray) -> Problem:
        """The terms of the objective on prepared signals."""
        counts = self._counts(len(signals))
        operator, barrier = self._likelihood(signals.shape[1])
        atom_terms = [
            NonNegative(), *_penalties((L1, self.alpha_w), (Orthogonality, self.alpha_orth)),
            *self._atom_priors(),
        ]  # fmt: skip
        coefficient_terms = [
            UnitBox(), *_penalties((L1, self.alpha_c), (TotalVariation, self.alpha_diff)),
            *(self.coefficient_priors or ()),
        ]  # fmt: skip
        fit = signal_fit(signals, counts, self._gaps(signals), self._smoothness())
        return Problem(fit, operator, barrier, atom_terms, coefficient_terms, counts)

    def _atom_priors(self) -> list[Any]:
        """The priors of the user, who counts the edges of all nodes."""
        priors = list(self.atom_priors or ())
        if self.active_nodes_.all():
            return priors
        return [OnAllNodes(term, self._preparation) for term in priors]

    def _start(
        self, problem: Problem, signals: NDArray, rng: np.random.RandomState, crew: Any
    ) -> tuple[Any, NDArray]:
        """Starting coefficients and atoms, given or drawn."""
        atoms, given = self._given(len(signals), signals.dtype)
        coefficients: Any
        if given is not None:
            coefficients = window_means(given, problem.counts)
        elif atoms is not None:
            shape = (problem.rows, len(atoms))
            coefficients = np.full(shape, 0.5, dtype=signals.dtype)
        else:
            coefficients = start_coefficients(
                self.init, crew, problem.rows, self.n_atoms, rng, signals.dtype
            )
        if atoms is None:
            atoms = start_atoms(problem, coefficients, crew)
        else:
            atoms = self._preparation.restrict(atoms)
        check_held(problem, self.fix, coefficients, atoms)
        return coefficients, atoms

    def _given(self, samples: int, dtype: Any) -> tuple[NDArray | None, NDArray | None]:
        """The arrays of the constructor, checked."""
        for name in ("atoms", "coefficients"):
            if self.fix == name and getattr(self, name) is None:
                raise ValueError(f"fix={name!r} needs the array to hold: pass {name}=")
        edges = graphs.n_edges(self.n_features_in_)
        return (
            check_given("atoms", self.atoms, (self.n_atoms, edges), np.inf, dtype),
            check_given("coefficients", self.coefficients, (samples, self.n_atoms), 1, dtype),
        )

    def _solve(
        self, problem: Problem, coefficients: Any, atoms: NDArray, crew: Any, stage: Stage
    ) -> Solution:
        if stage.result is not None:
            return Solution.restored(stage.result)
        if self.fix == "atoms":  # one coding step is the whole fit
            return bipds(problem, coefficients, atoms, fixed="atoms", max_iter=1, crew=crew)
        use_mm = self.solver == "mm" or (self.solver == "auto" and mm_lacks(problem) is None)
        solve = mm if use_mm else bipds
        with with_progress(self.callback, self.max_iter, self.verbose, type(self).__name__) as call:
            solution = solve(
                problem, coefficients, atoms, fixed=self.fix, max_iter=self.max_iter,
                tol=self.tol, callback=call, crew=crew, stage=stage,
            )  # fmt: skip
        if solution.interrupted:
            stage.flush()
        else:
            stage.finish(solution.summary())
        if not (solution.converged or solution.interrupted or solution.stopped):
            self._warn_unconverged(self.max_iter, _reached(solution), stacklevel=4)
        return solution

    def _code(
        self, problem: Problem, atoms: NDArray, crew: Any, out: Any = None, stage: Any = None
    ) -> tuple[NDArray, float, bool]:
        """Optimal coefficients of every sample for given atoms, written as they come.

        With the objective there, but for the priors on atoms, and whether nobody interrupted it.
        Where samples stand alone they are coded at once.
        """
        shape = (problem.counts, len(atoms), atoms.dtype, out)
        if codes_samples_alone(problem):
            sums: list[tuple] = []

            def pieces() -> Iterator[NDArray]:
                for coefficients, part in crew.stream(code_part, atoms):
                    sums.append(part)
                    yield coefficients

            return put_together(pieces(), *shape), add_in_groups(sums)[0], True
        start = np.full((problem.rows, len(atoms)), 0.5, dtype=atoms.dtype)
        steps, tight = max(5000, self.max_iter), min(self.tol, 1e-5)
        solution = bipds(
            problem, start, atoms, fixed="atoms", max_iter=steps, tol=tight, crew=crew, stage=stage
        )
        if solution.interrupted and stage is not None:
            stage.flush()
        if _last_residual(solution) > self.tol and not solution.interrupted:
            self._warn_unconverged(steps, _reached(solution), stacklevel=4)
        value = solution.objective - problem.atoms.value(atoms)
        coefficients = put_together([solution.coefficients], *shape)
        return coefficients, value, not solution.interrupted

    def _encode(self, X: ArrayLike, out: Any = None) -> tuple[NDArray, NDArray, NDArray]:
        """Prepared signals, atoms on the active nodes, and per-sample coefficients."""
        signals = self._prepare(X)
        atoms = self._active_atoms.astype(signals.dtype)
        problem = self._problem(signals)
        with crew_for(problem, atoms) as crew:
            return signals, atoms, self._code(problem, atoms, crew, out)[0]

    def _shape_of_atoms(self, signals: NDArray) -> NDArray:
        """Atoms that say no more than how many there are, and of what kind."""
        return np.ones((self.n_atoms, graphs.n_edges(signals.shape[1])), dtype=signals.dtype)

    def _graphs_of(self, atoms: NDArray) -> NDArray:
        """The graphs that learned atoms stand for."""
        return atoms

    def _describe(
        self, solution: Solution, atoms: NDArray, objective: float, coefficients: NDArray
    ) -> None:
        """Set the fitted attributes, and say what a user should know."""
        self.atoms_ = self._preparation.embed(atoms)
        self.coefficients_ = coefficients
        self.objective_ = objective
        self.history_ = solution.history.as_dict()
        self.n_iter_ = solution.n_iter
        self._n_features_out = len(self.atoms_)
        used = np.logical_and(self.atoms_.any(axis=1), self.coefficients_.any(axis=0))
        dead = np.flatnonzero(~used).tolist()
        if dead:
            warnings.warn(
                f"{len(dead)} of {len(self.atoms_)} atoms have no edges or are used by no sample: "
                f"{dead}. Fewer atoms or smaller penalties would do.",
                DeadAtomWarning,
                stacklevel=3,
            )


def _by_sample(rows: NDArray, counts: NDArray) -> NDArray:
    """Rows of windows repeated for each of their samples."""
    return rows if len(rows) == int(counts.sum()) else np.repeat(rows, counts, axis=0)


def _last_residual(solution: Solution) -> float:
    return solution.history.residual[-1] if solution.history.residual else np.inf


def _reached(solution: Solution) -> str:
    return f"largest relative residual {_last_residual(solution):.2g}"


def _penalties(*pairs: tuple[Any, float]) -> list[Any]:
    """The terms whose strength is not zero."""
    return [term(strength) for term, strength in pairs if strength > 0]
