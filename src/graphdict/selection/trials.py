"""Trial fits for choosing settings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from graphdict.core.annotations import Floats, Integers
from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.core.recordings import Recordings
from graphdict.exceptions import InterruptedFitWarning
from graphdict.models.marginal_state import FitRequest


def _read(model: Any, X: Any) -> tuple[Floats, Recordings]:
    """Return all signals (T, N), validated as by a fit of ``model``, and their recordings."""
    samples, recordings = clone(model)._read(X, reset=True)
    return samples if isinstance(samples, np.ndarray) else samples[: len(samples)], recordings


def as_array(model: Any, X: Any) -> Floats:
    """Return signals (T, N), validated as by a fit of ``model``."""
    return _read(model, X)[0]


def as_recordings(model: Any, X: Any) -> list[Floats]:
    """Return the signals (T_r, N) of each recording: one where ``X`` is one array."""
    rows, recordings = _read(model, X)
    return recordings.split(rows)


def as_pieces(model: Any, X: Any) -> tuple[list[Floats], Integers]:
    """Return signals in pieces (T_p, N) in which nothing is left out, and whose recording each is.

    A recording has several pieces where parts of it are bad, or of which it has epochs.
    """
    return split_pieces(*_read(model, X))


def split_pieces(rows: Floats, recordings: Recordings) -> tuple[list[Floats], Integers]:
    """Return the pieces of all samples (T, N), and the number of the recording of each."""
    starts = recordings.piece_starts
    return np.split(rows, starts[1:]), recordings.labels()[starts]


def check_windows(atoms: int, windows: int, which: str = "series has") -> None:
    """Raise ValueError where a series has fewer samples or windows than there are atoms."""
    if atoms > windows:
        raise ValueError(
            f"n_atoms={atoms} graphs cannot be told apart: the {which} {windows} samples or "
            f"windows, and needs {atoms} or more"
        )


def with_found(trial: Any, fitted: Any) -> Any:
    """Return an unfitted trial with the tails and active atoms that a fit has found.

    These are a few numbers, which need not be learned anew. Models that have none stay as they are.
    """
    if not hasattr(fitted, "filter_"):
        return trial
    trial.set_params(tails="gaussian" if np.isinf(fitted.tails_) else float(fitted.tails_))
    if trial.max_active is None and trial.prior != "hierarchy" and not fitted.signed:
        trial.set_params(max_active=int(pattern_sizes(fitted.patterns_).max()))
    return trial


def fit_quietly(trial: Any, X: ArrayLike, start: Any = None, filter_from: Any = None) -> None:
    """Fit without output; Ctrl-C raises KeyboardInterrupt instead of ending the fit early.

    How sure edges are is not measured. A GraphDictMarginal may begin at a fitted one, ``start``,
    instead of searching among random starts, or take its filter ``filter_from`` another one.
    """
    known = trial.get_params()
    trial._request = FitRequest(start, filter_from, measure_edges=False)
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
            del trial._request
