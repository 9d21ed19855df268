"""Coefficients of states under any fitted model, and from peaks to every sample (backfitting)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.annotations import Floats, Integers
from graphdict.eeg.extra import require_pandas
from graphdict.eeg.peaks import Peaks


def model_coefficients(model: Any, signals: Floats) -> Floats:
    """Return the coefficient of each state in each sample under a fitted model.

    Parameters
    ----------
    model : fitted estimator
        With ``transform``, ``predict_proba`` or ``predict``, or a pipeline.
    signals : array (T, N)

    Returns
    -------
    array (T, K)
        In [0, 1]: coefficients of a graph dictionary, probabilities of a mixture, one-hot rows of
        a model that only predicts labels.
    """
    last = _last_step(model)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and isinstance(signals, np.ndarray):  # it was fitted to a table
        signals = require_pandas().DataFrame(signals, columns=names)
    if hasattr(last, "instantaneous_graphs") and hasattr(model, "transform"):
        return np.asarray(model.transform(signals))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(signals))
    if hasattr(model, "predict"):
        labels = np.asarray(model.predict(signals))
        result: Floats = np.eye(n_states(model))[labels]
        return result
    if hasattr(model, "transform"):
        return np.asarray(model.transform(signals))
    raise TypeError(
        f"{type(model).__name__} has no states of samples; a model needs transform, predict_proba "
        "or predict"
    )


def n_states(model: Any) -> int:
    """Return the number of states of a fitted model."""
    last = _last_step(model)
    for name in ("atoms_", "cluster_centers_", "means_", "weights_"):
        if hasattr(last, name):
            return len(getattr(last, name))
    for name in ("n_clusters_", "n_clusters", "n_components", "n_states"):
        if hasattr(last, name):
            return int(getattr(last, name))
    if hasattr(last, "labels_"):
        return int(np.max(last.labels_)) + 1
    raise TypeError(f"the number of states of {type(last).__name__} is unknown; give it n_clusters")


def backfit(peaks: Peaks, coefficients: Floats) -> Floats:
    """Assign to every sample the coefficients of the nearest peak of its segment.

    Of two equally near peaks the earlier one is taken.

    Parameters
    ----------
    peaks : Peaks
    coefficients : array (P, K)
        Coefficients of the peaks.

    Returns
    -------
    array (T, K)
        NaN in samples outside of all segments, and in segments without a peak.
    """
    if len(coefficients) != len(peaks):
        raise ValueError(
            f"there are {len(peaks)} peaks, but coefficients of {len(coefficients)} samples"
        )
    nearest = _nearest_peaks(peaks)
    out = np.full((len(nearest), coefficients.shape[1]), np.nan, dtype=coefficients.dtype)
    out[nearest >= 0] = coefficients[nearest[nearest >= 0]]
    return out


def _nearest_peaks(peaks: Peaks) -> Integers:
    """Return the index (T,) of the nearest peak in the segment of each sample, or -1."""
    nearest = np.full(len(peaks.recording.signals), -1, dtype=np.intp)
    first = np.searchsorted(peaks.segment, np.arange(len(peaks.recording.segments) + 1))
    for (start, stop), begin, end in zip(peaks.recording.segments, first[:-1], first[1:]):
        if begin < end:
            at = peaks.samples[begin:end]
            halfway = (at[:-1] + at[1:]) // 2  # the last sample nearest to the earlier peak
            own = np.searchsorted(halfway, np.arange(start, stop), side="left")
            nearest[start:stop] = begin + own
    return nearest


def _last_step(model: Any) -> Any:
    """Return the model, or the last step of a pipeline."""
    return model.steps[-1][1] if hasattr(model, "steps") else model
