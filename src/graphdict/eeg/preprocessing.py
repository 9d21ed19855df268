"""Preprocessing of the microstate literature: average reference and band-pass filter."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from graphdict.eeg.extra import require_mne
from graphdict.eeg.montage import ten_five_montage
from graphdict.exceptions import GraphDictWarning, warn

if TYPE_CHECKING:  # pragma: no cover
    import mne

Inst = TypeVar("Inst", bound="mne.io.BaseRaw | mne.BaseEpochs")


def preprocess(
    inst: Inst,
    *,
    l_freq: float | None = 0.5,
    h_freq: float | None = 30.0,
    bads: Literal["exclude", "interpolate"] = "exclude",
) -> Inst:
    """Return a copy with the good EEG channels, average-referenced and band-pass filtered.

    The average reference subtracts from each sample its mean over the good electrodes. The filter
    (MNE's zero-phase FIR) does not cross epochs or boundaries of concatenated recordings. A low
    edge of 0.5 Hz needs a filter of 6.6 seconds: filter a Raw before cutting it into epochs.

    Parameters
    ----------
    inst : mne.io.Raw or mne.Epochs
        It is not changed.
    l_freq, h_freq : float or None, default=0.5 and 30
        Edges of the band in Hz; None leaves that side open.
    bads : {"exclude", "interpolate"}, default="exclude"
        Leave bad channels out, or interpolate them from their neighbours, so that all recordings
        have the same channels.

    Returns
    -------
    mne.io.Raw or mne.Epochs
        Of the same class as ``inst``.
    """
    mne = require_mne()
    if not isinstance(inst, mne.io.BaseRaw | mne.BaseEpochs):
        raise TypeError(f"inst must be an mne Raw or Epochs, got {type(inst).__name__}")
    if bads not in ("exclude", "interpolate"):
        raise ValueError(f"bads must be 'exclude' or 'interpolate', got {bads!r}")
    nyquist = inst.info["sfreq"] / 2
    if h_freq is not None and h_freq >= nyquist:
        raise ValueError(
            f"h_freq={h_freq:g} Hz is too high for {inst.info['sfreq']:g} samples per second; it "
            f"must be below {nyquist:g} Hz, or None where the recording was filtered before"
        )
    kept = mne.pick_types(
        inst.info, meg=False, eeg=True, exclude="bads" if bads == "exclude" else []
    )
    if len(kept) < 2:
        raise ValueError(
            f"at least two good EEG channels are needed, the recording has {len(kept)} (bad: "
            f"{inst.info['bads']}); set channel types with inst.set_channel_types if it has more"
        )
    with mne.use_log_level("error"):
        out = inst.copy().load_data().pick(kept)
        if bads == "interpolate":
            out = interpolate_bads(out)
        out.set_eeg_reference("average", projection=False)
    if l_freq is not None or h_freq is not None:
        _filter(out, l_freq, h_freq)
    result: Inst = out
    return result


def interpolate_bads(inst: Inst) -> Inst:
    """Return a recording whose bad EEG channels are interpolated from their neighbours.

    Electrodes without positions get those of the standard 10-05 system, by name. A recording
    without bad channels is returned as it is.
    """
    mne = require_mne()
    bad = [inst.ch_names[i] for i in mne.pick_types(inst.info, eeg=True, exclude=[])]
    bad = [name for name in bad if name in inst.info["bads"]]
    if not bad:
        return inst
    with mne.use_log_level("error"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = inst.copy().load_data()
        if not _all_placed(out):
            names = {re.sub(r"\.+$", "", n).lower(): n for n in out.ch_names}
            head = ten_five_montage().get_positions()
            del head["hsp"], head["hpi"]
            head["ch_pos"] = {
                names[n.lower()]: at for n, at in head["ch_pos"].items() if n.lower() in names
            }
            out.set_montage(mne.channels.make_dig_montage(**head), on_missing="ignore")
        if not _all_placed(out):
            raise ValueError(
                f"the bad channels {bad} cannot be interpolated, as some electrodes have no "
                "position and no name of the 10-05 system; use inst.set_montage, or leave bad "
                "channels out"
            )
        out.interpolate_bads(reset_bads=True)
    filled: Inst = out
    return filled


def _all_placed(inst: Any) -> bool:
    """Return whether all EEG electrodes have a position."""
    mne = require_mne()
    chosen = mne.pick_types(inst.info, eeg=True, exclude=[])
    places = [inst.info["chs"][channel]["loc"][:3] for channel in chosen]
    return all(bool(np.isfinite(place).all() and np.any(place)) for place in places)


def _filter(inst: Any, l_freq: float | None, h_freq: float | None) -> None:
    """Filter in place; warn once where the filter is longer than the signal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inst.filter(l_freq, h_freq, verbose="warning")
    too_long = [str(w.message) for w in caught if "longer than the signal" in str(w.message)]
    for warning in caught:
        if "longer than the signal" not in str(warning.message):
            warn(warning.message, warning.category)
    if too_long:
        seconds = inst.times[-1] - inst.times[0]
        warn(
            f"signals of {seconds:.3g} s (or parts of them between boundaries) are shorter than "
            f"the filter that l_freq={l_freq} Hz asks for, so their ends are distorted; filter "
            "the Raw before cutting it, or raise l_freq",
            GraphDictWarning,
        )
