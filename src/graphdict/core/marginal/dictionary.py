"""What the marginal model learns: atoms, pattern probabilities, the probability to stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from graphdict.core.marginal.protocols import PatternLikelihood


@dataclass(frozen=True)
class PatternDictionary:
    """Atoms, a likelihood of the patterns they are active in, and the prior of the patterns."""

    likelihood: PatternLikelihood  # of patterns (C, K), for the support of the atoms
    atoms: NDArray  # (K, E)
    probabilities: NDArray  # (C,) of the patterns
    stay: float | None = None  # probability that a Markov chain stays; None where there is none
    known_in_time: bool = False  # patterns are positions in time, known beforehand

    @property
    def patterns(self) -> NDArray:
        """Activations (C, K) of the atoms in every pattern."""
        return self.likelihood.patterns

    def with_atoms(self, atoms: NDArray) -> PatternDictionary:
        """Return the same with other atoms (K, E), whose support may be another."""
        return replace(self, likelihood=self.likelihood.for_atoms(atoms), atoms=atoms)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it; see :meth:`with_state`."""
        state = {"atoms": self.atoms, "probabilities": self.probabilities, "stay": self.stay}
        return {**state, **self.likelihood.state()}

    def with_state(self, state: dict[str, Any]) -> PatternDictionary:
        """Return the dictionary that :meth:`state` was called of."""
        likelihood = self.likelihood.with_state(state).for_atoms(state["atoms"])
        return replace(
            self, likelihood=likelihood, atoms=state["atoms"],
            probabilities=state["probabilities"], stay=state["stay"],
        )  # fmt: skip
