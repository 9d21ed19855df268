"""Refuse penalties so large that the signals they are added to would be lost in rounding.

The cost of an edge is a squared difference of signals plus a penalty. Penalties too small to matter
count as zero, and learned weights too large for the precision of the signals are refused.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.engine.estimator_protocols import Penalised

LARGEST = 1e12  # a penalty, for signals of unit variance
LEAST = 1e-60  # what is smaller counts as zero, whatever the signals


def check_penalties(model: Penalised, variance: float) -> None:
    """Raise where a penalty of the model is too large for signals of some variance."""
    for name, power in model._penalty_units.items():
        value: Any
        value, unit = getattr(model, name), variance**power
        if not isinstance(value, Real) or float(value) <= LARGEST * unit:  # "auto", None
            continue
        if power and not model.rescale:
            raise ValueError(
                f"{name}={value:.3g} is so large that signals with a mean square of "
                f"{variance:.3g} would be lost in rounding: use at most {LARGEST * unit:.3g}, or "
                "leave the scale of X to rescale=True"
            )
        raise ValueError(
            f"{name}={value:.3g} is so large that the signals would be lost in rounding: use at "
            f"most {LARGEST * unit:.3g}"
        )


def effective_penalty(model: Penalised, name: str) -> float:
    """Return the penalty ``name`` of the model, or 0 where it is too small to matter."""
    value = float(getattr(model, name))
    return value if value > LEAST ** max(1, model._penalty_units[name]) else 0.0


def weights_in(model: Penalised, weights: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return learned weights in the precision of the signals; raise where they are too large.

    They are where nodes have the same signal and edges cost next to nothing.
    """
    with np.errstate(over="ignore"):
        found: NDArray[Any] = weights.astype(dtype, copy=False)
    if np.isfinite(found).all():
        return found
    names = [name for name in model._penalty_units if name in ("alpha_w", "beta", "reg_covar")]
    settings = " or ".join(f"{name}={getattr(model, name)}" for name in names)
    raise ValueError(
        f"edges have weights up to {np.abs(weights).max():.3g}, too large for {np.dtype(dtype)}: "
        f"raise {settings}, or give X in a higher precision"
    )
