"""Bilinear maps from coefficients and atoms to what a likelihood sees of each graph."""

from graphdict.core.operators import (
    Bilinear,
    BilinearOperator,
    Degrees,
    Laplacians,
    LinearMap,
    Spectra,
)

__all__ = [
    "Bilinear",
    "BilinearOperator",
    "Degrees",
    "Laplacians",
    "LinearMap",
    "Spectra",
]


def __dir__() -> list[str]:
    return sorted(__all__)
