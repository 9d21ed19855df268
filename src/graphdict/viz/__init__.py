"""Figures of dictionaries, coefficients and fits."""

from graphdict.viz.figures import (
    plot_atoms,
    plot_coefficients,
    plot_convergence,
    plot_graph,
    plot_instantaneous,
)
from graphdict.viz.recovery import plot_comparison, plot_recovery

__all__ = [
    "plot_atoms",
    "plot_coefficients",
    "plot_comparison",
    "plot_convergence",
    "plot_graph",
    "plot_instantaneous",
    "plot_recovery",
]
