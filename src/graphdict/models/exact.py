"""GraphDictExact: the exact likelihood of every sample, by the spectrum of each Laplacian."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils._param_validation import Interval, StrOptions

from graphdict.core.annotations import Floats, Signals
from graphdict.core.likelihoods import Likelihood, LogDeterminant
from graphdict.core.marginal.filters import FILTERS
from graphdict.core.recordings import Recordings
from graphdict.core.solvers.base import warn_interrupted
from graphdict.core.solvers.filtered_descent import Penalties, code_filtered, filtered_descent
from graphdict.core.solvers.filtered_objective import FilteredObjective
from graphdict.engine.blas import single_threaded_blas
from graphdict.engine.logs import logger
from graphdict.engine.progress import shows_progress, with_progress
from graphdict.engine.signals import has_gaps
from graphdict.engine.sources import write_rows
from graphdict.engine.storage.fitted import NUMBER, FittedValue
from graphdict.engine.tasks import subtask
from graphdict.exceptions import ConvergenceWarning, DeadAtomWarning
from graphdict.models.base import CodedSignals
from graphdict.models.coding import by_sample
from graphdict.models.docs import document
from graphdict.models.filtered_fit import FilteredFit
from graphdict.models.marginal import GraphDictMarginal
from graphdict.models.marginal_settings import MOST_POWER
from graphdict.models.soft import SoftDictionary

CODING_STEPS, CODING_TOL = 500, 1e-6


@document
@dataclass(repr=False, eq=False, kw_only=True)
class GraphDictExact(FilteredFit, SoftDictionary):
    """Graph dictionary with the exact likelihood of every sample.

    The objective of :class:`GraphDictLog` with ``-log det_+ L_t`` in place of the log-degrees: the
    negative log-likelihood of a Laplacian-constrained Gaussian Markov random field. An iteration
    factorises one N x N matrix for each sample (or window), which is what makes it slower.

    With ``filter_power`` or ``tails`` the density is that of a filtered Gaussian or Student t field
    in its place: atoms and coefficients begin at those of the paper's model and descend together.
    """

    _own_parameters = """
    filter_power : "auto" or float of at least 1, default=1
        The precision of a signal is its Laplacian to this power: 1 is the paper's model, larger
        ones are for signals that are smooth in space. "auto" takes the filter that
        :class:`GraphDictMarginal` learns with as many atoms.
    tails : "auto", "gaussian" or float above 2, default="gaussian"
        Degrees of freedom of a Student t in place of the Gaussian, for samples that differ in
        loudness. "auto" takes those that :class:`GraphDictMarginal` learns.

        Other powers than 1 and tails need complete signals in memory and do not combine with
        ``alpha_diff``, ``fix``, ``last_iterate``, ``checkpoint`` and priors of your own: a number
        is refused there by name, and "auto" stands for 1 and "gaussian", which the log says.
    """
    _own_attributes = """
    filter_, filter_power_ : str, float
        "power" and the power p, or "exp" and the rate kappa.
    tails_ : float
        Degrees of freedom; inf is Gaussian.
    gains_ : array (T,)
        Posterior mean of what multiplies the precision of each training sample: small for loud
        ones. 1 where tails are Gaussian.
    """
    filter_power: float | str = 1
    tails: float | str = "gaussian"
    filter_: str = field(init=False)
    filter_power_: float = field(init=False)
    tails_: float = field(init=False)
    gains_: Floats = field(init=False)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SoftDictionary._parameter_constraints,
        "filter_power": [Interval(Real, 1, MOST_POWER, closed="both"), StrOptions({"auto"})],
        "tails": [Interval(Real, 2, None, closed="neither"), StrOptions({"auto", "gaussian"})],
    }
    _fitted_values: ClassVar[dict[str, FittedValue]] = {
        **SoftDictionary._fitted_values,
        "filter_": FittedValue(choices=FILTERS),
        "filter_power_": FittedValue("", 0, positive=True),
        "tails_": NUMBER,
        "gains_": FittedValue("T", 0),
    }

    # What a user calls ----------------------------------------------------------------------

    @shows_progress
    def fit(self, X: Signals, y: Any = None) -> Self:
        """Learn atoms and coefficients; where a filter or tails are asked for, these afterwards.

        Parameters
        ----------
        X : array (T, N), or several recordings
            Signals, as in :class:`GraphDictLog`.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        super().fit(X)
        self.filter_, self.filter_power_, self.tails_ = "power", 1.0, np.inf
        self.gains_ = np.ones(len(self.coefficients_))
        if self._may_be_filtered:
            self._fit_filtered(X)
        return self

    # How it is done -------------------------------------------------------------------------

    def _scores(self, X: Signals) -> tuple[Floats, Recordings]:
        if self._is_papers_model:
            return super()._scores(X)
        signals, atoms, coefficients, recordings = self._code_signals(X)
        objective = self._objective(signals, recordings)
        rows = coefficients[np.cumsum(objective.counts) - objective.counts]
        return objective.log_densities(atoms, rows), recordings

    def _obstacle(self, signals: Any) -> str | None:
        """Return what about settings or prepared signals a filter cannot do with, or None."""
        named = {"alpha_diff": self.alpha_diff > 0, "last_iterate": self.last_iterate}
        named |= {
            name: getattr(self, name) is not None
            for name in ("fix", "checkpoint", "atom_priors", "coefficient_priors")
        }
        found = next((name for name, holds in named.items() if holds), None)
        return found or _obstacle_of(signals)

    def _learn_likelihood(self, signals: Floats) -> None:
        """Refuse a power or tails that were given and cannot be used, before the fit."""
        obstacle = self._obstacle(signals)
        if obstacle is not None:
            self._refuse_number(obstacle)

    def _refuse_number(self, obstacle: str) -> None:
        """Raise where another power or tails were given that do not combine with something."""
        for name, plain in (("filter_power", 1), ("tails", "gaussian")):
            value = getattr(self, name)
            if value not in ("auto", plain, np.inf):
                raise ValueError(
                    f"{name}={value!r} of GraphDictExact cannot be used with {obstacle}: use "
                    f"{name}={plain!r} there, or GraphDictMarginal"
                )

    @single_threaded_blas
    def _fit_filtered(self, X: Signals) -> None:
        """Go on from the paper's model with a filter and tails, and set the fitted attributes."""
        signals, recordings = self._prepare(X)
        obstacle = self._obstacle(signals)
        if obstacle is not None:
            logger.info("GraphDictExact: power 1 and Gaussian tails, because of %s", obstacle)
            return
        if "auto" in (self.filter_power, self.tails):
            marginal = GraphDictMarginal(
                self.n_atoms, filter_power=self.filter_power, tails=self.tails,
                window_size=self.window_size, rescale=self.rescale,  # type: ignore[arg-type]
                random_state=self.random_state,
            )  # fmt: skip
            with warnings.catch_warnings():  # of atoms that are not those of this model
                warnings.simplefilter("ignore", DeadAtomWarning)
                warnings.simplefilter("ignore", ConvergenceWarning)
                marginal.fit(X)
            self.filter_, self.filter_power_ = marginal.filter_, marginal.filter_power_
            self.tails_ = marginal.tails_
        else:
            self.filter_power_ = float(self.filter_power)
            self.tails_ = np.inf if self.tails == "gaussian" else float(self.tails)
        if self._is_papers_model:
            return
        objective = self._objective(signals, recordings)
        counts = objective.counts
        rows = np.asarray(self.coefficients_, dtype=np.float64)[np.cumsum(counts) - counts]
        penalties = Penalties(self.alpha_w, self.alpha_c, self.alpha_orth)
        start = _in_scale(objective, penalties, self._active_atoms.astype(np.float64), rows)
        tol = self.tol * 1e-2
        with (
            subtask("GraphDictExact: filter"),
            with_progress(self.callback, self.max_iter, "filter", tol) as callback,
        ):
            found = filtered_descent(
                objective, start, rows, penalties, max_iter=self.max_iter, tol=tol,
                callback=callback,
            )  # fmt: skip
        rows = found.coefficients
        if found.interrupted:
            warn_interrupted(len(found.history.objective))
        else:
            rows, _ = code_filtered(
                objective, found.atoms, self.alpha_c, max_iter=CODING_STEPS, tol=CODING_TOL
            )
        value = penalties.evaluate(objective, found.atoms, rows).value
        coefficients = by_sample(rows, counts).astype(self.coefficients_.dtype)
        self._describe(found, found.atoms.astype(coefficients.dtype), value, coefficients)
        self.gains_ = objective.gains(found.atoms, rows)
        if not (found.converged or found.interrupted or found.stopped):
            reached = "no step led to graphs of lower cost"
            if found.history.residual:
                change = found.history.residual[-1]
                reached = f"the last iteration changed the objective by {change:.2g}, relatively"
            self._warn_unconverged(self.max_iter, reached)

    def _objective(self, signals: Any, recordings: Recordings) -> FilteredObjective:
        """Return the cost of prepared signals under the fitted filter and tails."""
        counts = self._counts(recordings)
        return FilteredObjective.of(
            np.asarray(signals), counts, self._found_filter, float(self.tails_)
        )

    def _code_signals(self, X: Signals, out: Any = None) -> CodedSignals:
        if self._is_papers_model:
            return super()._code_signals(X, out)
        signals, recordings = self._prepare(X)
        obstacle = _obstacle_of(signals)
        if obstacle is not None:
            raise ValueError(
                f"GraphDictExact with filter_power_={self.filter_power_:.3g} and "
                f"tails_={self.tails_:.3g} cannot code {obstacle}: give complete signals in "
                "memory, or use GraphDictMarginal"
            )
        atoms = self._active_atoms.astype(np.float64)
        objective = self._objective(signals, recordings)
        rows, _ = code_filtered(
            objective, atoms, self.alpha_c, max_iter=CODING_STEPS, tol=CODING_TOL
        )
        shape = (objective.counts, len(atoms), signals.dtype, out)
        found = write_rows([rows.astype(signals.dtype)], *shape)
        return CodedSignals(signals, atoms, found, recordings)

    def _likelihood(self) -> Likelihood:
        return LogDeterminant()

    def _image_size(self, nodes: int) -> int:
        return nodes**2


def _obstacle_of(signals: Any) -> str | None:
    """Return what about prepared signals a filter cannot do with, or None."""
    if not isinstance(signals, np.ndarray):
        return "signals larger than memory or on a cluster"
    return "missing values" if has_gaps(signals) else None


def _in_scale(
    objective: FilteredObjective, penalties: Penalties, atoms: Floats, rows: Floats
) -> Floats:
    """Return atoms of the paper's model (K, E) times the number that suits another power best.

    Penalties count: from atoms that cost far too much, a descent leaps to where no edge is left.
    """
    least = float(atoms.max()) * 1e-6 or 1.0  # none is held at zero by where it begins
    atoms = np.maximum(atoms, least)

    def cost(log_factor: float) -> float:
        return penalties.evaluate(objective, atoms * np.exp(log_factor), rows).value

    found = minimize_scalar(cost, bounds=(-8, 8), method="bounded", options={"xatol": 0.05})
    return atoms * float(np.exp(found.x))
