"""Signals of MNE's Raw and Epochs: which channels and samples of them are good, and as arrays.

MNE is not imported before an object of MNE is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphdict.core.annotations import Booleans, Floats, Integers

MICROVOLTS = 1e6  # per volt, MNE's unit, in which variances would be below regularisation


class GoodSignals(NamedTuple):
    """The good channels of a recording at its good samples."""

    values: Floats  # (T, N), microvolts
    names: list[str]
    breaks: tuple[int, ...]  # samples before which something is left out
    epochs: tuple[int, ...]  # number of good samples of each epoch; one for a Raw


def is_mne(X: Any) -> bool:
    """Return whether this is MNE's Raw or Epochs."""
    return type(X).__module__.partition(".")[0] == "mne" and hasattr(X, "get_data")


def read_mne(X: Any) -> GoodSignals:
    """Return the good EEG channels of a Raw or of Epochs at their good samples.

    Channels that are marked bad are left out, and so are samples under annotations that begin with
    BAD.
    """
    import mne

    epochs = isinstance(X, mne.BaseEpochs)
    if epochs:
        X.drop_bad()  # epochs that were read lazily: which of them exist is decided here
    chosen = choose_channels(mne, X.info, "eeg")
    segments, event, count = epochs_layout(X, True) if epochs else raw_layout(X, True)
    if not len(segments):
        raise ValueError("all samples are marked bad")
    data = X.get_data(picks=chosen, copy=False) if epochs else X.get_data(picks=chosen)
    rows = np.moveaxis(data, -2, -1).reshape(-1, len(chosen))
    lengths = segments[:, 1] - segments[:, 0]
    values = np.concatenate([rows[start:stop] for start, stop in segments])
    values *= values.dtype.type(MICROVOLTS)
    own = np.bincount(event, weights=lengths, minlength=count).astype(int)
    breaks = np.cumsum(lengths)[:-1]
    names = [X.ch_names[channel] for channel in chosen]
    return GoodSignals(values, names, tuple(breaks.tolist()), tuple(own.tolist()))


def choose_channels(mne: Any, info: Any, picks: str | Sequence[str]) -> Integers:
    """Return the indices of the selected channels."""
    if not isinstance(picks, str):
        missing = [name for name in picks if name not in info["ch_names"]]
        if missing:
            raise ValueError(
                f"the recording lacks the channels {missing}; it has {info['ch_names']}"
            )
        return np.array([info["ch_names"].index(name) for name in picks], dtype=np.intp)
    if picks != "eeg":
        raise ValueError(f"picks must be 'eeg' or a list of channel names, got {picks!r}")
    chosen = mne.pick_types(info, meg=False, eeg=True, exclude="bads")
    if len(chosen) < 2:
        raise ValueError(
            f"at least two good EEG channels are needed, the recording has {len(chosen)} (bad: "
            f"{info['bads']}); set channel types with inst.set_channel_types if it has more"
        )
    return chosen


def mask_segments(good: Booleans, cuts: Integers | Sequence[int] = ()) -> Integers:
    """Return the runs (S, 2) of true values of ``good`` (T,), also cut before each of ``cuts``."""
    padded = np.concatenate(([False], good, [False]))
    starts = np.flatnonzero(padded[1:] & ~padded[:-1])
    stops = np.flatnonzero(padded[:-1] & ~padded[1:])
    cuts = np.asarray(cuts, dtype=np.intp)
    cuts = cuts[(cuts > 0) & (cuts < len(good))]
    cuts = cuts[good[cuts] & good[cuts - 1]]  # others are at the end of a run already
    starts = np.unique(np.concatenate((starts, cuts)))
    stops = np.unique(np.concatenate((stops, cuts)))
    return np.column_stack((starts, stops)).astype(np.intp)


def raw_layout(raw: Any, reject: bool) -> tuple[Integers, Integers, int]:
    """Return the segments of a Raw, their events (all 0) and the number of events, 1.

    ``reject`` is whether BAD annotations are left out.
    """
    good, cuts = np.ones(raw.n_times, dtype=bool), []
    rate = raw.info["sfreq"]
    for note in raw.annotations:
        kind = note["description"].upper()
        if not kind.startswith(("BAD", "EDGE")):
            continue
        # Onsets count from the measurement's start, samples from the first one kept.
        start = round((note["onset"] - raw.first_time) * rate)
        stop = round((note["onset"] + note["duration"] - raw.first_time) * rate)
        if kind.startswith("EDGE") or "BOUNDARY" in kind:
            cuts.append(start)
        if kind.startswith("BAD") and (reject or kind.startswith("BAD_ACQ_SKIP")):
            good[max(start, 0) : max(stop, 0)] = False
            cuts.append(start)
    segments = mask_segments(good, cuts)
    return segments, np.zeros(len(segments), dtype=np.intp), 1


def epochs_layout(epochs: Any, reject: bool) -> tuple[Integers, Integers, int]:
    """Return the segments of Epochs, the epoch of each, and the number of epochs.

    ``reject`` is whether BAD annotations are left out.
    """
    good = np.ones((len(epochs), len(epochs.times)), dtype=bool)
    if reject and epochs.annotations is not None:
        rate = epochs.info["sfreq"]
        for row, notes in zip(good, epochs.get_annotations_per_epoch()):
            for onset, duration, description in notes:
                if description.upper().startswith("BAD"):
                    start = round((onset - epochs.tmin) * rate)
                    stop = round((onset + duration - epochs.tmin) * rate)
                    row[max(start, 0) : max(stop, 0)] = False
    count, times = good.shape
    segments = mask_segments(good.ravel(), np.arange(count) * times)
    return segments, segments[:, 0] // max(times, 1), count
