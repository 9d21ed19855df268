"""Dictionaries whose coefficients are optimised: what is minimised, and how a fit goes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from graphdict.core import graphs
from graphdict.core.annotations import Signals
from graphdict.core.likelihoods import Likelihood
from graphdict.core.operators import Bilinear
from graphdict.core.prior_checks import check_descent
from graphdict.core.problem import Problem, row_barriers
from graphdict.core.recordings import Recordings
from graphdict.core.solvers.alternating import alternating
from graphdict.core.solvers.base import Solution
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.mm import mm, mm_lacks
from graphdict.core.terms import L1, NonNegative, Orthogonality, TotalVariation, UnitBox
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.checkpoint import Checkpoint, Stage
from graphdict.engine.executor import open_executor
from graphdict.engine.logs import logger
from graphdict.engine.memory import BLOCK
from graphdict.engine.penalties import LEAST
from graphdict.engine.progress import shows_progress, with_progress
from graphdict.engine.signals import OnAllNodes, row_slices
from graphdict.engine.sources import signal_fit
from graphdict.engine.tasks import part
from graphdict.exceptions import ConvergenceWarning, DeadAtomWarning, warn
from graphdict.models.base import Encoded
from graphdict.models.coding import by_sample, code, last_residual
from graphdict.models.soft_settings import SoftSettings
from graphdict.models.starts import STARTS, begin, check_given, check_proportion

__all__ = ["SoftDictionary", "penalties"]

CODING = 0.3  # of the work for one start: the coefficients for the atoms in the end
CODING_STEPS = 5000  # iterations that finding these coefficients may take at least
DIVERGED = 1e12  # the objective of a last iterate that leads nowhere


class SoftDictionary(SoftSettings):
    """Base of the soft dictionaries. A model is a choice of likelihood."""

    atoms_: NDArray[np.float64]
    history_: dict[str, NDArray[Any]]
    n_iter_: int
    backend_: str
    _objects: ClassVar[tuple[str, ...]] = ("atom_priors", "coefficient_priors")

    # What a model chooses -------------------------------------------------------------------

    def _learn_likelihood(self, signals: NDArray[np.float64]) -> None:
        """Learn from prepared training signals what :meth:`_likelihood` needs, if anything."""

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
        given = self._given(len(signals), signals.dtype)
        starts = 1 if self.atoms is not None or self.coefficients is not None else self.n_init
        rng = check_random_state(self.random_state)
        kept = Checkpoint.of_fit(self, samples, rng)
        shape = self._shape_of_atoms(signals)
        with kept.resuming(), open_executor(problem, shape) as executor:
            self.backend_ = executor.backend_name
            logger.info("%s: backend %s", type(self).__name__, self.backend_)
            wanted = (problem.rows, self.n_atoms, rng, signals.dtype)
            draw = partial(STARTS[self.init], executor, *wanted)
            best: Solution | None = None
            for _ in range(starts):
                start = begin(problem, executor, *given, self.fix, draw)
                solution = self._solve(problem, *start, executor, kept.stage())
                overflowed = best is None or np.isnan(best.objective)
                if best is None or overflowed or solution.objective < best.objective:
                    best = solution
                if solution.interrupted:
                    break
            assert best is not None
            atoms, objective = best.atoms, best.objective
            interrupted = solution.interrupted
            as_found = self.fix == "coefficients" or (self.last_iterate and self.fix != "atoms")
            if as_found or (interrupted and best is solution):
                coefficients = by_sample(best.coefficients, problem.counts)
            else:
                stage = kept.stage()
                with part(f"{type(self).__name__}: coefficients", cost=CODING):
                    coefficients, value, coded = self._code(problem, atoms, executor, stage=stage)
                objective = value + problem.atoms.value(atoms)
                interrupted = interrupted or not coded
            usable = self._is_usable(problem, atoms, objective, executor)
        if not interrupted:
            kept.finish()
        self._check_end(best, objective, usable)
        self._describe(best, atoms, objective, coefficients)
        return self

    def _scores(self, X: Signals) -> tuple[NDArray[np.float64], Recordings]:
        signals, atoms, coefficients, recordings = self._encode(X)
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
        """Solutions from as many starts, and coefficients for the best."""
        return self.n_init + CODING

    def _problem(
        self, signals: NDArray[np.float64], recordings: Recordings | None = None
    ) -> Problem:
        """Return the problem of prepared signals, of one recording by default."""
        recordings = recordings or Recordings.single(len(signals))
        counts = self._counts(recordings)
        likelihood = self._likelihood()
        operator = Bilinear(likelihood.linear_map(signals.shape[1]))
        atom_terms = [
            *self._weight_terms(), *penalties((Orthogonality, self.alpha_orth)),
            *self._atom_priors(),
        ]  # fmt: skip
        starts = recordings.piece_starts[1:]
        total_variation = partial(TotalVariation, starts=tuple(starts.tolist()))
        coefficient_terms = [
            UnitBox(), *penalties((L1, self.alpha_c), (total_variation, self.alpha_diff)),
            *(self.coefficient_priors or ()),
        ]  # fmt: skip
        fit = signal_fit(signals, counts, self._gaps(signals), likelihood)
        return Problem(fit, operator, likelihood.barrier, atom_terms, coefficient_terms, counts)

    def _weight_terms(self) -> list[Any]:
        """Return the terms that say what edge weights may be, and what each costs."""
        return [NonNegative(), *penalties((L1, self.alpha_w))]

    def _atom_priors(self) -> list[Any]:
        """Return the user's priors, which see the edges of all nodes."""
        priors = list(self.atom_priors or ())
        if self.active_nodes_.all():
            return priors
        return [OnAllNodes(term, self._preparation) for term in priors]

    def _given(
        self, samples: int, dtype: Any
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
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

    def _solve(
        self,
        problem: Problem,
        coefficients: Any,
        atoms: NDArray[np.float64],
        executor: Any,
        stage: Stage,
    ) -> Solution:
        if stage.result is not None:
            return Solution.restored(stage.result)
        if self.fix == "atoms":  # one coding step is the whole fit
            return bipds(executor, coefficients, atoms, fixed="atoms", max_iter=1)
        solve = self._solver_of(problem)
        steps: dict[str, Any] = {}
        if solve is bipds:
            names = ("tau_atoms", "tau_coefficients", "sigma", "last_iterate")
            steps = {name: getattr(self, name) for name in names}
        name = type(self).__name__
        with (
            part(f"{name}: iterations"),
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

    def _is_usable(
        self, problem: Problem, atoms: NDArray[np.float64], objective: float, executor: Any
    ) -> bool:
        """Return whether there are coefficients under the atoms of a fit."""
        if not self.last_iterate:
            return bool(np.isfinite(objective))
        if objective != np.inf:
            return bool(objective <= DIVERGED)
        with np.errstate(all="ignore"):
            found = code(problem, atoms, executor, max_iter=CODING_STEPS, tol=1e-4)
            objective = found.value + problem.atoms.value(atoms)
        return bool(objective <= DIVERGED and np.isfinite(found.coefficients).all())

    def _check_end(self, end: Solution, objective: float, usable: bool) -> None:
        """Warn where a last iterate has no objective; raise where steps lead to atoms of no use."""
        names = ("tau_atoms", "tau_coefficients", "sigma")
        steps = [
            f"{name}={getattr(self, name)}" for name in names if getattr(self, name) is not None
        ]
        held = [name for name in ("atoms", "coefficients") if getattr(self, name) is not None]
        if usable and self.last_iterate and objective == np.inf:
            warn(
                f"{type(self).__name__} with last_iterate=True ends at iteration {end.n_iter}, "
                "where the objective is infinite: some node has no edge in some sample. Raise "
                "max_iter, choose other steps, or use last_iterate=False for the best iterate.",
                ConvergenceWarning,
            )
        if usable or not (self.last_iterate or steps or held):
            return
        reached = f"the objective is {np.inf if np.isnan(objective) else objective:.3g}"
        reached = "numbers overflow" if np.isnan(end.objective) else reached
        if not (self.last_iterate or steps):
            raise ValueError(
                f"the fit that begins with the given {' and '.join(held)} ends at iteration "
                f"{end.n_iter} where {reached}: some node has no edge in some sample. Give others "
                "that join all nodes, or none, or raise max_iter"
            )
        ends = f"{'last_iterate=True' if self.last_iterate else 'solver=' + repr(self.solver)} ends"
        given = f" by the steps {', '.join(steps)}" if steps else ""
        instead = ", or use last_iterate=False for the best iterate" if self.last_iterate else ""
        raise ValueError(
            f"{ends} at iteration {end.n_iter}{given} where {reached}: steps are too long, or some "
            "node has no edge in any atom. Choose smaller tau_atoms, tau_coefficients and sigma or "
            f"leave them out, raise max_iter{instead}"
        )

    def _solver_of(self, problem: Problem) -> Callable[..., Solution]:
        """Return the solver by its name, or the fastest that can solve the problem."""
        if self.solver == "alternating":
            return alternating
        use_mm = self.solver == "mm" or (self.solver == "auto" and mm_lacks(problem) is None)
        return mm if use_mm else bipds

    def _code(
        self,
        problem: Problem,
        atoms: NDArray[np.float64],
        executor: Any,
        out: Any = None,
        stage: Any = None,
    ) -> tuple[NDArray[np.float64], float, bool]:
        """Return the best coefficients (T, K) for atoms, their value, whether all were found."""
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
        return found.coefficients, found.value, not found.interrupted

    @single_threaded_blas
    def _encode(self, X: Signals, out: Any = None) -> Encoded:
        signals, recordings = self._prepare(X)
        atoms = self._active_atoms.astype(signals.dtype)
        problem = self._problem(signals, recordings)
        with open_executor(problem, atoms) as executor:
            found = self._code(problem, atoms, executor, out)
        return Encoded(signals, atoms, found[0], recordings)

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows, edges = -(-samples // self.window_size), graphs.n_edges(nodes)
        atoms, numbers, image = self.n_atoms, edges, self._image_size(nodes)
        keeps = windows < samples
        building = 3 * min(samples * numbers * size, BLOCK) if keeps else 0
        bipds = self.solver == "bipds" or self.alpha_diff > 0
        solving = 8 * atoms * edges * size
        solving += (8 if bipds else 4) * windows * atoms * size + samples * atoms * size
        solving += 3 * windows * image * size if bipds else 0
        solving += windows * numbers * size if keeps else 0
        return building, solving

    def _image_size(self, nodes: int) -> int:
        """Return how many numbers the barrier sees of a graph."""
        return nodes

    def _shape_of_atoms(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return placeholder atoms (K, E) of the right shape and precision."""
        return np.ones((self.n_atoms, graphs.n_edges(signals.shape[1])), dtype=signals.dtype)

    def _describe(
        self,
        solution: Solution,
        atoms: NDArray[np.float64],
        objective: float,
        coefficients: NDArray[np.float64],
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


def _rest_of_observed(likelihood: Likelihood, signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``rest`` of each sample (T,); NaN for those of which nothing was observed."""
    missing = np.isnan(signals)
    some = ~missing.all(axis=1)
    found = np.full(len(signals), np.nan)
    found[some] = likelihood.rest(signals if some.all() else signals[some])
    if np.isnan(found[some]).any():
        why = ": missing values are NaN in signals, and it has to do without them"
        raise ValueError(
            f"rest(signals) of the likelihood {type(likelihood).__name__} is not a number for some "
            f"samples{why if missing.any() else ''}"
        )
    return found


def _reached(residual: float) -> str:
    return f"largest relative residual {residual:.2g}"


def penalties(*pairs: tuple[Any, float]) -> list[Any]:
    """Return the terms whose strength is not zero, nor next to it."""
    return [term(strength) for term, strength in pairs if strength > LEAST]
