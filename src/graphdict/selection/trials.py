"""Trial fits for choosing settings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from graphdict.exceptions import InterruptedFitWarning

__all__ = ["as_array", "as_recordings", "fit_quietly"]


def as_array(model: Any, X: ArrayLike) -> NDArray[np.float64]:
    """Return signals (T, N), validated as by a fit of ``model``."""
    samples, _ = clone(model)._read(X, reset=True)
    return samples if isinstance(samples, np.ndarray) else samples[: len(samples)]


def as_recordings(model: Any, X: Any) -> list[NDArray[np.float64]] | None:
    """Return the signals (T_r, N) of each recording; None where ``X`` is one array.

    Several recordings are a list or a dict of arrays, or of what a fit takes for one.
    """
    if isinstance(X, Mapping):
        X = list(X.values())
    several = isinstance(X, list | tuple) and len(X) > 0 and all(np.ndim(part) == 2 for part in X)
    return [as_array(model, part) for part in X] if several else None


def fit_quietly(trial: Any, X: ArrayLike) -> None:
    """Fit without output; Ctrl-C raises KeyboardInterrupt instead of ending the fit early."""
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
