"""Global field power (GFP) and its peaks, where scalp maps have the best signal-to-noise ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
from scipy.signal import find_peaks

from graphdict.core.annotations import Floats, Integers
from graphdict.core.renamed import renamed
from graphdict.eeg.extra import require_pandas
from graphdict.eeg.recording import Instance, Recording, RecordingOptions, as_recording
from graphdict.engine.mne_signals import MICROVOLTS

if TYPE_CHECKING:  # pragma: no cover
    import pandas


@renamed("stretch", "segment")
@dataclass(frozen=True)
class Peaks:
    """Peaks of global field power, in order of time.

    Attributes
    ----------
    signals : array (P, N)
        Signals at the peaks, in microvolts, centred over electrodes.
    samples : integer array (P,)
        Rows of the peaks in ``recording.signals``.
    segment : integer array (P,)
        Segment of each peak.
    recording : Recording
        The recording of the peaks.
    """

    signals: Floats
    samples: Integers
    segment: Integers
    recording: Recording

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def event(self) -> Integers:
        """Event (epoch) of each peak (P,)."""
        return self.recording.event[self.segment]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the signals at the peaks as a table.

        Returns
        -------
        pandas.DataFrame (P, N)
            Electrodes in columns, so that models know their names; indexed by sample.
        """
        pandas = require_pandas()
        index = pandas.Index(self.samples, name="sample")
        return pandas.DataFrame(self.signals, index=index, columns=self.recording.names)


def gfp(inst: Instance, **options: Unpack[RecordingOptions]) -> Floats:
    """Return the global field power in volts: the standard deviation over good electrodes.

    Bad samples are included.

    Parameters
    ----------
    inst : Raw, Epochs or array
        As in :func:`as_recording`.
    **options
        ``sfreq``, ``picks`` as in :func:`as_recording`.

    Returns
    -------
    array (n_times,) or (n_epochs, n_times)
        Of a Raw, or of Epochs.
    """
    recording = as_recording(inst, **options)
    power = recording.signals.std(axis=1) / MICROVOLTS
    result: Floats = (
        power if recording.frame.kind == "raw" else power.reshape(recording.n_events, -1)
    )
    return result


def gfp_peaks(
    inst: Instance, *, min_distance: float = 0.0, **options: Unpack[RecordingOptions]
) -> Peaks:
    """Find the local maxima of global field power within each segment.

    Parameters
    ----------
    inst : Raw, Epochs, array or Recording
        As in :func:`as_recording`.
    min_distance : float, default=0
        Smallest time between two peaks, in seconds; of closer ones the highest are kept.
    **options
        ``sfreq``, ``picks``, ``reject_by_annotation`` as in :func:`as_recording`.

    Returns
    -------
    Peaks
    """
    if min_distance < 0:
        raise ValueError(f"min_distance must be zero or more seconds, got {min_distance}")
    recording = as_recording(inst, **options)
    power = recording.signals.std(axis=1)
    distance = max(1, round(min_distance * recording.sfreq))
    found = [
        start + find_peaks(power[start:stop], distance=distance)[0]
        for start, stop in recording.segments
    ]
    samples = np.concatenate([np.empty(0, dtype=np.intp), *found])
    segment = np.repeat(np.arange(len(found)), [len(part) for part in found])
    return Peaks(recording.signals[samples], samples, segment, recording)
