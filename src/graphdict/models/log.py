"""GraphDictLog: positive degrees, by a log barrier on each instantaneous graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import Interval

from graphdict.core.annotations import Signals
from graphdict.core.likelihoods import Likelihood, LogDegrees
from graphdict.engine.online.log_barrier import LOG_RULES
from graphdict.engine.online.stream import forget_stream, take_batch
from graphdict.engine.storage.fitted import COUNT
from graphdict.models.docs import STREAM_ATTRIBUTES, STREAM_PARAMETERS, document
from graphdict.models.soft import SoftDictionary


@document
@dataclass(repr=False, eq=False, kw_only=True)
class GraphDictLog(SoftDictionary):
    """Graph dictionary with a log barrier on the degrees of every instantaneous graph.

    Minimises, over atoms ``W >= 0`` and coefficients ``Delta`` in [0, 1],

        1/T sum_t [ x_t' L_t x_t - sum_n log d_tn ]
          + alpha_w sum(W) + alpha_orth sum_{k<k'} <w_k, w_k'>
          + 1/T [ alpha_c sum(Delta) + alpha_diff sum_t |delta_{t+1} - delta_t|_1 ]

    where ``L_t = sum_k delta_tk L_k`` and ``d_t`` is its diagonal. The barrier is cheap and keeps
    every node connected to something; it is not a normalised likelihood.
    """

    forgetting: float = 1.0
    n_samples_seen_: int = field(init=False)
    stream_: dict[str, Any] = field(init=False)
    _own_parameters = STREAM_PARAMETERS
    _own_attributes = STREAM_ATTRIBUTES
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SoftDictionary._parameter_constraints,
        "forgetting": [Interval(Real, 0, 1, closed="right")],
    }

    _fitted_values = {**SoftDictionary._fitted_values, "n_samples_seen_": COUNT}

    def fit(self, X: Signals, y: Any = None) -> Self:
        forget_stream(self)
        return super().fit(X, y)

    fit.__doc__ = SoftDictionary.fit.__doc__

    def partial_fit(self, X: Signals, y: Any = None) -> Self:
        """Learn from the next batch of a stream.

        The first call begins a stream, or goes on after ``fit``; ``fit`` begins anew. Samples are
        not kept, but for the first 1,000 for each atom, which are fitted together. Afterwards
        ``coefficients_`` are those of the batch, under the atoms before it. With ``alpha_diff`` or
        ``window_size`` a batch is a time series of its own. See the page on streams.

        Parameters
        ----------
        X : array (B, N)
            The next samples.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        take_batch(self, X, LOG_RULES)
        return self

    def _likelihood(self) -> Likelihood:
        return LogDegrees()
