"""GraphDict: a graph dictionary with any likelihood, of yours or of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from graphdict.core.annotations import (
    HeldVariable,
    InitName,
    RandomState,
    RescaleName,
    SolverName,
    StrPath,
    Term,
)
from graphdict.core.likelihoods import Likelihood, LogDeterminant, check_likelihood
from graphdict.core.solvers.base import Callback
from graphdict.models.docs import document
from graphdict.models.soft import SoftDictionary

__all__ = ["GraphDict"]


@document
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
    _parameter_constraints: dict[str, Any] = {
        **SoftDictionary._parameter_constraints,
        "likelihood": [Likelihood, None],
    }

    def __init__(
        self,
        n_atoms: int = 5,
        *,
        likelihood: Likelihood | None = None,
        alpha_w: float = 0.1,
        alpha_c: float = 0.0,
        alpha_orth: float = 0.0,
        alpha_diff: float = 0.0,
        window_size: int = 1,
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
        self.likelihood = likelihood

    def _likelihood(self) -> Likelihood:
        return LogDeterminant() if self.likelihood is None else self.likelihood

    def _learn_likelihood(self, signals: Any) -> None:
        check_likelihood(self._likelihood(), signals.shape[1])

    def _image_size(self, nodes: int) -> int:
        return nodes**2  # at most: Laplacians
