"""Load the EEG Motor Movement/Imagery recordings of PhysioNet: left or right fist.

Schalk et al. 2004, distributed by PhysioNet (Goldberger et al. 2000) under the Open Data Commons
Attribution licence, fetched by MNE-Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Integers
from graphdict.exceptions import GraphDictWarning, warn

if TYPE_CHECKING:  # pragma: no cover
    import mne

FOLDER = Path("MNE-eegbci-data", "files", "eegmmidb", "1.0.0")
SUBJECTS = 109
HAND_RUNS = (3, 4, 7, 8, 11, 12)  # left or right fist, moved or imagined; the others are about feet
CLASSES = {"T1": "left", "T2": "right"}
# In the order of the files.
EEGBCI_CHANNELS = (
    "FC5", "FC3", "FC1", "FCz", "FC2", "FC4", "FC6", "C5", "C3", "C1", "Cz",
    "C2", "C4", "C6", "CP5", "CP3", "CP1", "CPz", "CP2", "CP4", "CP6", "Fp1",
    "Fpz", "Fp2", "AF7", "AF3", "AFz", "AF4", "AF8", "F7", "F5", "F3", "F1",
    "Fz", "F2", "F4", "F6", "F8", "FT7", "FT8", "T7", "T8", "T9", "T10",
    "TP7", "TP8", "P7", "P5", "P3", "P1", "Pz", "P2", "P4", "P6", "P8",
    "PO7", "PO3", "POz", "PO4", "PO8", "O1", "Oz", "O2", "Iz",
)  # fmt: skip


class RecordingError(RuntimeError):
    """Raised for a recording that cannot be used; names the subject, the file and the reason."""


@dataclass(frozen=True)
class EEGBCISubject:
    """The recordings of one subject.

    Attributes
    ----------
    subject : int
        Number of the subject.
    data : mne.Epochs or mne.io.Raw
        The 64 channels of ``EEGBCI_CHANNELS`` with positions. A Raw concatenates the runs, with
        MNE's annotations at the boundaries.
    labels : array of "left" and "right"
        Class of each trial.
    events : integer array (n_trials, 3)
        Sample, zero, and 1 for left or 2 for right, as in MNE.
    """

    subject: int
    data: mne.io.BaseRaw | mne.BaseEpochs
    labels: NDArray[np.str_]
    events: Integers


def load_eegbci(
    subjects: int | Iterable[int] = range(1, 16),
    runs: Sequence[int] = (4, 8, 12),
    data_dir: str | os.PathLike[str] | None = None,
    *,
    kind: Literal["epochs", "raw"] = "epochs",
    tmin: float = 0.0,
    tmax: float = 4.0,
    band: tuple[float | None, float | None] | None = (0.5, 30.0),
    sfreq: float = 160.0,
    errors: Literal["raise", "warn"] = "raise",
    download: bool = True,
    verbose: int = 0,
) -> list[EEGBCISubject]:
    """Load recordings of imagined (or real) movement of the left or right fist.

    Parameters
    ----------
    subjects : int or iterable of int, default=1 to 15
        Numbers from 1 to 109.
    runs : ints, default=(4, 8, 12)
        Imagery is in runs 4, 8 and 12, movement in 3, 7 and 11.
    data_dir : path, optional
        The folder with ``MNE-eegbci-data``; by default the one of MNE's settings.
    kind : {"epochs", "raw"}, default="epochs"
        One epoch for each trial, or the whole recording.
    tmin, tmax : float, default=0 and 4
        Seconds around the cue of an epoch. The task lasts about 4.1 seconds.
    band : (low, high) or None, default=(0.5, 30.0)
        :func:`graphdict.eeg.preprocess` with this band, on each run as a whole; None leaves the
        recordings as they are.
    sfreq : float, default=160
        Samples per second. Recordings with another rate (subjects 88, 92 and 100 have 128 Hz) are
        resampled with a warning.
    errors : {"raise", "warn"}, default="raise"
        Whether a subject that cannot be used raises RecordingError, or is left out with a warning.
    download : bool, default=True
        Whether MNE may download missing files (2.5 MB per run), with a progress bar.
    verbose : int, default=0
        1 always shows the progress bar.

    Returns
    -------
    list of EEGBCISubject

    Raises
    ------
    RecordingError
        For a file that is missing and cannot be downloaded, truncated or no EDF; for other channels
        than the 64 of this data set; for a subject without trials of one of the classes.
    """
    from tqdm.auto import tqdm

    from graphdict.eeg.extra import require_mne

    mne = require_mne()
    numbers = _check_request(subjects, runs, kind, errors, tmin, tmax)
    folder = data_folder(mne, data_dir)
    missing = any(not path.is_file() for n in numbers for path in _paths(folder, n, runs))
    loaded = []
    bar = tqdm(numbers, "EEGBCI", unit="subject", disable=not (verbose or (missing and download)))
    for subject in bar:
        try:
            paths = locate_runs(mne, folder, subject, runs, download)
            raws = [read_run(mne, subject, path, sfreq) for path in paths]
            loaded.append(_assemble(mne, subject, raws, kind, tmin, tmax, band))
        except RecordingError as error:
            if errors == "raise":
                raise
            warn(f"{error}; it is left out", GraphDictWarning)
    if not loaded:
        raise RecordingError(f"none of the subjects {numbers} could be loaded")
    return loaded


def _check_request(
    subjects: Any, runs: Any, kind: str, errors: str, tmin: float, tmax: float
) -> list[int]:
    """Return the subjects as a list; raise ValueError for invalid arguments."""
    several = [subjects] if isinstance(subjects, int | np.integer) else subjects
    numbers = [int(number) for number in several]
    wrong = [number for number in numbers if not 1 <= number <= SUBJECTS]
    if wrong or not numbers:
        raise ValueError(f"subjects must be numbers from 1 to {SUBJECTS}, got {wrong or numbers}")
    feet = [run for run in runs if run not in HAND_RUNS]
    if feet or not len(runs):
        raise ValueError(
            f"runs must be among {HAND_RUNS}, where T1 and T2 mean the left and the right fist, "
            f"got {feet or runs}"
        )
    if kind not in ("epochs", "raw"):
        raise ValueError(f"kind must be 'epochs' or 'raw', got {kind!r}")
    if errors not in ("raise", "warn"):
        raise ValueError(f"errors must be 'raise' or 'warn', got {errors!r}")
    if not tmin < tmax:
        raise ValueError(f"tmin must be less than tmax, got {tmin} and {tmax}")
    return numbers


def _paths(folder: Path, subject: int, runs: Any) -> list[Path]:
    """Return the paths of the files of a subject."""
    names = [f"S{subject:03d}/S{subject:03d}R{int(run):02d}.edf" for run in runs]
    return [folder / FOLDER / name for name in names]


def locate_runs(mne: Any, folder: Path, subject: int, runs: Any, download: bool) -> list[Path]:
    """Return the paths of the files of a subject; download missing ones if ``download``."""
    paths = _paths(folder, subject, runs)
    missing = [path for path in paths if not path.is_file()]
    if not missing:
        return paths
    if not download:
        raise RecordingError(f"subject {subject}: {missing[0]} is missing; allow download=True")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mne.datasets.eegbci.load_data(subject, list(runs), path=folder, update_path=False)
    except Exception as error:  # whatever the network, the disk or the server has to say
        raise RecordingError(
            f"subject {subject}: {missing[0]} is missing and could not be downloaded "
            f"({type(error).__name__}: {_brief(error)}); connect to the network, or give "
            "data_dir= a folder that has MNE-eegbci-data"
        ) from error
    return paths


def data_folder(mne: Any, data_dir: Any) -> Path:
    """Return the folder that holds ``MNE-eegbci-data``."""
    if data_dir is None:
        configured = mne.get_config("MNE_DATASETS_EEGBCI_PATH") or mne.get_config("MNE_DATA")
        return Path(configured or Path.home() / "mne_data").expanduser()
    folder = Path(data_dir).expanduser()
    # The folder of the data set itself is accepted, too.
    return folder.parent if folder.name == FOLDER.parts[0] else folder


def read_run(mne: Any, subject: int, path: Path, sfreq: float) -> Any:
    """Return a run as an MNE Raw with standard channel names, order and positions."""
    from graphdict.eeg.montage import ten_five_montage

    _check_length(subject, path)
    try:
        raw = mne.io.read_raw_edf(path, preload=True, verbose="error")
    except Exception as error:  # MNE raises many kinds for files that are no EDF
        raise RecordingError(
            f"subject {subject}: {path} cannot be read as EDF ({type(error).__name__}: "
            f"{_brief(error)})"
        ) from error
    mne.datasets.eegbci.standardize(raw)
    missing = [name for name in EEGBCI_CHANNELS if name not in raw.ch_names]
    if missing:
        raise RecordingError(
            f"subject {subject}: {path} has another montage than the 64 channels of this data set: "
            f"it lacks {missing} and has {raw.ch_names}"
        )
    raw.pick(list(EEGBCI_CHANNELS), verbose="error")
    raw.reorder_channels(list(EEGBCI_CHANNELS))
    raw.set_montage(ten_five_montage(), verbose="error")
    if not np.isclose(raw.info["sfreq"], sfreq):
        warn(
            f"subject {subject}: {path.name} has {raw.info['sfreq']:g} samples a second and was "
            f"resampled to {sfreq:g}",
            GraphDictWarning,
        )
        raw.resample(sfreq, verbose="error")
    return raw


def _check_length(subject: int, path: Path) -> None:
    """Raise RecordingError where a file is shorter than its EDF header says, which MNE ignores."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        fixed = file.read(256)
        try:
            header, records, channels = (
                int(fixed[a:b]) for a, b in ((184, 192), (236, 244), (252, 256))
            )
            file.seek(256 + 216 * channels)
            counts = file.read(8 * channels)
            samples = sum(int(counts[8 * i : 8 * i + 8]) for i in range(channels))
        except ValueError as error:
            raise RecordingError(
                f"subject {subject}: {path} is not an EDF file, or cut short within its header "
                f"({size} bytes); remove it to have it downloaded again"
            ) from error
    expected = header + 2 * samples * records
    if records > 0 and size < expected:
        raise RecordingError(
            f"subject {subject}: {path} is truncated: it has {size} of {expected} bytes; remove it "
            "to have it downloaded again"
        )


def _assemble(
    mne: Any, subject: int, raws: list[Any], kind: str, tmin: float, tmax: float, band: Any
) -> EEGBCISubject:
    """Return the concatenated runs of a subject as a Raw, or cut into epochs."""
    from graphdict.eeg.preprocessing import preprocess

    if band is not None:
        raws = [preprocess(raw, l_freq=band[0], h_freq=band[1]) for raw in raws]
    raw = mne.concatenate_raws(raws, verbose="error")
    codes = {name: code for code, name in enumerate(CLASSES, start=1)}
    found = set(raw.annotations.description)
    absent = [CLASSES[name] for name in CLASSES if name not in found]
    if absent:
        raise RecordingError(
            f"subject {subject} has no trials of {' and '.join(absent)} in these runs; annotations "
            f"are {sorted(found)}"
        )
    events, _ = mne.events_from_annotations(raw, codes, verbose="error")
    event_id = {label: codes[name] for name, label in CLASSES.items()}
    data = raw
    if kind == "epochs":
        data = mne.Epochs(
            raw, events, event_id, tmin, tmax, baseline=None, preload=True, verbose="error"
        )
        events = data.events
        absent = [label for label, code in event_id.items() if code not in events[:, 2]]
        if absent:
            raise RecordingError(
                f"subject {subject}: no trial of {' and '.join(absent)} has all of tmin={tmin:g} "
                f"to tmax={tmax:g} s"
            )
    labels = np.array(list(event_id))[events[:, 2] - 1]
    return EEGBCISubject(subject, data, labels, events)


def _brief(error: Exception) -> str:
    """Return the first line of an error's message, shortened."""
    return (str(error).strip().splitlines() or ["no details"])[0][:120]
