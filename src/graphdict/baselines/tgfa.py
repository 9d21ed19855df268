"""TGFA: graphs of windows with a penalty on changes from one window to the next."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from sklearn.utils._param_validation import Interval, StrOptions

from graphdict.baselines.base import COUNT
from graphdict.baselines.window import WindowBaseline
from graphdict.core.annotations import Floats, RescaleName, Signals
from graphdict.core.graph_learning import coupled_graphs
from graphdict.core.terms import TotalVariation
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.penalties import effective_penalty, weights_in

STRONGEST = 1e12  # smoothing, at most: more would leave nothing of the values but rounding


@dataclass(repr=False, eq=False)
class TGFA(WindowBaseline):
    """Time-varying graphs with a penalty on changes of edges between adjacent windows.

    Solves the convex problem, over the graphs ``w_b >= 0`` of all windows b,

        sum_b [ <w_b, z_b> + alpha_w sum(w_b) + beta/2 |w_b|^2 - sum_n log (D w_b)_n ]
          + alpha_diff sum_b psi(w_{b+1} - w_b)

    with ``psi(u) = |u|_1`` for piecewise constant edges (Yamada et al. 2020), or
    ``psi(u) = |u|_2^2 / 2`` for smooth changes (Kalofolias et al. 2017). ``z_b`` are mean squared
    differences over the window. ADMM alternates between the windows, each solved by Newton's
    method, and the exact proximal operator of the penalty. A node whose signal is exactly zero
    throughout a window has no edges there.

    Parameters
    ----------
    window_size : int, default=20
        Number of samples that share a graph; the last window may be shorter.
    alpha_diff : float, default=1.0
        Penalty on changes. Zero gives the graphs of :class:`WindowLogModel` with the same ``beta``.
    penalty : {"l1", "l2"}, default="l1"
        Norm of the changes.
    avg_degree : float, default=5
        Wanted number of edges at a node, which determines ``beta`` by the distances averaged over
        all windows.
    beta : float, optional
        Ridge, instead of an average degree. It must be positive.
    alpha_w : float, default=0.0
        Penalty on edge weights.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-4
        Relative primal and dual residual at which to stop.
    rescale : bool or "recording", default=True
        Divide all signals by one number, so that results do not depend on units.

    Attributes
    ----------
    atoms_ : array (windows, E)
        Edge weights of each window.
    states_ : integer array (T,)
        Window of each training sample.
    objective_ : float
        Objective at ``atoms_``.
    history_ : dict of arrays
        ``objective``, ``residual`` and its parts, and ``seconds``, by iteration.
    beta_ : float
        The ridge that was used.
    n_iter_ : int
        Iterations.
    scale_, active_nodes_, n_features_in_, feature_names_in_
        As for the dictionaries.
    """

    atoms_: Floats = field(init=False)
    objective_: float = field(init=False)
    n_iter_: int = field(init=False)
    history_: dict[str, NDArray[Any]] = field(init=False)
    beta_: float = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **WindowBaseline._parameter_constraints,
        "alpha_diff": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"l1", "l2"})],
        "beta": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    _copies = 10

    window_size: int = 20
    _: KW_ONLY
    alpha_diff: float = 1.0
    penalty: Literal["l1", "l2"] = "l1"
    avg_degree: float = 5
    beta: float | None = None
    alpha_w: float = 0.0
    max_iter: int = 500
    tol: float = 1e-4
    rescale: bool | RescaleName = True

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {**super()._penalty_units, "alpha_diff": 1 if self.penalty == "l1" else 2}

    @single_threaded_blas
    def fit(self, X: Signals, y: Any = None) -> Self:
        self._validate_params()
        costs, active = self._windows(X)
        self.beta_ = float(self._ridge(costs.mean(axis=0, keepdims=True))[0])
        alpha = effective_penalty(self, "alpha_diff")
        starts = self.recordings_.window_starts(self.window_size)[1:]  # nothing changes across
        found = coupled_graphs(
            costs,
            self.beta_,
            lambda values, step: np.concatenate(
                [_smooth(v, step * alpha, self.penalty) for v in np.split(values, starts)]
            ),
            lambda weights: (
                alpha * sum(_change(own, self.penalty) for own in np.split(weights, starts))
            ),
            active=active,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        history = found.history
        self.n_iter_ = len(history.objective)
        if not found.converged:
            residual = history.residual[-1]
            self._warn_unconverged(self.max_iter, f"largest relative residual {residual:.2g}")
        self.atoms_ = self._preparation.embed(weights_in(self, found.weights, costs.dtype))
        self.objective_ = history.objective[-1]
        self.history_ = history.as_dict()
        return self


def _smooth(values: Floats, strength: float, penalty: str) -> Floats:
    """Return the proximal operator of ``strength sum_b psi(w_{b+1} - w_b)`` at values (B, E)."""
    if len(values) < 2 or strength == 0:
        return values
    if penalty == "l1":
        return TotalVariation(strength).prox(values, 1.0)
    strength = min(strength, STRONGEST)
    banded = np.empty((2, len(values)))
    banded[0] = -strength
    banded[1] = 1 + 2 * strength
    banded[1, [0, -1]] = 1 + strength
    result: Floats = solveh_banded(banded, values, check_finite=False)
    return result


def _change(weights: Floats, penalty: str) -> float:
    """Return ``sum_b psi(w_{b+1} - w_b)`` of weights (B, E)."""
    jumps = np.diff(weights, axis=0)
    return float(np.abs(jumps).sum() if penalty == "l1" else np.square(jumps).sum() / 2)
