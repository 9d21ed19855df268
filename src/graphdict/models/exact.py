"""GraphDictExact: the exact Gaussian likelihood, by the log-determinant of each Laplacian."""

from __future__ import annotations

from graphdict.core.likelihoods import Likelihood, LogDeterminant
from graphdict.models.docs import document
from graphdict.models.soft import SoftDictionary

__all__ = ["GraphDictExact"]


@document
class GraphDictExact(SoftDictionary):
    """Graph dictionary with the exact Gaussian likelihood of every sample.

    The objective of :class:`GraphDictLog` with ``-log det_+ L_t`` in place of the log-degrees: the
    negative log-likelihood of a Laplacian-constrained Gaussian Markov random field. An iteration
    factorises one N x N matrix for each sample (or window), which is what makes it slower.
    """

    def _likelihood(self) -> Likelihood:
        return LogDeterminant()

    def _image_size(self, nodes: int) -> int:
        return nodes**2
