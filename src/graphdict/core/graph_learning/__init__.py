"""Learn graphs from edge costs: one, many, or many with a joint penalty."""

from graphdict.core.graph_learning.coupled import coupled_graphs
from graphdict.core.graph_learning.graphs_from_costs import (
    LearnedGraphs,
    average_degree_ridge,
    choose_ridge,
    learn_graphs,
    log_degree_objective,
)

__all__ = [
    "LearnedGraphs",
    "average_degree_ridge",
    "choose_ridge",
    "coupled_graphs",
    "learn_graphs",
    "log_degree_objective",
]
