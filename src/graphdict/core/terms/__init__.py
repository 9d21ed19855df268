"""What is minimised: signal likelihoods, priors on atoms, priors on coefficients."""

from graphdict.core.terms.atoms import Orthogonality
from graphdict.core.terms.barriers import LogBarrier, LogDet
from graphdict.core.terms.base import prox, prox_conjugate
from graphdict.core.terms.coefficients import ConstantOverWindows, TotalVariation
from graphdict.core.terms.constraints import L1, Interval, NonNegative, UnitBox
from graphdict.core.terms.signal_terms import CachedSmoothness, Smoothness, smoothness

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
