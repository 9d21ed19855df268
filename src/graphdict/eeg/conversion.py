"""Convert states to MNE objects and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphdict.core.annotations import Floats, Integers
from graphdict.eeg.extra import require_mne
from graphdict.eeg.frames import Frame
from graphdict.eeg.recording import Recording
from graphdict.engine.mne_signals import epochs_layout, mask_segments, raw_layout
from graphdict.studies.transitions import inside_segments

if TYPE_CHECKING:
    from graphdict.eeg.states import States


def to_mne(states: States) -> Any:
    """Return an mne RawArray or EpochsArray with a misc channel for each state."""
    mne = require_mne()
    frame = states.frame
    info = mne.create_info(states.names, states.sfreq, "misc")
    info.set_meas_date(frame.meas_date)
    if frame.kind == "raw":
        raw = mne.io.RawArray(
            states.coefficients.T.astype(np.float64), info, frame.first_samp, verbose="error"
        )
        if frame.annotations is not None:
            raw.set_annotations(frame.annotations.copy(), emit_warning=False)
        return raw
    data = np.moveaxis(states.by_event(), -1, 1).astype(np.float64)
    epochs = mne.EpochsArray(
        data, info, events=frame.events, tmin=frame.tmin, event_id=frame.event_id,
        metadata=frame.metadata, selection=frame.selection, drop_log=frame.drop_log,
        proj=False, baseline=None, raw_sfreq=frame.events_sfreq, on_missing="ignore",
        verbose="error",
    )  # fmt: skip
    if frame.annotations is not None:
        epochs.set_annotations(frame.annotations.copy(), on_missing="ignore")
    return epochs


def to_annotations(states: States) -> Any:
    """Return the runs of labels as mne.Annotations, in the time of the recording."""
    mne = require_mne()
    frame = states.frame
    bounds, labels = _label_runs(states.labels, states.segments)
    if frame.kind == "raw":
        onset = (bounds[:, 0] + frame.first_samp) / states.sfreq
        if frame.meas_date is None:  # MNE then counts from the first sample of the Raw
            onset = bounds[:, 0] / states.sfreq
    elif frame.events is None:
        onset = bounds[:, 0] / states.sfreq
    else:
        epoch, within = np.divmod(bounds[:, 0], frame.n_times)
        onset = frame.events[epoch, 0] / (frame.events_sfreq or states.sfreq) + frame.times[within]
    duration = (bounds[:, 1] - bounds[:, 0]) / states.sfreq
    names = [states.names[label] for label in labels]
    return mne.Annotations(onset, duration, names, orig_time=frame.meas_date)


def _label_runs(labels: Integers, segments: Integers) -> tuple[Integers, Integers]:
    """Return bounds (R, 2) and labels (R,) of the runs of equal labels within segments."""
    changes = np.flatnonzero(np.diff(labels)) + 1
    cuts = np.concatenate((changes, segments.ravel()))
    bounds = mask_segments(inside_segments(labels, segments) & (labels >= 0), cuts)
    return bounds, labels[bounds[:, 0]]


def read(inst: Any) -> tuple[Floats, Recording]:
    """Return the coefficients (T, K) of an object made by :func:`to_mne`, and its Recording.

    The signals of the recording are the coefficients.
    """
    mne = require_mne()
    if isinstance(inst, mne.io.BaseRaw):
        segments, event, n_events = raw_layout(inst, True)
        frame, rows = Frame.of_raw(inst, inst.info), inst.get_data().T
    elif isinstance(inst, mne.BaseEpochs):
        segments, event, n_events = epochs_layout(inst, True)
        frame = Frame.of_epochs(inst, inst.info)
        rows = np.moveaxis(inst.get_data(copy=False), 1, -1).reshape(-1, len(inst.ch_names))
    else:
        raise TypeError(f"inst must be an mne Raw or Epochs, got {type(inst).__name__}")
    names = list(inst.ch_names)
    return rows, Recording(rows, segments, event, n_events, frame.sfreq, names, frame)
