"""GraphDictSpectral: all graphs have the same eigenvectors, and only their spectra are learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.core.problem import Problem
from graphdict.core.solvers.base import Solution
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.shared_modes import lacks_newton, shared_modes
from graphdict.core.terms.base import is_exactly
from graphdict.core.terms.cone import GraphsOfModes
from graphdict.core.terms.constraints import Sum
from graphdict.engine.checkpoint import Stage
from graphdict.models.docs import document
from graphdict.models.modal import ModalDictionary, eigenvectors
from graphdict.models.relaxed import GraphDictSpectralRelaxed
from graphdict.models.soft_problem import penalties

SHARED = 1e-6  # how far held atoms may be from sharing their eigenvectors, relatively


@document
class GraphDictSpectral(ModalDictionary):
    """Graph dictionary whose graphs are filters of one graph: they share their eigenvectors.

    All Laplacians are ``L_t = U diag(lambda_t) U'`` with the same ``U`` and no negative weight.
    Minimises, over spectra and coefficients, the objective of :class:`GraphDictLog` with the exact
    ``-log det_+ L_t = -sum_m log lambda_tm`` in place of the log-degrees. A signal varies over its
    graph by ``sum_m lambda_tm (u_m' x)^2``: a sample costs O(K N) instead of O(K N^2).

    For given eigenvectors the graphs are a cone of spectra, with one half-space for each edge.
    Eigenvectors of a covariance leave it narrow: where graphs come out nearly complete, learn them
    (``modes="graph"``), or see :class:`GraphDictSpectralRelaxed`. With ``fix="atoms"`` the modes
    are those of the atoms.

    ``solver="auto"`` alternates Newton steps of the spectra within the cone and updates of the
    coefficients, and lowers the objective in every step; "bipds" is the paper's algorithm, with the
    projection on the cone as the proximal operator of the atoms. "mm" does not apply.
    """

    modes_: Floats

    @classmethod
    def _of_file(cls, settings: dict[str, Any]) -> tuple[type[ModalDictionary], dict[str, Any]]:
        """Return the relaxed model for files of 0.1.0, whose graphs share no eigenvectors."""
        if "last_iterate" in settings:
            return cls, settings
        return GraphDictSpectralRelaxed, {**settings, "alpha_modes": 0.0}

    def _learn_likelihood(self, signals: Floats) -> None:
        super()._learn_likelihood(signals)
        if self.fix != "atoms" or self.atoms is None:
            return
        atoms, _ = self._given(len(signals), np.float64)
        assert atoms is not None
        if self.modes is None or isinstance(self.modes, str):
            mix = np.random.RandomState(0).uniform(0.5, 1, len(atoms))
            self.modes_ = np.zeros((len(self.active_nodes_), signals.shape[1] - 1), signals.dtype)
            self.modes_[self.active_nodes_] = eigenvectors(graphs.laplacian(mix @ atoms))
        modes = self.modes_[self.active_nodes_].astype(np.float64)
        spectra = modes.T @ graphs.laplacian(atoms) @ modes
        off = spectra - spectra * np.eye(modes.shape[1])
        share = float(np.linalg.norm(off) / (np.linalg.norm(spectra) or 1.0))
        if share > max(SHARED, 100 * float(np.finfo(signals.dtype).eps)):
            raise ValueError(
                "atoms held by fix='atoms' must share their eigenvectors, which are modes where "
                f"given; there, a share {share:.2g} of their Laplacians is off the diagonal. "
                "GraphDictExact and GraphDictSpectralRelaxed hold any atoms"
            )

    def _weight_terms(self) -> list[Any]:
        try:
            cone = GraphsOfModes(self._likelihood().spectra)
        except ValueError as error:
            raise ValueError(f"{error}; GraphDictSpectralRelaxed takes fewer") from None
        return [cone, *penalties((Sum, self.alpha_w))]

    def _solve(
        self, problem: Problem, coefficients: Any, atoms: Floats, executor: Any, stage: Stage
    ) -> Solution:
        if self.fix != "atoms":
            terms: Sequence[Any] = problem.atom_terms
            cone = next(t for t in terms if is_exactly(t, GraphsOfModes))
            atoms = cone.prox(atoms, 1.0)
        return super()._solve(problem, coefficients, atoms, executor, stage)

    def _choose_solver(
        self,
        barrier: Any,
        atom_terms: Sequence[Any],
        coefficient_terms: Sequence[Any],
        linear: Any = None,
        n_edges: int = 0,
    ) -> Callable[..., Solution]:
        if self.solver != "auto":
            return super()._choose_solver(barrier, atom_terms, coefficient_terms, linear, n_edges)
        return shared_modes if lacks_newton(atom_terms) is None else bipds

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        building, solving = super()._memory_needed(samples, nodes, size)
        modes = nodes - 1
        newton = 2 * (self.n_atoms * modes) ** 2 + 3 * graphs.n_edges(nodes) * modes
        return building, solving + 8 * newton
