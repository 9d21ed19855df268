"""Times, events and annotations of an MNE object, for conversion back to MNE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats, Integers


@dataclass(frozen=True)
class Frame:
    """Everything but the signals of a Raw, of Epochs, or of an array of epochs.

    Attributes
    ----------
    kind : {"raw", "epochs", "array"}
    n_times : int
        Samples of the Raw, or of one epoch.
    sfreq : float
    info : mne.Info or None
        Of the selected channels.
    first_samp, annotations
        Of a Raw (annotations of Epochs too, where they have them).
    tmin, events, events_sfreq, event_id, metadata, selection, drop_log
        Of Epochs. Events are in samples of the recording, at the rate ``events_sfreq`` where epochs
        were decimated.
    """

    kind: str
    n_times: int
    sfreq: float
    info: Any = None
    first_samp: int = 0
    annotations: Any = None
    tmin: float = 0.0
    events: Integers | None = None
    events_sfreq: float | None = None
    event_id: dict[str, int] | None = None
    metadata: Any = None
    selection: Integers | None = None
    drop_log: Any = field(default=None, repr=False)

    @classmethod
    def of_raw(cls, raw: Any, info: Any) -> Frame:
        """Return the frame of a Raw."""
        return cls(
            "raw", raw.n_times, float(raw.info["sfreq"]), info,
            first_samp=raw.first_samp, annotations=raw.annotations.copy(),
        )  # fmt: skip

    @classmethod
    def of_epochs(cls, epochs: Any, info: Any) -> Frame:
        """Return the frame of Epochs."""
        notes = epochs.annotations
        metadata = epochs.metadata
        return cls(
            "epochs", len(epochs.times), float(epochs.info["sfreq"]), info,
            annotations=None if notes is None else notes.copy(),
            tmin=float(epochs.tmin), events=epochs.events.copy(),
            events_sfreq=getattr(epochs, "_raw_sfreq", None), event_id=dict(epochs.event_id),
            metadata=None if metadata is None else metadata.copy(),
            selection=np.array(epochs.selection), drop_log=epochs.drop_log,
        )  # fmt: skip

    @property
    def meas_date(self) -> Any:
        """Start of the recording, None where it is unknown."""
        return None if self.info is None else self.info["meas_date"]

    @property
    def times(self) -> Floats:
        """Times (n_times,) in seconds of the Raw or of one epoch, as ``inst.times``."""
        first = round(self.tmin * self.sfreq) if self.kind == "epochs" else 0
        return (first + np.arange(self.n_times)) / self.sfreq
