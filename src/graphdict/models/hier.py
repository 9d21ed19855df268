"""GraphDictHier: a dictionary whose atoms form a binary tree over consecutive windows."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Floats, Integers, RescaleName, Signals, StrPath
from graphdict.core.gaussian import RELATIVE_FLOOR, log_likelihoods
from graphdict.core.graph_learning import average_degree_ridge, coupled_graphs, log_degree_objective
from graphdict.core.graph_learning.admm import ConsensusSolution
from graphdict.core.graph_learning.determinant import coupled_likelihood, likelihood_objective
from graphdict.core.graph_learning.tree import WindowTree, window_tree
from graphdict.core.graph_learning.windows import (
    connected_graphs,
    edges_between,
    even_counts,
    without_rounding,
)
from graphdict.core.recordings import Recordings
from graphdict.core.solvers.base import Callback, Progress
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.checkpoint import Checkpoint, Stage
from graphdict.engine.penalties import effective_penalty, weights_in
from graphdict.engine.progress import shows_progress, with_progress
from graphdict.engine.scikit import available_if
from graphdict.engine.signals import BLOCK_BYTES
from graphdict.engine.sources import too_large, write_rows
from graphdict.engine.storage.fitted import NUMBER, FittedValue
from graphdict.engine.window_sums import active_windows, distance_sums, mean_distances
from graphdict.models.base import CodedSignals, GraphDictionary


def _never(model: Any) -> bool:
    """Return False: a sample has no coefficients without its time, so methods are not offered."""
    return False


@dataclass(repr=False, eq=False)
class GraphDictHier(GraphDictionary, auto_wrap_output_keys=None):
    """Hierarchical graph dictionary (Yamada and Tanaka 2021): coefficients fixed by a tree.

    The series is cut into windows, the leaves of a binary tree in which neighbours share parents
    (of several recordings each is cut into as many, and those of the same number share a graph).
    Every node k of the tree owns an atom, and ``delta_tk = 1`` where sample t lies below node k: an
    instantaneous graph is the sum of the atoms from the root to its window. Only atoms are learned,
    by solving the convex problem

        min over W >= 0   1/T sum_t [ x_t' L_t x_t + h(L_t) + beta/2 |w_t|^2 ] + alpha_w sum(W)

    where ``w_t = sum_k delta_tk w_k``, and ``h(L) = -log det_+ L``, the Gaussian likelihood, or
    ``h(L) = -sum_n log d_n``. The alternating direction method ends where its residuals vanish; the
    proximal operator of the tree is exact. An edge that several windows share is cheaper in their
    common ancestor, so ``alpha_w`` decides how far up edges move. A node whose signal is exactly
    zero throughout a window has no edges there.

    Parameters
    ----------
    depth : int, default=5
        Levels below the root: 2^depth windows, or as many as there are samples.
    n_windows : int, optional
        Number of windows, instead of a depth. Any number will do; windows differ by at most one
        sample.
    alpha_w : float, default=0.05
        Penalty on the edge weights of the atoms.
    likelihood : {"log-det", "log-degree"}, default="log-det"
        What keeps graphs from vanishing.
    beta : float, default=0.0
        Ridge. Log-degree graphs are very sparse without one.
    avg_degree : float, optional
        Wanted number of edges at a node, from which ``beta`` is set by the distances averaged over
        all samples, as in the log-degree model of Kalofolias and Perraudin.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-4
        Relative primal and dual residual at which to stop.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that units do not matter.
    callback : callable, optional
        Called after each iteration with a :class:`graphdict.solvers.Progress`; returning True stops
        the fit.
    checkpoint : path, optional
        Where to keep what a fit needs to go on after it was killed; see the page on scaling.
    verbose : int, default=0
        Show a progress bar.

    Attributes
    ----------
    atoms_ : array (K, E)
        Edge weights of the nodes' graphs, root first; K is twice the number of windows minus one.
    coefficients_ : array (T, K)
        One where a sample lies below a node.
    parents_ : integer array (K,)
        The parent of each node; -1 for the root.
    objective_, history_, n_iter_
        The objective at ``atoms_``, by iteration, and the number of iterations.
    beta_ : float
        The ridge that was used.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the other dictionaries.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "depth": [Interval(Integral, 0, None, closed="left")],
        "n_windows": [Interval(Integral, 1, None, closed="left"), None],
        "alpha_w": [Interval(Real, 0, None, closed="left")],
        "likelihood": [StrOptions({"log-det", "log-degree"})],
        "beta": [Interval(Real, 0, None, closed="left")],
        "avg_degree": [Interval(Real, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "rescale": ["boolean", StrOptions({"recording"})],
        "callback": [callable, None],
        "checkpoint": [str, os.PathLike, None],
        "verbose": ["verbose"],
    }
    window_size = 1
    atoms_: Floats = field(init=False)
    coefficients_: Floats = field(init=False)
    objective_: float = field(init=False)
    history_: dict[str, NDArray[Any]] = field(init=False)
    n_iter_: int = field(init=False)
    parents_: Integers = field(init=False)
    beta_: float = field(init=False)

    depth: int = 5
    _: KW_ONLY
    n_windows: int | None = None
    alpha_w: float = 0.05
    likelihood: Literal["log-det", "log-degree"] = "log-det"
    beta: float = 0.0
    avg_degree: float | None = None
    max_iter: int = 500
    tol: float = 1e-4
    rescale: bool | RescaleName = True
    callback: Callback | None = None
    checkpoint: StrPath | None = None
    verbose: int = 0

    _needed = (*GraphDictionary._needed, "parents_")
    _fitted_values = {
        **GraphDictionary._fitted_values,
        "parents_": FittedValue("K"),
        "beta_": NUMBER,
    }

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {"alpha_w": 1, "beta": 2}

    @property
    def _planned_work(self) -> float:
        """One: the way from the first residual to the tolerance."""
        return 1.0

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows = min(samples, self.n_windows or 2 ** min(self.depth, 40))
        atoms, edges = 2 * windows - 1, graphs.n_edges(nodes)
        building = 3 * min(samples * edges * size, BLOCK_BYTES) if windows < samples else 0
        solving = 8 * atoms * edges * size + 10 * windows * edges * 8
        if not too_large((samples, atoms), f"f{size}"):  # else coefficients are in a file
            solving += samples * atoms * size
        if self.likelihood == "log-det":
            solving += 8 * windows * nodes**2 * 8
        return building, solving

    @shows_progress
    @single_threaded_blas
    def fit(self, X: Signals, y: Any = None) -> Self:
        """Learn the atoms of the tree from a series of signals.

        Parameters
        ----------
        X : array, DataFrame, memory map, Zarr or Dask array of shape (T, N)
            One row for each sample, in order of time. What is larger than scikit-learn's
            ``working_memory`` is read part by part; see the page on scaling. NaN stands for a
            missing value.
        y : None
            Ignored; there for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        samples, signals = self._learn(X, self.rescale)
        recordings = self.recordings_
        tree = window_tree(self._windows(min(recordings.lengths)))
        counts = _window_lengths(recordings, tree.windows)
        lengths = counts.reshape(len(recordings), -1).sum(axis=0)
        kept = Checkpoint.of_fit(self, samples)
        shares = lengths / lengths.sum()
        active = active_windows(samples, counts, len(recordings))[:, self.active_nodes_]
        costs = without_rounding(mean_distances(signals, counts, len(recordings)))
        alpha, self.beta_ = effective_penalty(self, "alpha_w"), effective_penalty(self, "beta")
        if self.avg_degree is not None:
            average = (shares @ costs)[None]
            self.beta_ = float(average_degree_ridge(average, float(self.avg_degree))[0])

        with kept.resuming():
            found = self._solve(tree, costs, shares, active, kept.stage())
        # The consensus obeys the tree exactly, and silence only up to the tolerance.
        weights = found.consensus * edges_between(active)
        measure = likelihood_objective if self.likelihood == "log-det" else log_degree_objective

        def objective(weights: Floats) -> float:
            fit = float(shares @ measure(weights, costs, self.beta_, active))
            return fit + alpha * tree.total(weights)

        largest = costs + alpha + self.beta_**0.5  # what keeps weights from growing
        weights = connected_graphs(weights, objective, largest, active)
        self.objective_ = objective(weights)
        self.history_ = found.history.as_dict()
        self.n_iter_ = len(found.history.objective)
        self.atoms_ = self._preparation.embed(weights_in(self, tree.split(weights), signals.dtype))
        self.parents_ = tree.parent
        self.coefficients_ = _memberships(tree, counts, signals.dtype)
        self._n_features_out = len(self.atoms_)
        if not found.interrupted:
            kept.finish()
        return self

    def _solve(
        self, tree: WindowTree, costs: Floats, shares: Floats, active: Booleans, stage: Stage
    ) -> ConsensusSolution:
        """Learn the graphs of the windows; warn where they are not optimal."""
        solve = coupled_likelihood if self.likelihood == "log-det" else coupled_graphs
        alpha = effective_penalty(self, "alpha_w")
        name = type(self).__name__
        with with_progress(self.callback, self.max_iter, name, self.tol) as call:
            found = solve(
                costs,
                self.beta_,
                lambda values, step: tree.prox(values, step * alpha, shares),
                lambda weights: alpha * tree.total(weights),
                shares=shares,
                active=active,
                max_iter=self.max_iter,
                tol=self.tol,
                callback=None if call is None else partial(_show, call, tree),
                stage=stage,
            )
        if found.interrupted:
            stage.flush()
        elif not (found.converged or found.stopped):
            residual = found.history.residual[-1]
            self._warn_unconverged(self.max_iter, f"largest relative residual {residual:.2g}")
        return found

    def score(self, X: Signals, y: Any = None) -> float:
        """Return the mean log-likelihood per sample of a series, cut like the training signals.

        Measured by the model's own ``likelihood``. Where a window's graph falls apart, vanishing
        eigenvalues (or degrees) count as 1e-9 of the largest, which makes for a very low score.

        Parameters
        ----------
        X : array (T', N), or several recordings
            Signals.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        signals, recordings = self._prepare(X)
        atoms, counts = self._active_atoms.astype(signals.dtype), self._counts(recordings)
        lengths = counts.reshape(len(recordings), -1).sum(axis=0)
        rows = window_tree(len(lengths)).membership.astype(signals.dtype)
        if self.likelihood == "log-det":
            logs = log_likelihoods(np.zeros_like(rows), rows, atoms)
        else:
            degrees = (rows @ graphs.degrees(atoms)).astype(np.float64)
            floor = max(RELATIVE_FLOOR * float(degrees.max()), np.finfo(float).tiny)
            degrees = np.maximum(degrees, floor)
            constant = (signals.shape[1] - 1) * np.log(2 * np.pi)
            logs = (np.log(degrees).sum(axis=1) - constant) / 2
        sums = distance_sums(signals, counts, self._gaps(signals), len(recordings))
        fit = np.einsum("be,be->", rows @ atoms, sums, dtype=np.float64)
        return float((logs @ lengths - fit / 2) / len(signals))

    @available_if(_never)
    def transform(self, X: Signals) -> Floats:  # type: ignore[override]
        """Not offered: coefficients depend on the time of a sample, not on its values."""
        raise NotImplementedError

    @available_if(_never)
    def fit_transform(self, X: Signals, y: Any = None) -> Floats:
        """Not offered: coefficients depend on the time of a sample, not on its values."""
        raise NotImplementedError

    @available_if(_never)
    def score_samples(self, X: Signals) -> Floats:  # type: ignore[override]
        """Not offered: a sample alone has no window. See :meth:`score`."""
        raise NotImplementedError

    def _code_signals(self, X: Signals, out: Any = None) -> CodedSignals:
        signals, recordings = self._prepare(X)
        atoms = self._active_atoms.astype(signals.dtype)
        counts = self._counts(recordings)
        tree = window_tree(len(counts) // len(recordings))
        found = _memberships(tree, counts, signals.dtype, out)
        return CodedSignals(signals, atoms, found, recordings)

    def _counts(self, recordings: Recordings) -> Integers:
        """Return the lengths of the windows of each recording, one recording after the other."""
        windows, samples = (len(self.atoms_) + 1) // 2, min(recordings.lengths)
        if samples < windows:
            which = recordings.names[recordings.lengths.index(samples)]
            named = "X" if len(recordings) == 1 else f"X: recording {which!r}"
            raise ValueError(
                f"{named} has {samples} samples, fewer than the {windows} windows of the tree; "
                f"give at least {windows}"
            )
        return _window_lengths(recordings, windows)

    def _windows(self, samples: int) -> int:
        """Return the number of windows of each recording, the shortest of which has ``samples``."""
        if self.n_windows is None:
            result: int = min(2 ** min(self.depth, 62), samples)
            return result
        if self.n_windows > samples:
            raise ValueError(
                f"n_windows={self.n_windows} is larger than the {samples} samples of X (or of its "
                f"shortest recording); use at most {samples}"
            )
        return int(self.n_windows)


def _window_lengths(recordings: Recordings, windows: int) -> Integers:
    """Return the lengths of so many windows of each recording, one recording after the other."""
    return np.concatenate([even_counts(length, windows) for length in recordings.lengths])


def _show(callback: Callback, tree: WindowTree, progress: Progress) -> bool | None:
    """Call back with the atoms of the tree, given the graphs of windows."""
    atoms, windows = tree.split(progress.atoms), tree.membership
    return callback(
        Progress(progress.iteration, progress.objective, progress.residual, atoms, windows)
    )


def _memberships(tree: WindowTree, counts: Integers, dtype: Any, out: Any = None) -> Floats:
    """Return the coefficients (T, K) of samples in windows; in a file if they are too large.

    ``counts`` are the lengths of all windows of each recording.
    """
    membership = tree.membership.astype(dtype)
    at_a_time = max(1, BLOCK_BYTES // membership[0].nbytes)
    number = -(-counts // at_a_time)  # pieces of each window
    pieces = (
        membership[window % tree.windows][None]
        for window, count in enumerate(number) for _ in range(count)
    )  # fmt: skip
    sizes = [even_counts(*pair) for pair in zip(counts, number)]
    return write_rows(pieces, np.concatenate(sizes), len(tree.parent), dtype, out)
