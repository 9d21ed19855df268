"""Smoothness of graphs that share eigenvectors: powers of the signals in these modes.

Where ``L_t = U diag(lambda_t) U'``, a signal varies over its graph by ``x' L_t x = sum_m lambda_tm
p_tm`` with the powers ``p_tm = (u_m' x_t)^2``: M numbers for each sample stand for E of them. Atoms
are graphs all the same, and enter by their spectra ``lambda_km = u_m' L_k u_m`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats, Integers
from graphdict.core.operators import Spectra
from graphdict.core.terms.coefficients import window_means
from graphdict.core.terms.missing import Gaps

ALL = slice(None)
BLOCK = 1 << 21


class ModalSmoothness:
    """The term of samples, or windows, whose powers (T, M) are kept; see the module."""

    kind = "powers"

    def __init__(self, powers: Floats, spectra: Spectra, components: Floats | None = None):
        self.powers = powers
        self.spectra = spectra
        self.components = components  # of single samples
        self.dtype = powers.dtype

    def part(self, rows: slice) -> ModalSmoothness:
        components = None if self.components is None else self.components[rows]
        return ModalSmoothness(self.powers[rows], self.spectra, components)

    def features(self, rows: slice = ALL) -> Floats:
        return (self.powers if self.components is None else self.components)[rows]

    def energies(self, atoms: Floats, rows: slice = ALL) -> Floats:
        return self.powers[rows] @ self.spectra.apply(atoms).T

    def weighted_distances(self, coefficients: Floats, rows: slice = ALL) -> Floats:
        return self.spectra.adjoint(coefficients.T @ self.powers[rows])


class ModeMixing:
    """``alpha / 2 sum_k sum_{m != m'} (u_m' L_k u_m')^2``: zero where modes are eigenvectors."""

    def __init__(self, alpha: float, spectra: Spectra):
        self.alpha = alpha
        self.spectra = spectra

    def value(self, atoms: Floats) -> float:
        mixed = self._mixed(atoms).astype(np.float64, copy=False)  # its square may be too large
        return self.alpha / 2 * float(np.vdot(mixed, mixed))

    def gradient(self, atoms: Floats) -> Floats:
        modes = self.spectra.modes
        matrices = modes @ self._mixed(atoms) @ modes.T
        return self.alpha * graphs.laplacian_adjoint(matrices)

    def lipschitz(self, atoms: Floats) -> float:
        """Return ``2 N alpha``: the norm of the map to Laplacians, modes being orthonormal."""
        return 2 * self.alpha * len(self.spectra.modes)

    def _mixed(self, atoms: Floats) -> Floats:
        """Return ``U' L_k U`` (K, M, M) without its diagonal."""
        modes = self.spectra.modes
        found = modes.T @ graphs.laplacian(atoms) @ modes
        return found - found * np.eye(modes.shape[1], dtype=found.dtype)


def modal_smoothness(
    signals: Floats,
    counts: Integers,
    keep: bool | None = None,
    gaps: Gaps | None = None,
    *,
    spectra: Spectra,
) -> ModalSmoothness:
    """Return the term of signals, as ``smoothness`` does, for graphs that share eigenvectors.

    With ``gaps`` the powers are those of the differences that stand for all. These need not be
    differences of any signal; a power that would be negative is zero.
    """
    if gaps is not None:
        powers = np.concatenate(
            [
                np.maximum(spectra.weights_adjoint(gaps.distances(signals[rows], counts[some])), 0)
                for some, rows in _blocks(counts, len(spectra.modes) ** 2)
            ]
        )
        return ModalSmoothness(powers.astype(signals.dtype, copy=False), spectra)
    components = signals @ spectra.modes.astype(signals.dtype, copy=False)
    powers = np.square(components)
    if len(counts) == len(signals):
        return ModalSmoothness(powers, spectra, components)
    return ModalSmoothness(window_means(powers, counts), spectra)


def _blocks(counts: Integers, numbers: int) -> Iterator[tuple[slice, slice]]:
    """Yield windows and their samples, about ``BLOCK`` with so many numbers for each sample."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    size = max(1, BLOCK // (numbers * int(counts.max(initial=1))))
    for start in range(0, len(counts), size):
        stop = min(start + size, len(counts))
        yield slice(start, stop), slice(int(ends[start]), int(ends[stop]))
