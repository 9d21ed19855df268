"""Fits that are only tried."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import ArrayLike

from graphdict.exceptions import InterruptedFitWarning

__all__ = ["fit_quietly"]


def fit_quietly(trial: Any, X: ArrayLike) -> None:
    """Fit without a word; Ctrl-C ends the search, where a fit alone would end with what it has."""
    known = trial.get_params()
    trial.set_params(**{name: None for name in ("callback", "checkpoint") if name in known})
    trial.set_params(verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            trial.fit(X)
        except InterruptedFitWarning:
            raise KeyboardInterrupt from None
