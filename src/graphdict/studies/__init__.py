"""Studies of many recordings: statistics of activations, what differs, and tests of it.

`activation_statistics` measures occupancy, lifetimes, intervals, switching and transitions of each
recording. `compare_groups`, `compare_conditions` and `regress_on` test values of recordings by
permutations that respect subjects, corrected by the maximum statistic. `recording_atoms` gives each
recording atoms of its own, as far from the group's as held-out parts of recordings allow.
"""

from graphdict.studies.compare import compare_conditions, compare_groups, regress_on
from graphdict.studies.comparison import Comparison
from graphdict.studies.recording_atoms import RecordingAtoms, recording_atoms
from graphdict.studies.statistics import ActivationStatistics, activation_statistics

__all__ = [
    "ActivationStatistics",
    "Comparison",
    "RecordingAtoms",
    "activation_statistics",
    "compare_conditions",
    "compare_groups",
    "recording_atoms",
    "regress_on",
]


def __dir__() -> list[str]:
    return sorted(__all__)
