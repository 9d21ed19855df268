"""Synthetic processes whose graphs are known, each decided by one seed."""

from graphdict.datasets.lgmrf import sample_lgmrf
from graphdict.datasets.random_graphs import erdos_renyi
from graphdict.datasets.superposition import MixtureSignals, Superposition, make_superposition
from graphdict.datasets.timevarying import StateSignals, make_emeg, make_sbg

__all__ = [
    "MixtureSignals",
    "StateSignals",
    "Superposition",
    "erdos_renyi",
    "make_emeg",
    "make_sbg",
    "make_superposition",
    "sample_lgmrf",
]
