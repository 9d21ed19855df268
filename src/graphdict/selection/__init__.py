"""Settings chosen from data: atoms of a wanted degree, how many there are, how many are active.

The penalty that gives sparse graphs has no scale that people know. How many neighbours a node has,
or which share of all pairs is joined, they do know: the penalty is searched for that gives it. How
many atoms there are, and may be active at once, is decided by signals that were not learned from.
"""

from graphdict.selection.density import PenaltyChoice, choose_penalty, densities
from graphdict.selection.held_out import ScoreChoice, choose_max_active, choose_n_atoms

__all__ = [
    "PenaltyChoice",
    "ScoreChoice",
    "choose_max_active",
    "choose_n_atoms",
    "choose_penalty",
    "densities",
]
