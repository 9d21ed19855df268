"""The optional libraries of the extra ``eeg``, imported when they are needed and not before."""

from __future__ import annotations

from types import ModuleType

__all__ = ["require_mne", "require_pandas"]


def require_mne() -> ModuleType:
    """MNE-Python, or an error that says how to get it."""
    try:
        import mne
    except ImportError as error:
        raise ImportError(
            "EEG recordings are read with MNE-Python, which is not installed: "
            'pip install "graphdict[eeg]"'
        ) from error
    return mne


def require_pandas() -> ModuleType:
    """Pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "tables of features are made with pandas, which is not installed: "
            'pip install "graphdict[eeg]"'
        ) from error
    return pandas
