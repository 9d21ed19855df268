"""Simulated signals with known graphs, measured signals, and EEG recordings."""

from graphdict.datasets.eeg_simulation import SimulatedEEG, make_eeg
from graphdict.datasets.eegbci import EEGBCISubject, RecordingError, load_eegbci
from graphdict.datasets.eyes import load_eyes
from graphdict.datasets.lgmrf import heat_kernel, sample_lgmrf
from graphdict.datasets.measured import DatasetNotFoundError, MeasuredSignals
from graphdict.datasets.netsim import load_netsim
from graphdict.datasets.packaged import (
    load_flight_delays,
    load_fmri_rest,
    load_sp500,
    load_us_income,
)
from graphdict.datasets.random_graphs import erdos_renyi
from graphdict.datasets.superposition import MixtureSignals, Superposition, make_superposition
from graphdict.datasets.timevarying import StateSignals, make_emeg, make_sbg
from graphdict.datasets.weather import load_brittany_weather, load_us_temperature

__all__ = [
    "DatasetNotFoundError",
    "EEGBCISubject",
    "MeasuredSignals",
    "MixtureSignals",
    "RecordingError",
    "SimulatedEEG",
    "StateSignals",
    "Superposition",
    "erdos_renyi",
    "heat_kernel",
    "load_brittany_weather",
    "load_eegbci",
    "load_eyes",
    "load_flight_delays",
    "load_fmri_rest",
    "load_netsim",
    "load_sp500",
    "load_us_income",
    "load_us_temperature",
    "make_eeg",
    "make_emeg",
    "make_sbg",
    "make_superposition",
    "sample_lgmrf",
]


def __dir__() -> list[str]:
    return sorted(__all__)
