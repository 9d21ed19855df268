"""Simulated EEG on a real montage, and the real recordings where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

mne = pytest.importorskip("mne", reason="mne is not installed: the extra eeg brings it")

from graphdict.datasets import load_eegbci, make_eeg  # noqa: E402
from graphdict.eeg import preprocess  # noqa: E402

mne.set_log_level("ERROR")


@pytest.fixture(scope="session")
def simulated():
    return make_eeg(8, n_states=3, random_state=0)


@pytest.fixture(scope="session")
def raw(simulated):
    """Preprocessed; to be copied before it is changed."""
    return preprocess(simulated.data)


@pytest.fixture(scope="session")
def epochs(raw, simulated):
    """Eight trials of two seconds; to be copied before they are changed."""
    names = {"left": 1, "right": 2}
    return mne.Epochs(raw, simulated.events, names, 0, 2, baseline=None, preload=True)


@pytest.fixture(scope="session")
def data_dir():
    """The folder of the EEGBCI recordings."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "eegbci"
    folder = Path(os.environ.get("GRAPHDICT_EEGBCI", beside))
    if not (folder / "MNE-eegbci-data").is_dir():
        pytest.skip(f"the EEGBCI recordings are not in {folder}; GRAPHDICT_EEGBCI says where")
    return folder


@pytest.fixture(scope="session")
def subject(data_dir):
    """One real subject."""
    return load_eegbci(2, data_dir=data_dir, download=False)[0]
