"""Choose settings from data: the penalty by degree or density, numbers of atoms by held-out score.

The sparsity penalty has no natural scale, but the number of neighbours of a node, or the density of
the graphs, has: `choose_penalty` searches the penalty that gives it. `choose_n_atoms` and
`choose_max_active` compare the likelihood of held-out signals.
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
