"""Electrode positions of the extended 10-05 system."""

from __future__ import annotations

from typing import Any

from graphdict.eeg.extra import require_mne

NAMES = ("colin27_1005", "standard_1005")  # renamed in MNE 1.13


def ten_five_montage() -> Any:
    """Return the ``mne.channels.DigMontage`` of the 10-05 system on a template head."""
    mne = require_mne()
    known = mne.channels.get_builtin_montages()
    name = next((name for name in NAMES if name in known), NAMES[-1])
    return mne.channels.make_standard_montage(name)
