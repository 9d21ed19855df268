"""Recordings as arrays of samples, divided into segments of consecutive good samples.

A Raw is one event, cut into segments by its BAD annotations and by the boundaries of concatenated
recordings; each of Epochs is an event and a segment. Peaks, backfitting, runs of states and
transitions never cross the ends of a segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Floats, Integers
from graphdict.core.renamed import renamed
from graphdict.eeg.extra import require_mne
from graphdict.eeg.frames import Frame
from graphdict.engine.mne_signals import MICROVOLTS, choose_channels, epochs_layout, raw_layout

if TYPE_CHECKING:  # pragma: no cover
    import mne


@renamed("stretches", "segments")
@dataclass(frozen=True)
class Recording:
    """Signals of a recording, with the segments and events of its samples.

    Attributes
    ----------
    signals : array (T, N)
        Microvolts, each sample centred over the good electrodes. Epochs are concatenated.
    segments : integer array (S, 2)
        First sample and end (exclusive) of each segment; samples outside are bad.
    event : integer array (S,)
        Event (epoch) of each segment.
    n_events : int
        Number of events.
    sfreq : float
        Samples per second.
    names : list of N channel names
    frame : Frame
        Times, events and annotations of the MNE object.
    """

    signals: Floats
    segments: Integers
    event: Integers
    n_events: int
    sfreq: float
    names: list[str]
    frame: Frame


class RecordingOptions(TypedDict, total=False):
    """Options of :func:`as_recording` that other functions pass on."""

    sfreq: float | None
    picks: str | Sequence[str]
    reject_by_annotation: bool


Instance: TypeAlias = "mne.io.BaseRaw | mne.BaseEpochs | NDArray[Any] | Recording"
"""What holds a recording."""


def as_recording(
    inst: Instance,
    *,
    sfreq: float | None = None,
    picks: str | Sequence[str] = "eeg",
    reject_by_annotation: bool = True,
) -> Recording:
    """Read the good channels and samples of a Raw, of Epochs or of an array.

    Parameters
    ----------
    inst : mne.io.Raw, mne.Epochs, array (n_epochs, n_channels, n_times), or Recording
        An array is in volts, as MNE gives it.
    sfreq : float, optional
        Samples per second of an array.
    picks : "eeg" or channel names, default="eeg"
        "eeg" leaves out channels marked bad; names are taken in their order, bad or not.
    reject_by_annotation : bool, default=True
        Whether samples under annotations that begin with BAD are left out. Boundaries of
        concatenated recordings are always respected.

    Returns
    -------
    Recording
    """
    if isinstance(inst, Recording):
        return inst
    if isinstance(inst, np.ndarray):
        return _from_array(inst, sfreq)
    mne = require_mne()
    if isinstance(inst, mne.io.BaseRaw):
        chosen = choose_channels(mne, inst.info, picks)
        data = inst.get_data(picks=chosen)
        segments, event, n_events = raw_layout(inst, reject_by_annotation)
        frame = Frame.of_raw(inst, mne.pick_info(inst.info, chosen))
    elif isinstance(inst, mne.BaseEpochs):
        inst.drop_bad()  # epochs that were read lazily: which of them exist is decided here
        chosen = choose_channels(mne, inst.info, picks)
        data = inst.get_data(picks=chosen, copy=False)
        segments, event, n_events = epochs_layout(inst, reject_by_annotation)
        frame = Frame.of_epochs(inst, mne.pick_info(inst.info, chosen))
    else:
        raise TypeError(
            f"inst must be an mne Raw or Epochs, or an array (n_epochs, n_channels, n_times), got "
            f"{type(inst).__name__}"
        )
    names = [inst.ch_names[i] for i in chosen]
    signals = _rows(data, segments, names)
    return Recording(signals, segments, event, n_events, frame.sfreq, names, frame)


def each_recording(insts: Any, **options: Any) -> Iterator[Recording]:
    """Yield one or several recordings; raise where channels or rate differ from the first."""
    single = isinstance(insts, Recording | np.ndarray) or hasattr(insts, "info")
    first: Recording | None = None
    for number, inst in enumerate([insts] if single else insts, start=1):
        recording = as_recording(inst, **options)
        first = first or recording
        _check_alike(first, recording, number)
        yield recording
    if first is None:
        raise ValueError("no recordings were given; at least one is needed")


def _check_alike(first: Recording, other: Recording, number: int) -> None:
    """Raise ValueError where two recordings differ in channels or sampling rate."""
    if other.names != first.names:
        differing = sorted(set(first.names) ^ set(other.names)) or "their order"
        raise ValueError(
            f"recordings must have the same channels; recording {number} differs from the first "
            f"in {differing}. Bad channels can be interpolated: "
            "preprocess(inst, bads='interpolate')"
        )
    if not np.isclose(other.sfreq, first.sfreq):
        raise ValueError(
            f"recordings must have one sampling rate; recording {number} has {other.sfreq:g} Hz, "
            f"the first {first.sfreq:g} Hz. Resample with inst.resample()"
        )


def _rows(data: Floats, segments: Integers, names: Sequence[str]) -> Floats:
    """Return signals (T, N) in centred microvolts; raise where good samples are not finite."""
    data = np.moveaxis(data, -2, -1).reshape(-1, data.shape[-2])
    signals = data * data.dtype.type(MICROVOLTS)
    signals -= signals.mean(axis=1, keepdims=True)
    for start, stop in segments:
        finite = np.isfinite(signals[start:stop]).all(axis=1)
        if not finite.all():
            sample = int(start + np.argmin(finite))
            wrong = [n for n, ok in zip(names, np.isfinite(data[sample])) if not ok]
            raise ValueError(
                f"sample {sample} is not finite in {wrong}; mark it by a BAD annotation, or the "
                "channels in info['bads']"
            )
    return signals


def _from_array(data: Floats, sfreq: float | None) -> Recording:
    """Return the recording of an array of epochs in volts."""
    if data.ndim != 3:
        raise ValueError(
            f"an array of epochs must have the shape (n_epochs, n_channels, n_times), got "
            f"{data.shape}"
        )
    if sfreq is None:
        raise ValueError("sfreq is needed with an array: its samples per second")
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    count, channels, times = data.shape
    if channels < 2:
        raise ValueError(f"at least two channels are needed, got an array of shape {data.shape}")
    starts = np.arange(count) * times
    segments = np.column_stack((starts, starts + times)).astype(np.intp)
    names = [str(i) for i in range(channels)]
    frame = Frame("array", times, float(sfreq))
    signals = _rows(data, segments, names)
    return Recording(signals, segments, np.arange(count), count, float(sfreq), names, frame)
