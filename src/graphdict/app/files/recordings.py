"""Read EEG and MEG recordings through MNE: signals, times and electrode positions."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError, first_line
from graphdict.app.files.fif import check_fif
from graphdict.app.files.table import SignalTable, quote_names
from graphdict.core.annotations import Integers
from graphdict.eeg.bids import is_bids_file, read_bids_file
from graphdict.eeg.preprocessing import interpolate_bads
from graphdict.engine.mne_signals import raw_layout
from graphdict.exceptions import MissingExtraError, import_extra

ALWAYS, MOST_RATIO = 1 << 27, 100  # bytes of signals allowed in any file, and for each on disk
KINDS = ("eeg", "seeg", "ecog", "mag", "grad", "hbo", "misc")


def read_recording(path: Path, bads: str = "missing") -> SignalTable:
    """Read the channels of one type (EEG where there are any) of an EDF, BDF or FIF file.

    Or of a recording in a BIDS folder. Bad channels are left out, or interpolated
    (``bads="interpolate"``), and samples that are marked bad are left out.
    """
    mne = import_extra("mne", f"a {path.suffix} file", "eeg")
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            raw, data = _load(mne, path, notes, bads)
        except (InputError, MissingExtraError):
            raise
        except Exception as error:  # readers of binary formats fail in many ways
            raise InputError(f"cannot be read as a recording: {first_line(error)}") from None
        names = [re.sub(r"\.+$", "", name) for name in raw.ch_names]
        positions = _positions(raw, names, notes)
    if data.shape[1] < 2:
        raise InputError(f"has {data.shape[1]} channel(s), and a graph needs at least 2")
    rate = float(raw.info["sfreq"])
    good = _good_samples(raw, len(data))
    if not len(good):
        raise InputError("has no good sample: all are marked bad")
    if len(good) < len(data):
        notes.append(f"left out {len(data) - len(good)} samples that are marked bad")
        data = data[good]
    return SignalTable(
        data, names, good / rate, "s", positions, notes,
        dict.fromkeys(names, "V"), "time", 1 / rate, recording=True,
    )  # fmt: skip


def _load(mne: Any, path: Path, notes: list[str], bads: str) -> tuple[Any, NDArray[Any]]:
    """Return the MNE object with its good channels of one type, and their signals (T, N)."""
    if path.suffix.lower() == ".fif":
        check_fif(path)
    if is_bids_file(path):
        recording = read_bids_file(path)
    elif path.suffix.lower() == ".fif" and "epo" in path.stem:
        recording = mne.read_epochs(path, verbose="error", preload=True)
        notes.append(f"joined {len(recording)} epochs: windows may run from one into the next")
    elif path.suffix.lower() == ".fif":
        recording = mne.io.read_raw_fif(path, verbose="error", allow_maxshield="yes")
    elif path.suffix.lower() == ".bdf":
        recording = mne.io.read_raw_bdf(path, verbose="error")
    else:
        recording = mne.io.read_raw_edf(path, verbose="error")
    kinds = recording.get_channel_types()
    kind = next((k for k in KINDS if kinds.count(k) >= 2), None)
    if kind is None:
        raise InputError(f"has no two channels of signals, only {quote_names(sorted(set(kinds)))}")
    bad = [name for name in recording.info["bads"] if name in recording.ch_names]
    if bads == "interpolate" and kind == "eeg" and bad:
        recording = interpolate_bads(recording)
        notes.append(f"interpolated bad channel(s): {quote_names(bad)}")
        bad = [name for name in recording.info["bads"] if name in recording.ch_names]
    chosen = [
        name for name, own in zip(recording.ch_names, kinds) if own == kind and name not in bad
    ]  # fmt: skip
    if bad:
        notes.append(f"left out bad channel(s): {quote_names(bad)}")
    if len(chosen) + len(bad) < len(kinds):
        notes.append(f"{len(chosen)} {kind} channels of {len(kinds)} channels")
    recording.pick(chosen)
    epochs = len(recording) if hasattr(recording, "events") else 1
    claimed, held = 8 * epochs * len(recording.times) * len(chosen), path.stat().st_size
    if claimed > ALWAYS and claimed > MOST_RATIO * held:
        raise InputError(
            f"is damaged: its header announces {len(recording.times):,} samples of {len(chosen)} "
            f"channels, and it has {held:,} bytes"
        )
    data = recording.get_data()
    data = data.swapaxes(1, 2).reshape(-1, data.shape[1]) if data.ndim == 3 else data.T
    return recording, np.ascontiguousarray(data, dtype=np.float64)


def _good_samples(raw: Any, samples: int) -> Integers:
    """Return the numbers of the samples of a Raw that no annotation marks bad; all of Epochs."""
    if hasattr(raw, "events"):
        return np.arange(samples)
    segments, _, _ = raw_layout(raw, reject=True)
    return np.concatenate([np.arange(0), *(np.arange(start, stop) for start, stop in segments)])


def _positions(raw: Any, names: list[str], notes: list[str]) -> NDArray[Any] | None:
    """Return electrode positions (N, 2), of the file's montage or else of the 10-05 system.

    None where some channel is in neither.
    """
    montage = raw.get_montage()
    positions = {} if montage is None else montage.get_positions()["ch_pos"]
    points = [positions.get(name) for name in raw.ch_names]
    if any(point is None or not np.isfinite(point).all() for point in points):
        from graphdict.eeg.montage import ten_five_montage

        standard = ten_five_montage().get_positions()["ch_pos"]
        known = {name.lower(): point for name, point in standard.items()}
        points = [known.get(name.lower()) for name in names]
        if any(point is None for point in points):
            return None
        notes.append("positions are those of the standard 10-05 montage, by the channels' names")
    return _from_above(np.array(points, dtype=np.float64))


def _from_above(points: NDArray[Any]) -> NDArray[Any]:
    """Project points (N, 3) on a head to (N, 2): azimuthal equidistant, nose up."""
    points = points - np.array([0.0, 0.0, 0.04])  # from the plane of the ears to the head's centre
    angle = np.arctan2(points[:, 1], points[:, 0])
    polar = np.arccos(points[:, 2] / np.linalg.norm(points, axis=1))
    return np.stack([polar * np.cos(angle), polar * np.sin(angle)], axis=1)
