"""EEG at rest, eyes open and then closed: one minute each of PhysioNet's EEGMMIDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats, StrPath
from graphdict.datasets.eegbci import EEGBCI_CHANNELS, SUBJECTS, data_folder, locate_runs, read_run
from graphdict.datasets.measured import MeasuredSignals

RUNS = {1: "open", 2: "closed"}


def load_eyes(
    subject: int,
    folder: StrPath | None = None,
    *,
    band: tuple[float, float] = (1.0, 30.0),
    sfreq: float = 80.0,
    download: bool = True,
) -> MeasuredSignals:
    """Load a minute of EEG with eyes open and one with eyes closed, in this order.

    Runs 1 and 2 of the EEG Motor Movement/Imagery Database 1.0.0: Schalk et al. 2004, distributed
    by PhysioNet (Goldberger et al. 2000) under the Open Data Commons Attribution licence.

    Parameters
    ----------
    subject : int
        Number from 1 to 109.
    folder : path, optional
        A folder with ``SxxxR01.edf`` and ``SxxxR02.edf``, with a folder ``eyes`` of them, or with
        MNE's ``MNE-eegbci-data``; by default the one of MNE's settings.
    band : (float, float), default=(1, 30)
        Between which frequencies signals are kept.
    sfreq : float, default=80
        Samples a second after filtering.
    download : bool, default=True
        Whether MNE may download what is absent.

    Returns
    -------
    MeasuredSignals
        Microvolts of 64 channels; ``times`` in seconds since the beginning of the run; ``places``
        on the head seen from above; ``states`` are "open" and "closed".

    Raises
    ------
    RecordingError
        For files that are absent and cannot be downloaded, and for those that cannot be read.
    """
    from graphdict.eeg.extra import require_mne

    mne = require_mne()
    if not 1 <= subject <= SUBJECTS:
        raise ValueError(f"subject must be a number from 1 to {SUBJECTS}, got {subject}")
    signals, times, states = [], [], []
    for run, path in find_runs(subject, folder, download).items():
        raw = read_run(mne, subject, path, 160.0)
        raw.filter(*band, verbose="error").resample(sfreq, verbose="error")
        part: Floats = 1e6 * raw.get_data().T
        signals.append(part)
        times.append(np.arange(len(part)) / sfreq)
        states.append(np.full(len(part), RUNS[run]))
    return MeasuredSignals(
        np.concatenate(signals),
        list(EEGBCI_CHANNELS),
        np.concatenate(times),
        places=_flat(raw),
        states=np.concatenate(states),
    )


def find_runs(subject: int, folder: StrPath | None, download: bool = True) -> dict[int, Path]:
    """Return the file of each run, from a folder of files or from MNE's, as `load_eyes` does."""
    from graphdict.eeg.extra import require_mne

    mne = require_mne()
    if folder is not None:
        for root in (Path(folder).expanduser(), Path(folder).expanduser() / "eyes"):
            found = {run: root / f"S{subject:03d}R{run:02d}.edf" for run in RUNS}
            if all(path.is_file() for path in found.values()):
                return found
    located = locate_runs(mne, data_folder(mne, folder), subject, list(RUNS), download)
    return dict(zip(RUNS, located))


def _flat(raw: Any) -> Floats:
    """Return positions (N, 2) of the channels, the head seen from above and spread out."""
    places = np.array([channel["loc"][:3] for channel in raw.info["chs"]], dtype=np.float64)
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    angle = np.arccos(np.clip(places[:, 2], -1, 1))
    around = np.arctan2(places[:, 1], places[:, 0])
    return np.column_stack([angle * np.cos(around), angle * np.sin(around)])
