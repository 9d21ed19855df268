"""Simulated signals with known graphs, and EEG recordings."""

from graphdict.datasets.eeg_simulation import SimulatedEEG, make_eeg
from graphdict.datasets.eegbci import EEGBCISubject, RecordingError, load_eegbci
from graphdict.datasets.lgmrf import heat_kernel, sample_lgmrf
from graphdict.datasets.random_graphs import erdos_renyi
from graphdict.datasets.superposition import MixtureSignals, Superposition, make_superposition
from graphdict.datasets.timevarying import StateSignals, make_emeg, make_sbg

__all__ = [
    "EEGBCISubject",
    "MixtureSignals",
    "RecordingError",
    "SimulatedEEG",
    "StateSignals",
    "Superposition",
    "erdos_renyi",
    "heat_kernel",
    "load_eegbci",
    "make_eeg",
    "make_emeg",
    "make_sbg",
    "make_superposition",
    "sample_lgmrf",
]
