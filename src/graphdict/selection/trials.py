"""Trial fits for choosing settings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from graphdict.exceptions import InterruptedFitWarning

__all__ = ["as_array", "fit_quietly"]


def as_array(model: Any, X: ArrayLike) -> NDArray[np.float64]:
    """Return signals (T, N), validated as by a fit of ``model``."""
    samples = clone(model)._read(X, reset=True)
    return samples if isinstance(samples, np.ndarray) else np.asarray(X)


def fit_quietly(trial: Any, X: ArrayLike, start: Any = None) -> None:
    """Fit without output; Ctrl-C raises KeyboardInterrupt instead of ending the fit early.

    How sure edges are is not measured. A GraphDictMarginal may begin at a fitted one, ``start``,
    instead of searching among random starts.
    """
    known = trial.get_params()
    trial._measures_edges, trial._start = False, start
    trial.set_params(**{name: None for name in ("callback", "checkpoint") if name in known})
    trial.set_params(verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            trial.fit(X)
        except InterruptedFitWarning:
            raise KeyboardInterrupt from None
        finally:
            trial._start = None
