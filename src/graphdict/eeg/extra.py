"""Import the optional packages of the extra ``eeg``, or explain how to install them."""

from __future__ import annotations

from types import ModuleType

from graphdict.exceptions import import_extra


def require_mne() -> ModuleType:
    """Return the module mne; raise MissingExtraError where it is missing."""
    return import_extra("mne", "EEG in MNE's objects", "eeg")


def require_pandas() -> ModuleType:
    """Return the module pandas; raise MissingExtraError where it is missing."""
    return import_extra("pandas", "a table of features", "eeg")
