"""GraphDict: a graph dictionary with any likelihood, of yours or of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from graphdict.core.likelihood_checks import check_likelihood
from graphdict.core.likelihoods import Likelihood, LogDeterminant
from graphdict.models.docs import document
from graphdict.models.soft import SoftDictionary

__all__ = ["GraphDict"]


@document
@dataclass(repr=False, eq=False, kw_only=True)
class GraphDict(SoftDictionary):
    """Graph dictionary with any likelihood.

    Minimises, over atoms ``W >= 0`` and coefficients ``Delta`` in [0, 1],

        1/T sum_t [ x_t' L_t x_t + h(M(L_t)) ] + the penalties of :class:`GraphDictLog`

    where the likelihood says what ``h`` is and what it sees of a graph. :class:`GraphDictLog`,
    :class:`GraphDictExact` and :class:`GraphDictSpectral` are this model with likelihoods that have
    compiled backends. See the page "Add a likelihood".
    """

    _own_parameters = """
    likelihood : Likelihood, optional
        What the density of a signal sees of its graph: a :class:`graphdict.terms.Likelihood`. By
        default the exact Gaussian one, as in :class:`GraphDictExact`.
    """
    _objects = (*SoftDictionary._objects, "likelihood")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SoftDictionary._parameter_constraints,
        "likelihood": [Likelihood, None],
    }

    likelihood: Likelihood | None = None

    def _likelihood(self) -> Likelihood:
        likelihood = LogDeterminant() if self.likelihood is None else self.likelihood
        try:
            return likelihood.on_nodes(self.active_nodes_)
        except (IndexError, ValueError) as error:
            raise TypeError(
                f"on_nodes(active) of the likelihood {type(likelihood).__name__} fails on an array "
                f"that says which of the {len(self.active_nodes_)} nodes of X vary: {error}"
            ) from error

    def _learn_likelihood(self, signals: Any) -> None:
        check_likelihood(self._likelihood(), signals.shape[1])

    def _image_size(self, nodes: int) -> int:
        return nodes**2  # at most: Laplacians
