"""GraphDictLog: positive degrees, by a log barrier on each instantaneous graph."""

from __future__ import annotations

from typing import Any

from graphdict.models.base import GraphDictionary
from graphdict.models.docs import document
from graphdict.operators import Bilinear, Degrees
from graphdict.terms import LogBarrier

__all__ = ["GraphDictLog"]


@document
class GraphDictLog(GraphDictionary):
    """Graph dictionary with a log barrier on the degrees of every instantaneous graph.

    Minimises, over atoms ``W >= 0`` and coefficients ``Delta`` in [0, 1],

        1/T sum_t [ x_t' L_t x_t - sum_n log d_tn ]
          + alpha_w sum(W) + alpha_orth sum_{k<k'} <w_k, w_k'>
          + 1/T [ alpha_c sum(Delta) + alpha_diff sum_t |delta_{t+1} - delta_t|_1 ]

    where ``L_t = sum_k delta_tk L_k`` and ``d_t`` is its diagonal. The barrier is cheap and keeps
    every node connected to something; it is not a normalised likelihood.
    """

    def _likelihood(self, nodes: int) -> tuple[Bilinear, Any]:
        return Bilinear(Degrees(nodes)), LogBarrier()
