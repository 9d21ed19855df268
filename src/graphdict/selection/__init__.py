"""Choose settings from data, and say how sure the answer is.

The sparsity penalty has no natural scale, but the number of neighbours of a node, or the density of
the graphs, has: `choose_penalty` searches the penalty that gives it. `choose_n_atoms` and
`choose_max_active` compare the likelihood of held-out blocks of time. `evidence` tells whether
there is more than one graph at all, `stability` what would come out again, `reproducibility` what
other recordings would give, and `describe_findings` says it in sentences.
"""

from graphdict.selection.density import PenaltyChoice, choose_penalty, densities
from graphdict.selection.findings import describe_findings
from graphdict.selection.held_out import ScoreChoice, choose_max_active, choose_n_atoms
from graphdict.selection.one_graph import Evidence, evidence
from graphdict.selection.reproducibility import Reproducibility, reproducibility
from graphdict.selection.stability import Stability, stability

__all__ = [
    "Evidence",
    "PenaltyChoice",
    "Reproducibility",
    "ScoreChoice",
    "Stability",
    "choose_max_active",
    "choose_n_atoms",
    "choose_penalty",
    "densities",
    "describe_findings",
    "evidence",
    "reproducibility",
    "stability",
]


def __dir__() -> list[str]:
    return sorted(__all__)
