"""GraphDictExact: the exact Gaussian likelihood, by the log-determinant of each Laplacian."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from graphdict.core.annotations import (
    HeldVariable,
    InitName,
    RandomState,
    RescaleName,
    SolverName,
    StrPath,
    Term,
)
from graphdict.core.likelihoods import Likelihood, LogDeterminant
from graphdict.core.solvers.base import Callback
from graphdict.engine.logs import logger
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

    _own_parameters = """
    filter_power : "auto" or 1, default=1
        The power of the Laplacian that is the precision, which is 1 here: solvers need energies
        that are linear in the weights. "auto" stands for 1, and the log says so. Others are learned
        by :class:`GraphDictMarginal`.
    """
    _parameter_constraints: dict[str, Any] = {
        **SoftDictionary._parameter_constraints,
        "filter_power": [Interval(Real, 1, None, closed="left"), StrOptions({"auto"})],
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
        filter_power: float | str = 1,
        solver: SolverName = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
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
            tol=tol, n_init=n_init, init=init, atoms=atoms, coefficients=coefficients, fix=fix,
            atom_priors=atom_priors, coefficient_priors=coefficient_priors, rescale=rescale,
            random_state=random_state, callback=callback, checkpoint=checkpoint, verbose=verbose,
        )  # fmt: skip
        self.filter_power = filter_power

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.filter_power == "auto":
            logger.info("GraphDictExact: power 1, the only one that it knows")
        elif self.filter_power != 1:
            raise ValueError(
                f"filter_power={self.filter_power!r} cannot be used with GraphDictExact, whose "
                "solvers need energies that are linear in the weights: use filter_power=1, or "
                "GraphDictMarginal"
            )

    def _likelihood(self) -> Likelihood:
        return LogDeterminant()

    def _image_size(self, nodes: int) -> int:
        return nodes**2
