"""Terms of the objective: likelihoods, priors on atoms, priors on coefficients."""

from graphdict.core.likelihoods import Likelihood, LogDegrees, LogDeterminant, LogSpectra
from graphdict.core.terms import (
    L1,
    CachedSmoothness,
    ConstantOverWindows,
    Interval,
    LogBarrier,
    LogDet,
    NonNegative,
    Orthogonality,
    Smoothness,
    TotalVariation,
    UnitBox,
    prox,
    prox_conjugate,
    smoothness,
)

__all__ = [
    "L1",
    "CachedSmoothness",
    "ConstantOverWindows",
    "Interval",
    "Likelihood",
    "LogBarrier",
    "LogDegrees",
    "LogDet",
    "LogDeterminant",
    "LogSpectra",
    "NonNegative",
    "Orthogonality",
    "Smoothness",
    "TotalVariation",
    "UnitBox",
    "prox",
    "prox_conjugate",
    "smoothness",
]


def __dir__() -> list[str]:
    return sorted(__all__)
