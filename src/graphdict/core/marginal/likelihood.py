"""The Gaussian likelihood of signals under the graph of each pattern, connected or not.

The graph of pattern ``c`` is ``L_c = sum_{k in c} L_k``, and signals that sum to zero over nodes
have the density of precision ``L_c + N_c / noise``. ``N_c`` projects onto the null space of ``L_c``
other than constants: signals that are constant on each connected component. Under a disconnected
graph each component thus sums to (almost) zero and an isolated node is (almost) silent, as in a
degenerate field, and the density stays finite and comparable between all patterns. For a connected
graph ``N_c = 0`` and it is the exact log-det likelihood.

Where values are missing, the observed nodes of a signal are Gaussian with their part of the
covariance of the pattern, so that its likelihood is exact whatever is missing
(:mod:`graphdict.core.marginal.missing`).

Only C matrices are factorised, whatever the number of samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphdict import native
from graphdict.core import graphs
from graphdict.core.marginal.missing import expected_distances, observed_log_likelihoods
from graphdict.core.marginal.protocols import AtomDraw, AtomPenalty, SignalBlock
from graphdict.core.marginal.support import pattern_components
from graphdict.core.terms.barriers import log_determinants
from graphdict.native import doubles
from graphdict.native.log_determinant import atom_slopes
from graphdict.native.products import energies, weighted_distances

NOISE = 1e-10  # variance, relative to that of the signals, in directions without any
SMALLEST = 1e-9  # of the precision of the signals: weight of an edge that is still there, since
# zeros are for the pruning to make
BLOCK_BYTES = 1 << 24


class GaussianFactors(NamedTuple):
    """What the Gaussian likelihood computes once for all signals."""

    atoms: NDArray  # (K, E)
    log_determinants: NDArray  # (C,)
    covariances: NDArray | None  # (C, N, N) where values are missing

    @property
    def nbytes(self) -> int:
        """Size as a message."""
        return sum(array.nbytes for array in self if array is not None)


@dataclass
class GaussianLikelihood:
    """The Gaussian :class:`~graphdict.core.marginal.protocols.PatternLikelihood`.

    Parameters
    ----------
    patterns : array (C, K)
    nodes : int
        Number N of nodes.
    noise : float
        Variance on the null space of disconnected patterns: ``NOISE`` times that of all signals.
    components : dict of int to array (N, components)
        For each disconnected pattern, unit vectors that are constant on a component each.
    """

    patterns: NDArray
    nodes: int
    noise: float = NOISE
    components: dict[int, NDArray] = field(default_factory=dict)
    statistic_names: ClassVar[tuple[str, ...]] = ("moments",)

    @classmethod
    def of(cls, patterns: NDArray, atoms: NDArray, noise: float = NOISE) -> Self:
        """Return the likelihood of patterns (C, K) for atoms (K, E), whose components it finds."""
        nodes = graphs.n_nodes(atoms.shape[1])
        return cls(patterns, nodes, noise, pattern_components(patterns, atoms))

    def for_atoms(self, atoms: NDArray, patterns: NDArray | None = None) -> Self:
        return self.of(self.patterns if patterns is None else patterns, atoms, self.noise)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.patterns, *self.components.values()))

    @cached_property
    def _activations(self) -> NDArray:
        """The patterns (C, K) as numbers."""
        return self.patterns.astype(np.float64)

    # E-step ---------------------------------------------------------------------------------

    def factors(self, atoms: NDArray, *, missing: bool = False) -> GaussianFactors:
        covariances = self.covariances(atoms) if missing else None
        return GaussianFactors(atoms, self.log_determinants(atoms), covariances)

    def log_likelihoods(self, factors: GaussianFactors, block: SignalBlock) -> NDArray:
        signals = block.signals
        if factors.covariances is not None:
            return block.sum_windows(observed_log_likelihoods(signals, factors.covariances))
        energy = block.sum_windows(energies(signals, factors.atoms))
        constant = factors.log_determinants - (self.nodes - 1) * np.log(2 * np.pi)
        values = energy.astype(np.float64) @ self._activations.T
        np.subtract(block.counts[:, None] * constant, values, out=values)
        for index, basis in self.components.items():
            null = np.square(signals @ basis.astype(signals.dtype)).sum(axis=1, dtype=np.float64)
            values[:, index] -= block.sum_windows(null) / self.noise
        values *= 0.5
        return values

    def statistics(
        self, factors: GaussianFactors, block: SignalBlock, responsibilities: NDArray
    ) -> tuple[NDArray, ...]:
        """Return the expected squared differences (K, E) summed over the samples of each atom."""
        signals = block.signals
        if factors.covariances is not None:
            shares = block.repeat_windows(responsibilities)
            given = factors.covariances, self._activations, shares
            return (expected_distances(signals, *given),)
        weights = block.repeat_windows(responsibilities @ self._activations)
        weights = weights.astype(signals.dtype, copy=False)
        return (weighted_distances(signals, weights).astype(np.float64),)

    # M-step ---------------------------------------------------------------------------------

    def m_step(
        self,
        atoms: NDArray,
        statistics: tuple[NDArray, ...],
        usage: NDArray,
        penalty: AtomPenalty,
        steps: int,
    ) -> tuple[Self, NDArray]:
        """Take multiplicative steps on the atoms; see the protocol.

        ``-log det L_c`` lies below its tangent in the logarithms of the weights, and the bound is
        least at ``w <- w * sum_c n_c r_c / (sum_t delta_t z_t + T slope)`` with the effective
        resistances ``r_c`` of the pattern graphs: each step raises the expected log-likelihood
        minus the penalty.
        """
        (distances,) = statistics
        smallest = SMALLEST * NOISE / self.noise
        for _ in range(steps):
            resistances = self.resistances(atoms, usage)
            stepped = atoms * resistances / (distances + penalty.slope(atoms))
            atoms = np.where(atoms > 0, np.maximum(stepped, smallest), 0)
        return self, atoms

    def own_penalty(self, atoms: NDArray) -> float:
        return 0.0

    def stationary_statistics(
        self, atoms: NDArray, usage: NDArray, penalty: AtomPenalty, threshold: float
    ) -> tuple[NDArray, ...]:
        resistances = self.resistances(atoms, usage)
        distances = np.where(atoms > threshold, resistances - penalty.slope(atoms), resistances)
        return (np.maximum(distances, 0),)

    def draw_atoms(
        self,
        atoms: NDArray,
        statistics: tuple[NDArray, ...],
        usage: NDArray,
        *,
        levels: NDArray,
        log_prior: NDArray,
        rng: np.random.RandomState,
    ) -> AtomDraw:
        """Draw all nonzero weights anew; see the protocol.

        A change of one weight by ``d`` changes the expected log-likelihood by

            1/2 sum_{c contains the atom} n_c log(1 + a_c d r_c)  -  1/2 d D,

        with the activation ``a_c`` of its atom, the effective resistances ``r_c`` of the edge and
        the statistic ``D``, and the inverse
        of each ``L_c`` by a matrix of rank one: O(C K E N^2) for all weights.
        """
        atoms = np.array(atoms, dtype=np.float64, order="C")
        inverses = np.concatenate([_inverses(m) for _, m in self.precisions(atoms)])
        order = rng.permutation(np.flatnonzero(atoms))
        drawn = AtomDraw(
            atoms, np.zeros_like(atoms), np.zeros_like(atoms), np.zeros_like(log_prior)
        )
        native.draw_weights(
            atoms, inverses, (doubles(self._activations), doubles(usage), doubles(statistics[0])),
            (levels, log_prior), (order, rng.random_sample(len(order))),
            (drawn[1], drawn[2], drawn[3]),
        )  # fmt: skip
        return drawn

    def state(self) -> dict[str, Any]:
        return {}

    def with_state(self, state: dict[str, Any]) -> Self:
        return self

    # Matrices of the patterns ---------------------------------------------------------------

    def log_determinants(self, atoms: NDArray) -> NDArray:
        """Return the log-determinant of each precision (C,) on signals that sum to zero."""
        values = np.empty(len(self.patterns))
        units = self._units(atoms)
        for rows, matrices in self.precisions(atoms):
            values[rows] = log_determinants(matrices, raised=True)
        values -= np.log(units)  # the eigenvalue of constants is none
        for index, basis in self.components.items():
            values[index] -= (basis.shape[1] - 1) * np.log(units[index] * self.noise)
        return values

    def covariances(self, atoms: NDArray) -> NDArray:
        """Return the covariance (C, N, N) of signals of zero mean under each pattern."""
        found = np.empty((len(self.patterns), self.nodes, self.nodes))
        units = self._units(atoms)
        for rows, matrices in self.precisions(atoms):
            try:
                inverses = np.linalg.inv(matrices)
            except np.linalg.LinAlgError:
                raise ValueError(
                    "X has missing values, and nodes that differ by more orders of magnitude than "
                    "float64 can hold: divide each column by its spread, or leave some out"
                ) from None
            found[rows] = inverses - 1 / (units[rows, None, None] * self.nodes)
        for index, basis in self.components.items():
            # On the null space the variance is ``noise``; in the inverse it is that of the unit.
            missing = self.noise - 1 / units[index]
            found[index] += missing * (basis @ basis.T - 1 / self.nodes)
        return found

    def resistances(self, atoms: NDArray, weights: NDArray) -> NDArray:
        """Return effective resistances (K, E) summed over the patterns of each atom.

        ``sum_c weights_c [k in c] r_ij(L_c)`` for weights (C,): the gradient of the weighted
        log-determinants.
        """
        connected = np.ones(len(self.patterns), dtype=bool)
        connected[list(self.components)] = False
        atoms = atoms.astype(np.float64)
        job, found = atom_slopes(
            self._activations[connected], doubles(weights[connected]), atoms
        )  # fmt: skip
        job()
        count, size = self.patterns.shape[1], self.nodes**2
        inverses = np.zeros((count, size))
        for rows, matrices in self.precisions(atoms, np.flatnonzero(~connected)):
            weighted = self.patterns[rows] * weights[rows, None]
            inverses += weighted.T @ _inverses(matrices).reshape(-1, size)
        return found + graphs.laplacian_adjoint(inverses.reshape(count, self.nodes, self.nodes))

    def precisions(
        self, atoms: NDArray, chosen: NDArray | None = None
    ) -> Iterator[tuple[NDArray, NDArray]]:
        """Yield numbers of patterns and their ``L_c`` (rows, N, N), without eigenvalues of zero.

        They are the unit of the pattern instead. The eigenvalues ``1 / noise`` are put in by hand
        where they matter: in the matrix they would drown those of weak edges.
        """
        units = self._units(atoms)
        laplacians = graphs.laplacian(atoms.astype(np.float64)).reshape(len(atoms), -1)
        size = max(1, BLOCK_BYTES // (8 * self.nodes**2))
        chosen = np.arange(len(self.patterns)) if chosen is None else chosen
        for start in range(0, len(chosen), size):
            rows = chosen[start : start + size]
            mixed = self._activations[rows] @ laplacians
            matrices = mixed.reshape(-1, self.nodes, self.nodes)
            matrices += units[rows, None, None] / self.nodes
            for place, index in enumerate(rows.tolist()):
                if index in self.components:
                    basis = self.components[index]
                    null = basis @ basis.T - 1 / self.nodes
                    matrices[place] += units[index] * null
            yield rows, matrices

    def _units(self, atoms: NDArray) -> NDArray:
        """Return the mean degree (C,) of each pattern's graph, 1 where it has no edges.

        What takes the place of a zero eigenvalue has this size: another would make a matrix
        singular in floating point, since edges may have weights of any size.
        """
        total = self._activations @ atoms.sum(axis=1, dtype=np.float64)
        return np.where(total > 0, 2 * total / self.nodes, 1.0)


def _inverses(matrices: NDArray) -> NDArray:
    """Return inverses (C, N, N); where one is singular to rounding, small eigenvalues are raised.

    Signals whose nodes differ by many orders of magnitude have precisions that no inverse in double
    precision is known of.
    """
    try:
        return np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrices)
        values = np.maximum(values, np.finfo(float).eps * values[:, -1:])
        inverses: NDArray = (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        return inverses
