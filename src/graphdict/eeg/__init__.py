"""EEG: from MNE's Raw and Epochs to states, their statistics, and back.

Needs the extra ``eeg`` (``pip install "graphdict[eeg]"``), which is imported when it is used.
"""

from graphdict.eeg.embedding import StateEmbedding, backfit, model_coefficients
from graphdict.eeg.features import FEATURES, PAPER_FEATURES
from graphdict.eeg.peaks import Peaks, gfp, gfp_peaks
from graphdict.eeg.preprocessing import preprocess
from graphdict.eeg.recording import Recording, as_recording
from graphdict.eeg.states import States, state_features

__all__ = [
    "FEATURES",
    "PAPER_FEATURES",
    "Peaks",
    "Recording",
    "StateEmbedding",
    "States",
    "as_recording",
    "backfit",
    "gfp",
    "gfp_peaks",
    "model_coefficients",
    "preprocess",
    "state_features",
]
