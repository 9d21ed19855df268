"""EEG and MEG recordings, through MNE: data channels, their times, their places on the head."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError, MissingExtraError
from graphdict.app.files.table import SignalTable, listed

__all__ = ["read_recording"]

KINDS = ("eeg", "seeg", "ecog", "mag", "grad", "hbo", "misc")


def read_recording(path: Path) -> SignalTable:
    """The channels of one kind, EEG before others, of an EDF, BDF or FIF file."""
    try:
        import mne
    except ImportError:
        raise MissingExtraError(f"a {path.suffix} file", "mne", "eeg") from None
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            raw, data = _load(mne, path, notes)
        except Exception as error:  # readers of binary formats fail in many ways
            raise InputError(f"cannot be read as a recording: {_first_line(error)}") from None
        names = [re.sub(r"\.+$", "", name) for name in raw.ch_names]
        positions = _positions(mne, raw, names, notes)
    if data.shape[1] < 2:
        raise InputError(f"has {data.shape[1]} channel(s), and a graph needs at least 2")
    rate = float(raw.info["sfreq"])
    return SignalTable(
        data, names, np.arange(len(data)) / rate, "s", positions, notes,
        dict.fromkeys(names, "V"), "time", 1 / rate,
    )  # fmt: skip


def _load(mne: Any, path: Path, notes: list[str]) -> tuple[Any, NDArray]:
    if path.suffix.lower() == ".fif" and "epo" in path.stem:
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
        raise InputError(f"it has no two channels of signals, only {listed(sorted(set(kinds)))}")
    bad = [name for name in recording.info["bads"] if name in recording.ch_names]
    chosen = [
        name for name, own in zip(recording.ch_names, kinds) if own == kind and name not in bad
    ]  # fmt: skip
    if bad:
        notes.append(f"left out bad channel(s): {listed(bad)}")
    if len(chosen) + len(bad) < len(kinds):
        notes.append(f"{len(chosen)} {kind} channels of {len(kinds)} channels")
    recording.pick(chosen)
    data = recording.get_data()
    data = data.swapaxes(1, 2).reshape(-1, data.shape[1]) if data.ndim == 3 else data.T
    return recording, np.ascontiguousarray(data, dtype=np.float64)


def _positions(mne: Any, raw: Any, names: list[str], notes: list[str]) -> NDArray | None:
    """Places seen from above, of the file's montage or of the standard one with these names."""
    found = raw.get_montage()
    places = {} if found is None else found.get_positions()["ch_pos"]
    points = [places.get(name) for name in raw.ch_names]
    if any(point is None or not np.isfinite(point).all() for point in points):
        standard = mne.channels.make_standard_montage("standard_1005").get_positions()["ch_pos"]
        known = {name.lower(): place for name, place in standard.items()}
        points = [known.get(name.lower()) for name in names]
        if any(point is None for point in points):
            return None
        notes.append("positions are those of the standard 10-05 montage, by the channels' names")
    return _from_above(np.array(points, dtype=np.float64))


def _from_above(points: NDArray) -> NDArray:
    """Azimuthal equidistant projection of places on a head, nose up."""
    points = points - np.array([0.0, 0.0, 0.04])  # from the plane of the ears to the head's centre
    angle = np.arctan2(points[:, 1], points[:, 0])
    fall = np.arccos(points[:, 2] / np.linalg.norm(points, axis=1))
    return np.stack([fall * np.cos(angle), fall * np.sin(angle)], axis=1)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
