"""Constraints and penalties that treat every entry alike, on atoms or on coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict.core.annotations import Floats


@dataclass(frozen=True)
class Interval:
    """The constraint ``low <= x <= high`` on every entry.

    Parameters
    ----------
    low, high : float
    """

    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """``(low, high)``, by which solvers recognise a constraint."""
        return self.low, self.high

    def value(self, x: Floats) -> float:
        """Return 0 where all entries of ``x`` are in the interval, else ``inf``."""
        inside = bool(np.all(x >= self.low) and np.all(x <= self.high))
        return 0.0 if inside else float("inf")

    def prox(self, x: Floats, step: float) -> Floats:
        """Return the nearest array in the interval, whatever the ``step``."""
        return np.clip(x, self.low, self.high)


@dataclass(frozen=True)
class NonNegative(Interval):
    """``x >= 0``: edge weights are not negative."""

    low: float = 0.0
    high: float = float("inf")


@dataclass(frozen=True)
class UnitBox(Interval):
    """``0 <= x <= 1``: the range of a coefficient."""

    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class L1:
    """``alpha |x|_1``: few edges, or few active atoms.

    Parameters
    ----------
    alpha : float
        Strength, not negative.
    """

    alpha: float
    elementwise = True

    def value(self, x: Floats) -> float:
        """Return ``alpha |x|_1`` of an array of any shape."""
        return self.alpha * float(np.abs(x).sum(dtype=np.float64))

    def prox(self, x: Floats, step: float) -> Floats:
        """Return ``x`` with all entries ``alpha * step`` nearer to zero, or at it."""
        shrunk = np.copysign(np.maximum(np.abs(x) - self.alpha * step, 0), x)
        return shrunk + 0  # no negative zeros

    def on_nonnegatives(self) -> Sum:
        """Return the smooth term that this one equals where nothing is negative."""
        return Sum(self.alpha)


@dataclass(frozen=True)
class Sum:
    """``alpha sum(x)``."""

    alpha: float

    def value(self, x: Floats) -> float:
        return self.alpha * float(x.sum(dtype=np.float64))

    def gradient(self, x: Floats) -> Floats:
        return np.full_like(x, self.alpha)

    def lipschitz(self, x: Floats) -> float:
        return 0.0
