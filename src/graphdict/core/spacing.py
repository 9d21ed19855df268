"""How samples lie in time: the usual step between them, and from which step on there is a gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphdict.core.annotations import Floats

LONGER = 1.5  # usual steps from which on a step is a gap
UNLIKE = 0.5  # of the usual step: steps that differ from it by more are unlike it
UNEVEN = 0.2  # share of unlike steps from which on samples are not evenly spaced
OFTEN, FAR = 0.9, 5.0  # of uneven samples, a gap is five times the 0.9 quantile of steps


@dataclass(frozen=True)
class Spacing:
    """The usual step, the step from which on there is a gap, and whether most steps are alike."""

    step: float
    gap: float
    even: bool


def spacing(steps: Floats) -> Spacing | None:
    """Return the spacing of samples by the steps (T - 1,) between them; None without any."""
    positive = steps[steps > 0]
    if not len(positive):
        return None
    usual, long = (float(value) for value in np.quantile(positive, [0.5, OFTEN]))
    even = bool(np.mean(np.abs(steps - usual) > UNLIKE * usual) <= UNEVEN)
    return Spacing(usual, LONGER * usual if even else FAR * long, even)
