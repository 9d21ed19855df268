"""Penalties beside the signals that they are added to: refused where they leave nothing of them.

The cost of an edge is a squared difference of signals plus a penalty, and what is learned from both
is a number only where neither drowns the other in rounding.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

__all__ = ["LEAST", "check_penalties"]

LARGEST = 1e12  # a penalty, beside signals of unit variance
LEAST = 1e-60  # what is smaller is nothing beside any signals that are accepted


def check_penalties(model: Any, variance: float) -> None:
    """Raise where a penalty of the model is out of all proportion to signals of some variance.

    ``model._penalty_units`` has the parameters, and the power of the variance that each goes with.
    """
    for name, power in model._penalty_units.items():
        value: Any
        value, unit = getattr(model, name), variance**power
        if not isinstance(value, Real) or float(value) <= LARGEST * unit:  # "auto", None
            continue
        if power and not model.rescale:
            raise ValueError(
                f"{name}={value:.3g} leaves nothing of signals with a mean square of "
                f"{variance:.3g}: use at most {LARGEST * unit:.3g}, or leave the scale of X to "
                "rescale=True"
            )
        raise ValueError(
            f"{name}={value:.3g} leaves nothing of the signals: use at most {LARGEST * unit:.3g}"
        )
