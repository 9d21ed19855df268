"""GraphDictLog: positive degrees, by a log barrier on each instantaneous graph."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from graphdict.core.annotations import (
    HeldVariable,
    InitName,
    RandomState,
    RescaleName,
    Signals,
    SolverName,
    StrPath,
    Term,
)
from graphdict.core.likelihoods import Likelihood, LogDegrees
from graphdict.core.solvers.base import Callback
from graphdict.engine.online.log import LOG_RULES
from graphdict.engine.online.stream import restart, take_batch
from graphdict.engine.storage.fitted import COUNT
from graphdict.models.docs import STREAM_ATTRIBUTES, STREAM_PARAMETERS, document
from graphdict.models.soft import SoftDictionary

__all__ = ["GraphDictLog"]


@document
class GraphDictLog(SoftDictionary):
    """Graph dictionary with a log barrier on the degrees of every instantaneous graph.

    Minimises, over atoms ``W >= 0`` and coefficients ``Delta`` in [0, 1],

        1/T sum_t [ x_t' L_t x_t - sum_n log d_tn ]
          + alpha_w sum(W) + alpha_orth sum_{k<k'} <w_k, w_k'>
          + 1/T [ alpha_c sum(Delta) + alpha_diff sum_t |delta_{t+1} - delta_t|_1 ]

    where ``L_t = sum_k delta_tk L_k`` and ``d_t`` is its diagonal. The barrier is cheap and keeps
    every node connected to something; it is not a normalised likelihood.
    """

    n_samples_seen_: int
    stream_: dict[str, Any]
    _own_parameters = STREAM_PARAMETERS
    _own_attributes = STREAM_ATTRIBUTES
    _parameter_constraints: dict[str, Any] = {
        **SoftDictionary._parameter_constraints,
        "forgetting": [Interval(Real, 0, 1, closed="right")],
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
        forgetting: float = 1.0,
        solver: SolverName = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        tau_atoms: float | None = None,
        tau_coefficients: float | None = None,
        sigma: float | None = None,
        last_iterate: bool = False,
        n_init: int = 1,
        init: InitName = "k-means++",
        atoms: ArrayLike | None = None,
        coefficients: ArrayLike | None = None,
        fix: HeldVariable | None = None,
        atom_priors: Sequence[Term] | None = None,
        coefficient_priors: Sequence[Term] | None = None,
        rescale: bool | RescaleName = True,
        random_state: RandomState = None,
        callback: Callback | None = None,
        checkpoint: StrPath | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            n_atoms, alpha_w=alpha_w, alpha_c=alpha_c, alpha_orth=alpha_orth,
            alpha_diff=alpha_diff, window_size=window_size, solver=solver, max_iter=max_iter,
            tol=tol, tau_atoms=tau_atoms, tau_coefficients=tau_coefficients, sigma=sigma,
            last_iterate=last_iterate, n_init=n_init, init=init, atoms=atoms,
            coefficients=coefficients, fix=fix,
            atom_priors=atom_priors, coefficient_priors=coefficient_priors, rescale=rescale,
            random_state=random_state, callback=callback, checkpoint=checkpoint, verbose=verbose,
        )  # fmt: skip
        self.forgetting = forgetting

    _fitted_values = {**SoftDictionary._fitted_values, "n_samples_seen_": COUNT}

    def fit(self, X: Signals, y: Any = None) -> Self:
        restart(self)
        return super().fit(X, y)

    fit.__doc__ = SoftDictionary.fit.__doc__

    def partial_fit(self, X: Signals, y: Any = None) -> Self:
        """Learn from the next batch ``X`` (B, N) of a stream; ``y`` is ignored.

        The first call begins a stream, or goes on after ``fit``; ``fit`` begins anew. Samples are
        not kept, but for the first 1,000 for each atom, which are fitted together. Afterwards
        ``coefficients_`` are those of the batch, under the atoms before it. With ``alpha_diff`` or
        ``window_size`` a batch is a time series of its own. See the page on streams.
        """
        take_batch(self, X, LOG_RULES)
        return self

    def _likelihood(self) -> Likelihood:
        return LogDegrees()
