"""What is minimised: signal likelihoods, priors on atoms, priors on coefficients."""

from graphdict.terms.atoms import Orthogonality
from graphdict.terms.base import prox, prox_conjugate
from graphdict.terms.coefficients import ConstantOverWindows, TotalVariation
from graphdict.terms.constraints import L1, Interval, NonNegative, UnitBox
from graphdict.terms.likelihoods import (
    CachedSmoothness,
    LogBarrier,
    LogDet,
    Smoothness,
    smoothness,
)

__all__ = [
    "L1",
    "CachedSmoothness",
    "ConstantOverWindows",
    "Interval",
    "LogBarrier",
    "LogDet",
    "NonNegative",
    "Orthogonality",
    "Smoothness",
    "TotalVariation",
    "UnitBox",
    "prox",
    "prox_conjugate",
    "smoothness",
]
