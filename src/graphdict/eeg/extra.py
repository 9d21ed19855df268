"""Import the optional packages of the extra ``eeg``, or explain how to install them."""

from __future__ import annotations

from types import ModuleType

__all__ = ["require_mne", "require_pandas"]


def require_mne() -> ModuleType:
    """Return the module mne; raise ImportError with instructions where it is missing."""
    try:
        import mne
    except ImportError as error:
        raise ImportError(
            "EEG recordings are read with MNE-Python, which is not installed: "
            'pip install "graphdict[eeg]"'
        ) from error
    return mne


def require_pandas() -> ModuleType:
    """Return the module pandas; raise ImportError with instructions where it is missing."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "tables of features are made with pandas, which is not installed: "
            'pip install "graphdict[eeg]"'
        ) from error
    return pandas
