"""What a soft dictionary minimises: the problem of prepared signals, its solver and its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from graphdict.core import graphs
from graphdict.core.annotations import Floats
from graphdict.core.operators import Bilinear
from graphdict.core.problem import Problem
from graphdict.core.recordings import Recordings
from graphdict.core.solvers.alternating import alternating
from graphdict.core.solvers.base import Solution
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.coding import has_small_problems
from graphdict.core.solvers.mm import mm
from graphdict.core.solvers.mm_terms import mm_lacks
from graphdict.core.term_group import TermGroup
from graphdict.core.terms import L1, NonNegative, Orthogonality, TotalVariation, UnitBox
from graphdict.core.terms.base import is_exactly
from graphdict.engine.penalties import LEAST
from graphdict.engine.signals import BLOCK_BYTES, PriorOnAllNodes
from graphdict.engine.sources import open_signal_term
from graphdict.models.soft_settings import SoftSettings


class SoftProblem(SoftSettings):
    """Base of the soft dictionaries: their problem. A model is a choice of likelihood."""

    _objects: ClassVar[tuple[str, ...]] = ("atom_priors", "coefficient_priors")

    # What a model chooses -------------------------------------------------------------------

    def _learn_likelihood(self, signals: Floats) -> None:
        """Learn from prepared training signals what :meth:`_likelihood` needs, if anything."""

    def _weight_terms(self) -> list[Any]:
        """Return the terms that say what edge weights may be, and what each costs."""
        return [NonNegative(), *penalties((L1, self.alpha_w))]

    def _barrier(self) -> Any:
        """Return the barrier of the likelihood, also before a fit."""
        return self._likelihood().barrier

    def _map_of(self, nodes: int) -> Any:
        """Return the linear map of the likelihood if the choice of a solver needs it, else None."""
        return None

    def _image_size(self, nodes: int) -> int:
        """Return how many numbers the barrier sees of a graph."""
        return nodes

    # How it is done -------------------------------------------------------------------------

    def _problem(self, signals: Floats, recordings: Recordings | None = None) -> Problem:
        """Return the problem of prepared signals, of one recording by default."""
        recordings = recordings or Recordings.single(len(signals))
        counts = self._counts(recordings)
        likelihood = self._likelihood()
        operator = Bilinear(likelihood.linear_map(signals.shape[1]))
        atom_terms = [
            *self._weight_terms(), *penalties((Orthogonality, self.alpha_orth)),
            *self._atom_priors(),
        ]  # fmt: skip
        coefficient_terms = self._coefficient_terms(tuple(recordings.piece_starts[1:].tolist()))
        tied = not TermGroup(coefficient_terms).separable
        signal_term = open_signal_term(signals, counts, self._gaps(signals), likelihood, tied)
        return Problem(
            signal_term, operator, likelihood.barrier,
            atom_terms=atom_terms, coefficient_terms=coefficient_terms, counts=counts,
        )  # fmt: skip

    def _coefficient_terms(self, starts: tuple[int, ...] = ()) -> list[Any]:
        """Return the terms of the coefficients; nothing ties samples across the ``starts``."""
        total_variation = partial(TotalVariation, starts=starts)
        return [
            UnitBox(), *penalties((L1, self.alpha_c), (total_variation, self.alpha_diff)),
            *(self.coefficient_priors or ()),
        ]  # fmt: skip

    def _atom_priors(self) -> list[Any]:
        """Return the user's priors, which see the edges of all nodes.

        L1 treats all edges alike, and need not see those of silent nodes.
        """
        priors = list(self.atom_priors or ())
        if self.active_nodes_.all():
            return priors
        return [
            term if is_exactly(term, L1) else PriorOnAllNodes(term, self._preparation)
            for term in priors
        ]

    def _choose_solver(
        self,
        barrier: Any,
        atom_terms: Sequence[Any],
        coefficient_terms: Sequence[Any],
        linear: Any = None,
        n_edges: int = 0,
    ) -> Callable[..., Solution]:
        """Return the solver by its name, or the fastest that has steps for all terms.

        A fit asks with the parts of its problem, and the forecast of its memory with those that
        are known from the settings.
        """
        if self.solver != "auto":
            return {"alternating": alternating, "bipds": bipds, "mm": mm}[self.solver]
        lack = mm_lacks(barrier, atom_terms, coefficient_terms, linear, n_edges)
        return mm if lack is None else bipds

    def _memory_needed(self, samples: int, nodes: int, size: int) -> tuple[int, int]:
        windows, edges = -(-samples // self.window_size), graphs.n_edges(nodes)
        atoms, numbers, image = self.n_atoms, edges, self._image_size(nodes)
        keeps = windows < samples
        building = 3 * min(samples * numbers * size, BLOCK_BYTES) if keeps else 0
        keeps_dual = self._keeps_dual(nodes)
        solving = 8 * atoms * edges * size
        solving += (8 if keeps_dual else 4) * windows * atoms * size + samples * atoms * size
        solving += 3 * windows * image * size if keeps_dual else 0
        solving += windows * numbers * size if keeps else 0
        return building, solving

    def _keeps_dual(self, nodes: int) -> bool:
        """Return whether a fit keeps a dual variable of every sample: for atoms or coefficients."""
        barrier, coefficient_terms = self._barrier(), self._coefficient_terms()
        if not has_small_problems(barrier, coefficient_terms):
            return True
        solve = self._choose_solver(
            barrier, self.atom_priors or (), coefficient_terms,
            self._map_of(nodes), graphs.n_edges(nodes),
        )  # fmt: skip
        return solve in (bipds, alternating) and self.fix != "atoms"


def penalties(*pairs: tuple[Any, float]) -> list[Any]:
    """Return the terms of (class, strength) pairs, without those too weak to matter."""
    return [term(strength) for term, strength in pairs if strength > LEAST]
