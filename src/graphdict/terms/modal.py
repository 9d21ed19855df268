"""Smoothness of graphs that share eigenvectors: powers of the signals in these modes.

Where ``L_t = U diag(lambda_t) U'``, a signal varies over its graph by ``x' L_t x = sum_m lambda_tm
p_tm`` with the powers ``p_tm = (u_m' x_t)^2``: M numbers for each sample stand for E of them. Atoms
are graphs all the same, and enter by their spectra ``lambda_km = u_m' L_k u_m`` alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.operators import Spectra
from graphdict.terms.coefficients import window_means
from graphdict.terms.likelihoods import smoothness
from graphdict.terms.missing import Gaps

__all__ = ["ModalSmoothness", "modal_smoothness"]

ALL = slice(None)


class ModalSmoothness:
    """The term of samples, or windows, whose powers (T, M) are kept; see the module."""

    def __init__(self, powers: NDArray, spectra: Spectra, components: NDArray | None = None):
        self.powers = powers
        self.spectra = spectra
        self.components = components  # of single samples
        self.dtype = powers.dtype

    def part(self, rows: slice) -> ModalSmoothness:
        components = None if self.components is None else self.components[rows]
        return ModalSmoothness(self.powers[rows], self.spectra, components)

    def features(self, rows: slice = ALL) -> NDArray:
        return (self.powers if self.components is None else self.components)[rows]

    def energies(self, atoms: NDArray, rows: slice = ALL) -> NDArray:
        return self.powers[rows] @ self.spectra.apply(atoms).T

    def weighted_distances(self, coefficients: NDArray, rows: slice = ALL) -> NDArray:
        return self.spectra.adjoint(coefficients.T @ self.powers[rows])


class _Projected:
    """The same from a term that speaks of edges, where missing values leave no powers.

    It is given for each atom the weights of ``U diag(lambda_k) U'``, which need not be positive.
    """

    def __init__(self, fit: Any, spectra: Spectra, dtype: Any):
        self.fit, self.spectra, self.dtype = fit, spectra, dtype

    def part(self, rows: slice) -> _Projected:
        return _Projected(self.fit.part(rows), self.spectra, self.dtype)

    def features(self, rows: slice = ALL) -> NDArray:
        return self.fit.features(rows)

    def energies(self, atoms: NDArray, rows: slice = ALL) -> NDArray:
        return self.fit.energies(self.spectra.weights(self.spectra.apply(atoms)), rows)

    def weighted_distances(self, coefficients: NDArray, rows: slice = ALL) -> NDArray:
        distances = self.fit.weighted_distances(coefficients, rows)
        return self.spectra.adjoint(self.spectra.weights_adjoint(distances))


def modal_smoothness(
    signals: NDArray,
    counts: NDArray,
    keep: bool | None = None,
    gaps: Gaps | None = None,
    *,
    spectra: Spectra,
) -> Any:
    """As :func:`graphdict.terms.likelihoods.smoothness`, for graphs that share eigenvectors."""
    if gaps is not None:
        return _Projected(smoothness(signals, counts, keep, gaps), spectra, signals.dtype)
    components = signals @ spectra.modes.astype(signals.dtype, copy=False)
    powers = np.square(components)
    if len(counts) == len(signals):
        return ModalSmoothness(powers, spectra, components)
    return ModalSmoothness(window_means(powers, counts), spectra)
