"""Global field power and its peaks, where the signal-to-noise ratio of a scalp map is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

from graphdict.eeg.extra import require_pandas
from graphdict.eeg.recording import MICROVOLTS, Recording, as_recording

__all__ = ["Peaks", "gfp", "gfp_peaks"]


@dataclass(frozen=True)
class Peaks:
    """Peaks of global field power, in the order of time.

    Attributes
    ----------
    signals : array (P, N)
        The samples at the peaks, in microvolts and centred.
    samples : integer array (P,)
        Where they are among the rows of ``recording.signals``.
    stretch : integer array (P,)
        The stretch each lies in.
    recording : Recording
    """

    signals: NDArray
    samples: NDArray
    stretch: NDArray
    recording: Recording

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def event(self) -> NDArray:
        """The event (epoch) of each peak."""
        return self.recording.event[self.stretch]

    def to_pandas(self) -> Any:
        """The signals as a table with electrodes in columns, so that models keep their names."""
        pandas = require_pandas()
        index = pandas.Index(self.samples, name="sample")
        return pandas.DataFrame(self.signals, index=index, columns=self.recording.names)


def gfp(inst: Any, **options: Any) -> NDArray:
    """Global field power in volts: the standard deviation over good electrodes of each sample.

    Bad samples are measured like the others.

    Parameters
    ----------
    inst : Raw, Epochs or array
    **options
        ``sfreq``, ``picks`` as in :func:`as_recording`.

    Returns
    -------
    array (n_times,) of a Raw, (n_epochs, n_times) of Epochs
    """
    recording = as_recording(inst, **options)
    power = recording.signals.std(axis=1) / MICROVOLTS
    return power if recording.frame.kind == "raw" else power.reshape(recording.n_events, -1)


def gfp_peaks(inst: Any, *, min_distance: float = 0.0, **options: Any) -> Peaks:
    """Local maxima of global field power, found within each stretch on its own.

    Parameters
    ----------
    inst : Raw, Epochs, array or Recording
    min_distance : float, default=0
        Least time between two peaks, in seconds; of closer ones the highest stay.
    **options
        ``sfreq``, ``picks``, ``reject_by_annotation`` as in :func:`as_recording`.
    """
    if min_distance < 0:
        raise ValueError(f"min_distance must be zero or more seconds, got {min_distance}")
    recording = as_recording(inst, **options)
    power = recording.signals.std(axis=1)
    distance = max(1, round(min_distance * recording.sfreq))
    found = [
        start + find_peaks(power[start:stop], distance=distance)[0]
        for start, stop in recording.stretches
    ]
    samples = np.concatenate([np.empty(0, dtype=np.intp), *found])
    stretch = np.repeat(np.arange(len(found)), [len(part) for part in found])
    return Peaks(recording.signals[samples], samples, stretch, recording)
