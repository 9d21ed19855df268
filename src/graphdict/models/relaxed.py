"""GraphDictSpectralRelaxed: graphs that nearly share their eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from graphdict.core.annotations import (
    HeldVariable,
    InitName,
    ModesName,
    RandomState,
    RescaleName,
    SolverName,
    StrPath,
    Term,
)
from graphdict.core.solvers.base import Callback
from graphdict.core.terms.modal import ModeMixing
from graphdict.models.docs import document
from graphdict.models.modal import ModalDictionary

__all__ = ["GraphDictSpectralRelaxed"]


@document
class GraphDictSpectralRelaxed(ModalDictionary):
    """Graph dictionary whose graphs nearly share their eigenvectors.

    The objective of :class:`GraphDictSpectral` in the energies ``lambda_m = u_m' L u_m`` of graphs
    in shared modes, which need not be eigenvectors. Any nonnegative weights will do, at a cost of

        alpha_modes / 2 sum_k sum_{m != m'} (u_m' L_k u_m')^2

    ``-sum_m log lambda_m`` is then a lower bound of ``-log det_+ L``. With ``alpha_modes=0`` graphs
    enter by their energies alone, N - 1 numbers for N (N - 1) / 2 weights: which of many graphs is
    found depends on the start.
    """

    _own_parameters = f"""{ModalDictionary._own_parameters.rstrip()}
    alpha_modes : float, default=1.0
        Penalty on how far modes are from being eigenvectors of the atoms.
    """
    _parameter_constraints: dict[str, Any] = {
        **ModalDictionary._parameter_constraints,
        "alpha_modes": [Interval(Real, 0, None, closed="left")],
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
        modes: ArrayLike | ModesName | None = "covariance",
        alpha_modes: float = 1.0,
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
            alpha_diff=alpha_diff, window_size=window_size, modes=modes, solver=solver,
            max_iter=max_iter, tol=tol, tau_atoms=tau_atoms, tau_coefficients=tau_coefficients,
            sigma=sigma, last_iterate=last_iterate, n_init=n_init, init=init, atoms=atoms,
            coefficients=coefficients, fix=fix,
            atom_priors=atom_priors, coefficient_priors=coefficient_priors, rescale=rescale,
            random_state=random_state, callback=callback, checkpoint=checkpoint, verbose=verbose,
        )  # fmt: skip
        self.alpha_modes = alpha_modes

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {**super()._penalty_units, "alpha_modes": 2}

    def _weight_terms(self) -> list[Any]:
        terms = super()._weight_terms()
        if self.alpha_modes > 0:
            terms.append(ModeMixing(self.alpha_modes, self._likelihood().spectra))
        return terms
