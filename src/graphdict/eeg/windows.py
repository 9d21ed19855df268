"""Cut windows around the events of a Raw."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.annotations import Integers
from graphdict.eeg.frames import Frame


def cut_windows(
    frame: Frame, segments: Integers, events: Integers, tmin: float, tmax: float, event_id: Any
) -> tuple[Integers, Integers, Integers, Frame]:
    """Return samples (n * length,) of the windows, segments, the window of each, and a frame.

    Parameters
    ----------
    frame : Frame
        Of the Raw.
    segments : integer array (S, 2)
        Of the Raw.
    events, tmin, tmax, event_id
        As in :meth:`graphdict.eeg.States.epochs`.
    """
    if frame.kind != "raw":
        raise ValueError("only the states of a Raw can be cut around events")
    if events.ndim != 2 or events.shape[1] != 3:
        raise ValueError(f"events must have the shape (n, 3), as in MNE, got {events.shape}")
    if not tmin <= tmax:
        raise ValueError(f"tmin must not exceed tmax, got {tmin} and {tmax}")
    first = round(tmin * frame.sfreq)
    length = round(tmax * frame.sfreq) + 1 - first
    begins = events[:, 0] - frame.first_samp + first
    inside = (begins >= 0) & (begins + length <= frame.n_times)
    names = event_id or {str(code): int(code) for code in np.unique(events[:, 2])}
    kept = np.flatnonzero(inside & np.isin(events[:, 2], list(names.values())))
    reasons = np.where(inside, "IGNORED", "NO_DATA")  # in the words of MNE
    log = tuple(() if k in kept else (str(reason),) for k, reason in enumerate(reasons))

    pieces, owner = [], []
    for number, begin in enumerate(begins[kept]):
        shift = number * length - begin
        for start, stop in segments:
            left, right = max(start, begin), min(stop, begin + length)
            if left < right:
                pieces.append((left + shift, right + shift))
                owner.append(number)
    cut = Frame(
        "epochs", length, frame.sfreq, frame.info,
        tmin=first / frame.sfreq, events=events[kept], event_id=names, selection=kept, drop_log=log,
    )  # fmt: skip
    samples = (begins[kept][:, None] + np.arange(length)).ravel()
    bounds = np.array(pieces, dtype=np.intp).reshape(-1, 2)
    return samples, bounds, np.array(owner, dtype=np.intp), cut
