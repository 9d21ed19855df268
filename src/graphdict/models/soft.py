"""Dictionaries whose coefficients are optimised: how a fit goes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from graphdict.core import graphs
from graphdict.core.annotations import Floats, Signals
from graphdict.core.likelihoods import Likelihood
from graphdict.core.operators import Bilinear
from graphdict.core.prior_checks import check_descent
from graphdict.core.problem import Problem, row_barriers
from graphdict.core.protocols import Executor
from graphdict.core.recordings import Recordings
from graphdict.core.solvers.base import History, Solution
from graphdict.core.solvers.bipds import bipds
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.checkpoint import Checkpoint, Stage
from graphdict.engine.executor import open_executor
from graphdict.engine.logs import logger
from graphdict.engine.progress import shows_progress, with_progress
from graphdict.engine.signals import row_slices
from graphdict.engine.tasks import subtask
from graphdict.exceptions import ConvergenceWarning, DeadAtomWarning, warn
from graphdict.models.base import CodedSignals
from graphdict.models.coding import Coding, by_sample, code, history_of_coding, last_residual
from graphdict.models.fit_end import is_usable, report_unusable_fit, warn_infinite
from graphdict.models.soft_problem import SoftProblem
from graphdict.models.starts import STARTS, begin, check_given, check_proportion

CODING = 0.3  # of the work for one start: the coefficients for the atoms in the end
CODING_STEPS = 5000  # iterations that finding these coefficients may take at least


class SoftDictionary(SoftProblem):
    """Base of the soft dictionaries: what they fit, find and score."""

    atoms_: Floats
    history_: dict[str, NDArray[Any]]
    n_iter_: int
    backend_: str

    def _check_energies(self, executor: Executor, atoms: Floats) -> None:
        """Raise where the signal term has energies that are not finite for atoms (K, E)."""

    # What a user calls ----------------------------------------------------------------------

    @single_threaded_blas  # whose threads wait busily for more, on the cores that passes need
    @shows_progress
    def fit(self, X: Signals, y: Any = None) -> Self:
        """Learn the atoms and the coefficients of the signals ``X`` (T, N).

        Parameters
        ----------
        X : array, DataFrame, memory map, Zarr or Dask array of shape (T, N)
            One row for each sample, one column for each node. What is larger than scikit-learn's
            ``working_memory`` is read part by part; see the page on scaling. NaN stands for a
            missing value. Or several recordings: a list of these or of MNE's Raw or Epochs, a
            dictionary of them by name, or one table with a column "recording"; see the page on
            recordings.
        y : None
            Ignored; there for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        samples, signals = self._learn(X, self.rescale and self.fix != "atoms")
        self._learn_gaps(signals)
        self._learn_likelihood(signals)
        problem = self._problem(signals, self.recordings_)
        for term in self._atom_priors():
            check_descent(term, self._shape_of_atoms(signals).shape)
        for term in self.coefficient_priors or ():
            check_descent(term, (len(signals), self.n_atoms))
        first, first_coefficients = self._given(len(signals), signals.dtype)
        rng = check_random_state(self.random_state)
        kept = Checkpoint.of_fit(self, samples, rng)
        with kept.resuming(), open_executor(problem, self._shape_of_atoms(signals)) as executor:
            self._check_energies(executor, self._shape_of_atoms(signals))
            self.backend_ = executor.backend_name
            logger.info("%s: backend %s", type(self).__name__, self.backend_)
            shape = problem.rows, self.n_atoms
            draw = partial(STARTS[self.init], executor, *shape, rng, signals.dtype)
            begins = partial(
                begin, problem, executor,
                atoms=first, by_sample=first_coefficients, fix=self.fix, draw=draw,
            )  # fmt: skip
            best, interrupted = self._best_of_starts(executor, begins, kept)
            atoms, objective = best.atoms, best.objective
            as_found = self.fix == "coefficients" or (self.last_iterate and self.fix != "atoms")
            if as_found or best.interrupted:
                coefficients = by_sample(best.coefficients, problem.counts)
            else:
                stage = kept.stage()
                with subtask(f"{type(self).__name__}: coefficients", cost=CODING):
                    found = self._code(problem, atoms, executor, stage=stage)
                coefficients = found.coefficients
                objective = found.value + problem.atom_priors.value(atoms)
                interrupted = interrupted or found.interrupted
                if self.fix == "atoms":
                    best.history = history_of_coding(found, executor, atoms, best.history)
                    best.n_iter = found.solution.n_iter if found.solution is not None else 1
            usable = is_usable(self, executor, atoms, objective)
        if not interrupted:
            kept.finish()
        if not usable:
            report_unusable_fit(self, problem, best, objective, coefficients)
        elif objective == np.inf:
            warn_infinite(self, best.n_iter)
        self._describe(best, atoms, objective, coefficients)
        return self

    def _scores(self, X: Signals) -> tuple[Floats, Recordings]:
        signals, atoms, coefficients, recordings = self._code_signals(X)
        counts = self._counts(recordings)
        rows = coefficients
        if self.window_size > 1:
            rows = coefficients[np.cumsum(counts) - counts]
        likelihood = self._likelihood()
        operator = Bilinear(likelihood.linear_map(signals.shape[1]))
        barriers = by_sample(row_barriers(operator, likelihood.barrier, rows, atoms), counts)
        constant = (signals.shape[1] - 1) * np.log(2 * np.pi)
        scores = -(barriers + constant) / 2
        gaps = self._gaps(signals)
        rest = np.empty(len(signals))
        for some in row_slices(signals):
            block = signals[some]
            energies = self._energies(block, atoms, gaps)
            fit = np.einsum("tk,tk->t", coefficients[some], energies, dtype=np.float64)
            scores[some] -= fit / 2
            rest[some] = _rest_of_observed(likelihood, block)
        unseen = np.isnan(rest)
        rest[unseen] = 0 if unseen.all() else rest[~unseen].mean()
        return scores - rest / 2, recordings

    # How it is done -------------------------------------------------------------------------

    @property
    def _planned_work(self) -> float:
        """One for the solution from each start, and the coefficients for the best."""
        return self.n_init + CODING

    def _given(self, samples: int, dtype: Any) -> tuple[Floats | None, Floats | None]:
        """Return the given atoms (on active nodes) and coefficients, checked; None if not given."""
        for name in ("atoms", "coefficients"):
            if self.fix == name and getattr(self, name) is None:
                raise ValueError(f"fix={name!r} needs the array to hold: pass {name}=")
        edges = graphs.n_edges(self.n_features_in_)
        atoms = check_given("atoms", self.atoms, (self.n_atoms, edges), np.inf, dtype)
        coefficients = check_given(
            "coefficients", self.coefficients, (samples, self.n_atoms), 1, dtype
        )
        check_proportion("atoms", atoms, 1 / self._variance)
        check_proportion("coefficients", coefficients, 1.0)
        return None if atoms is None else self._preparation.restrict(atoms), coefficients

    def _best_of_starts(
        self, executor: Any, begins: Callable[[], tuple[Any, Floats]], kept: Checkpoint
    ) -> tuple[Solution, bool]:
        """Return the solution of the lowest objective, and whether the user interrupted.

        ``begins`` returns coefficients and atoms to start from, different ones at each call.
        """
        given = self.atoms is not None or self.coefficients is not None
        best: Solution | None = None
        for _ in range(1 if given else self.n_init):
            solution = self._solve(executor.problem, *begins(), executor, kept.stage())
            overflowed = best is None or np.isnan(best.objective)
            if best is None or overflowed or solution.objective < best.objective:
                best = solution
            if solution.interrupted:
                break
        assert best is not None
        return best, solution.interrupted

    def _solve(
        self, problem: Problem, coefficients: Any, atoms: Floats, executor: Any, stage: Stage
    ) -> Solution:
        if stage.result is not None:
            return Solution.restored(stage.result)
        if self.fix == "atoms":  # coding, which follows, is the whole fit
            return Solution(atoms, lambda: coefficients, lambda: None, np.inf, History(), 0, True)
        solve = self._choose_solver(
            problem.barrier, problem.atom_terms, problem.coefficient_terms,
            problem.linear, atoms.shape[1],
        )  # fmt: skip
        steps: dict[str, Any] = {}
        if solve is bipds:
            names = ("tau_atoms", "tau_coefficients", "sigma", "last_iterate")
            steps = {name: getattr(self, name) for name in names}
        name = type(self).__name__
        with (
            subtask(f"{name}: iterations"),
            with_progress(self.callback, self.max_iter, name, self.tol) as call,
        ):
            solution = solve(
                executor, coefficients, atoms, fixed=self.fix, max_iter=self.max_iter,
                tol=self.tol, callback=call, stage=stage, **steps,
            )  # fmt: skip
        if solution.interrupted:
            stage.flush()
        else:
            kept = {"coefficients": solution.coefficients} if self.last_iterate else {}
            stage.finish({**solution.summary(), **kept})
        if not (solution.converged or solution.interrupted or solution.stopped):
            self._warn_unconverged(self.max_iter, _reached(last_residual(solution)))
        return solution

    def _code(
        self, problem: Problem, atoms: Floats, executor: Any, out: Any = None, stage: Any = None
    ) -> Coding:
        """Return the best coefficients (T, K) for atoms, and how they were found."""
        steps, tight = max(CODING_STEPS, self.max_iter), max(min(self.tol, 1e-5), 1e-8)
        found = code(problem, atoms, executor, max_iter=steps, tol=tight, out=out, stage=stage)
        if found.residual > self.tol and not found.interrupted:
            warn(
                f"{type(self).__name__} found the coefficients for its final atoms only roughly: "
                f"{steps} iterations ended before tol={self.tol}, {_reached(found.residual)}. The "
                f"atoms are not affected. Set max_iter above {steps}, or raise tol if the result "
                "is good enough.",
                ConvergenceWarning,
            )
        return found

    @single_threaded_blas
    def _code_signals(self, X: Signals, out: Any = None) -> CodedSignals:
        signals, recordings = self._prepare(X)
        atoms = self._active_atoms.astype(signals.dtype)
        problem = self._problem(signals, recordings)
        with open_executor(problem, atoms) as executor:
            self._check_energies(executor, atoms)
            found = self._code(problem, atoms, executor, out)
        return CodedSignals(signals, atoms, found.coefficients, recordings)

    def _shape_of_atoms(self, signals: Floats) -> Floats:
        """Return placeholder atoms (K, E) of the right shape and precision."""
        return np.ones((self.n_atoms, graphs.n_edges(signals.shape[1])), dtype=signals.dtype)

    def _describe(
        self, solution: Solution, atoms: Floats, objective: float, coefficients: Floats
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
            warn(
                f"{len(dead)} of {len(self.atoms_)} atoms have no edges or are used by no sample: "
                f"{dead}. Fewer atoms or smaller penalties would do.",
                DeadAtomWarning,
            )


def _rest_of_observed(likelihood: Likelihood, signals: Floats) -> Floats:
    """Return the likelihood's ``rest`` of each sample (T,); NaN where nothing was observed."""
    missing = np.isnan(signals)
    some = ~missing.all(axis=1)
    found = np.full(len(signals), np.nan)
    found[some] = likelihood.rest(signals if some.all() else signals[some])
    if np.isnan(found[some]).any():
        why = ": missing values are NaN in signals, and it must allow for them"
        raise ValueError(
            f"rest(signals) of the likelihood {type(likelihood).__name__} is not a number for some "
            f"samples{why if missing.any() else ''}"
        )
    return found


def _reached(residual: float) -> str:
    return f"largest relative residual {residual:.2g}"
