"""GraphDictSpectralRelaxed: graphs that nearly share their eigenvectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from graphdict.core.solvers.base import Solution
from graphdict.core.solvers.bipds import bipds
from graphdict.core.terms.modal import ModeMixing
from graphdict.models.docs import document
from graphdict.models.modal import ModalDictionary


@document
@dataclass(repr=False, eq=False, kw_only=True)
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
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ModalDictionary._parameter_constraints,
        "alpha_modes": [Interval(Real, 0, None, closed="left")],
    }

    alpha_modes: float = 1.0

    @property
    def _penalty_units(self) -> dict[str, int]:
        return {**super()._penalty_units, "alpha_modes": 2}

    def _weight_terms(self) -> list[Any]:
        terms = super()._weight_terms()
        if self.alpha_modes > 0:
            terms.append(ModeMixing(self.alpha_modes, self._likelihood().spectra))
        return terms

    def _choose_solver(
        self,
        barrier: Any,
        atom_terms: Sequence[Any],
        coefficient_terms: Sequence[Any],
        linear: Any = None,
        n_edges: int = 0,
    ) -> Callable[..., Solution]:
        if self.solver == "auto" and self.alpha_modes > 0:  # no multiplicative update has it
            return bipds
        return super()._choose_solver(barrier, atom_terms, coefficient_terms, linear, n_edges)
