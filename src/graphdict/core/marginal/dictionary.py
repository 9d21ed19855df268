"""What the marginal model learns: atoms, probabilities of patterns, the chance to stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from graphdict.core.marginal.likelihood import PatternGraphs

__all__ = ["Dictionary"]


@dataclass(frozen=True)
class Dictionary:
    """Everything that is learned: atoms (K, E), pattern probabilities (C,), chance to stay."""

    graphs: PatternGraphs
    atoms: NDArray
    probabilities: NDArray
    stay: float | None = None  # None where there is no chain
    drifts: bool = False  # patterns are positions in time, known beforehand

    @property
    def patterns(self) -> NDArray:
        return self.graphs.patterns

    def with_atoms(self, atoms: NDArray) -> Dictionary:
        """The same with other atoms, whose support may have changed."""
        graphs = PatternGraphs.of(self.graphs.patterns, atoms, self.graphs.noise)
        return replace(self, graphs=graphs, atoms=atoms)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of it; see :meth:`with_state`."""
        return {"atoms": self.atoms, "probabilities": self.probabilities, "stay": self.stay}

    def with_state(self, state: dict[str, Any]) -> Dictionary:
        other = replace(self, probabilities=state["probabilities"], stay=state["stay"])
        return other.with_atoms(state["atoms"])
