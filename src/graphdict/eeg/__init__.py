"""EEG: states of MNE's Raw and Epochs, their statistics, and conversion back to MNE.

Needs the extra ``eeg`` (``pip install "graphdict[eeg]"``), which is imported on first use; BIDS
folders need ``bids``.
"""

from graphdict.eeg.backfitting import backfit, model_coefficients
from graphdict.eeg.bids import BidsStudy, read_bids
from graphdict.eeg.embedding import StateEmbedding
from graphdict.eeg.peaks import Peaks, gfp, gfp_peaks
from graphdict.eeg.plots import head_positions, plot_atoms_on_head, plot_head
from graphdict.eeg.preprocessing import preprocess
from graphdict.eeg.recording import Recording, as_recording
from graphdict.eeg.states import States, state_features
from graphdict.eeg.transformer import StateFeatures
from graphdict.studies.features import FEATURES, PAPER_FEATURES

__all__ = [
    "FEATURES",
    "PAPER_FEATURES",
    "BidsStudy",
    "Peaks",
    "Recording",
    "StateEmbedding",
    "StateFeatures",
    "States",
    "as_recording",
    "backfit",
    "gfp",
    "gfp_peaks",
    "head_positions",
    "model_coefficients",
    "plot_atoms_on_head",
    "plot_head",
    "preprocess",
    "read_bids",
    "state_features",
]


def __dir__() -> list[str]:
    return sorted(__all__)
