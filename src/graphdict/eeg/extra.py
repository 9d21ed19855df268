"""Import the optional packages of the extra ``eeg``, or explain how to install them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["require_mne", "require_pandas"]


def require_mne() -> ModuleType:
    """Return the module mne; raise ImportError with instructions where it is missing."""
    return _require("mne", "EEG recordings are read with MNE-Python")


def require_pandas() -> ModuleType:
    """Return the module pandas; raise ImportError with instructions where it is missing."""
    return _require("pandas", "tables of features are made with pandas")


def _require(name: str, purpose: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f'{purpose}, which is not installed: pip install "graphdict[eeg]"'
        ) from error
