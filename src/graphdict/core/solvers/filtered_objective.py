"""The cost of soft coefficients under a filter and tails, and its gradients.

With ``L_t = sum_k delta_tk L_k`` and a filter ``f``, a sample has the energy ``q_t = x_t' f(L_t)
x_t``, and twice its negative log-density is, up to a constant,

    q_t - log det f(L_t)                                 Gaussian
    (nu + d) log(1 + q_t / nu) - log det f(L_t)          Student t, d = N - 1.

Every evaluation needs the spectrum of each window's graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graphdict.core.annotations import Booleans, Floats, Integers
from graphdict.core.graphs import zero_sum_basis
from graphdict.core.marginal.filtered_loss import log_filter
from graphdict.core.marginal.filters import GraphFilter, divided_differences
from graphdict.core.marginal.spectra import Eigenpairs, adjoint, reduced_laplacians
from graphdict.core.marginal.tails import gains, log_densities

BLOCK_BYTES = 1 << 25  # of the matrices of some windows
TINY = 1e-13  # of the largest eigenvalue of all graphs: none is smaller
TINIEST = 1e-100  # where no graph has an edge


class Evaluation(NamedTuple):
    """The mean over samples of twice the negative log-density, and its gradients."""

    value: float
    in_atoms: Floats  # (K, E)
    in_coefficients: Floats  # (windows, K)


@dataclass(frozen=True)
class FilteredObjective:
    """What signals in windows cost under a filter and tails, for any atoms and coefficients.

    ``windows`` (B, m, d) holds the coordinates of the samples of each window in the basis of the
    zero-sum signals, filled up with zeros where a window has fewer than m, and ``counts`` (B,) says
    how many it has.
    """

    windows: Floats
    counts: Integers
    filter: GraphFilter
    tails: float

    @classmethod
    def of(
        cls, signals: Floats, counts: Integers, filter_: GraphFilter, tails: float
    ) -> FilteredObjective:
        """Return the objective of signals (T, N), in consecutive windows of ``counts`` samples."""
        coordinates = np.asarray(signals, dtype=np.float64) @ zero_sum_basis(signals.shape[1])
        windows = np.zeros((len(counts), int(counts.max()), coordinates.shape[1]))
        windows[_filled(counts)] = coordinates
        return cls(windows, counts, filter_, tails)

    def evaluate(self, atoms: Floats, coefficients: Floats) -> Evaluation:
        """Return the cost of a sample and its gradients at atoms (K, E), coefficients (B, K)."""
        reduced = reduced_laplacians(atoms)
        flat = reduced.reshape(len(atoms), -1)
        value, matrices, slopes = 0.0, np.zeros_like(flat), np.empty_like(coefficients)
        for rows in self.blocks():
            part = replace(self, windows=self.windows[rows], counts=self.counts[rows])
            costs, derivatives = part.costs(coefficients[rows] @ flat)
            value += float(costs.sum())
            derivatives = derivatives.reshape(len(derivatives), -1)
            matrices += coefficients[rows].T @ derivatives
            slopes[rows] = derivatives @ flat.T
        total = int(self.counts.sum())
        gradient = adjoint(matrices.reshape(reduced.shape))
        return Evaluation(value / total, gradient / total, slopes / total)

    def energies_and_log_determinants(
        self, atoms: Floats, coefficients: Floats
    ) -> tuple[Floats, Floats]:
        """Return energies (T,) of samples, and the log-determinants (T,) of their precisions."""
        flat = reduced_laplacians(atoms).reshape(len(atoms), -1)
        energies, log_determinants = np.zeros(self.windows.shape[:2]), np.zeros(len(self.counts))
        for rows in self.blocks():
            part = replace(self, windows=self.windows[rows], counts=self.counts[rows])
            logs, _, turned = part._spectra(coefficients[rows] @ flat)
            energies[rows] = _row_sums(np.square(turned), np.exp(logs))
            log_determinants[rows] = logs.sum(axis=1)
        return energies[_filled(self.counts)], np.repeat(log_determinants, self.counts)

    def log_densities(self, atoms: Floats, coefficients: Floats) -> Floats:
        """Return the log-density (T,) of every sample."""
        energies, log_determinants = self.energies_and_log_determinants(atoms, coefficients)
        return log_densities(energies, log_determinants, self.tails, self.windows.shape[2])

    def gains(self, atoms: Floats, coefficients: Floats) -> Floats:
        """Return the posterior mean (T,) of what multiplies the precision of every sample."""
        energies, _ = self.energies_and_log_determinants(atoms, coefficients)
        return gains(energies, self.tails, self.windows.shape[2])

    def blocks(self) -> list[slice]:
        """Return the windows in slices whose matrices are small enough to be held at once."""
        size = self.windows.shape[2]
        step = max(1, BLOCK_BYTES // (8 * size * size))
        return [slice(first, first + step) for first in range(0, len(self.windows), step)]

    def costs(self, laplacians: Floats) -> tuple[Floats, Floats]:
        """Return the cost of each window, and its derivative in the window's Laplacian.

        ``laplacians`` (B, d * d) are those of the windows in the basis of the zero-sum signals. The
        cost is summed over the samples of a window.
        """
        logs, (eigenvalues, vectors), turned = self._spectra(laplacians)
        values, dimension = np.exp(logs), self.windows.shape[2]
        energies = _row_sums(np.square(turned), values)
        costs = energies
        if not np.isinf(self.tails):
            costs = (self.tails + dimension) * np.log1p(energies / self.tails)
        costs = costs.sum(axis=1) - self.counts * logs.sum(axis=1)
        weights = gains(energies, self.tails, dimension)
        slopes = self.filter.log_derivatives(eigenvalues)
        inner = np.swapaxes(turned * weights[:, :, None], 1, 2) @ turned
        inner *= divided_differences(eigenvalues, values, values * slopes)
        diagonal = np.arange(dimension)
        inner[:, diagonal, diagonal] -= self.counts[:, None] * slopes
        return costs, vectors @ inner @ np.swapaxes(vectors, 1, 2)

    def _spectra(self, laplacians: Floats) -> tuple[Floats, Eigenpairs, Floats]:
        """Return ``log f`` (B, d), spectra and the samples turned into them (B, m, d)."""
        size = self.windows.shape[2]
        eigenvalues, vectors = np.linalg.eigh(laplacians.reshape(-1, size, size))
        least = max(TINY * float(eigenvalues[:, -1].max()), TINIEST)
        spectra = Eigenpairs(np.maximum(eigenvalues, least), vectors)
        return log_filter(self.filter, spectra), spectra, self.windows @ vectors


def _filled(counts: Integers) -> Booleans:
    """Return which places (B, m) of the windows hold a sample."""
    return np.arange(int(counts.max())) < counts[:, None]


def _row_sums(squares: Floats, values: Floats) -> Floats:
    """Return ``sum_i squares_bti values_bi`` (B, m)."""
    return (squares @ values[:, :, None])[:, :, 0]
