"""Figures of dictionaries, coefficients and fits."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphdict.exceptions import import_extra

if TYPE_CHECKING:
    from graphdict.viz.figures import (
        plot_atoms,
        plot_coefficients,
        plot_convergence,
        plot_graph,
        plot_instantaneous,
    )
    from graphdict.viz.recovery import plot_comparison, plot_recovery
    from graphdict.viz.studies import plot_effects, plot_recordings, plot_reproducibility

__all__ = [
    "plot_atoms",
    "plot_coefficients",
    "plot_comparison",
    "plot_convergence",
    "plot_effects",
    "plot_graph",
    "plot_instantaneous",
    "plot_recordings",
    "plot_recovery",
    "plot_reproducibility",
]

_MODULES = {
    "plot_comparison": "recovery",
    "plot_effects": "studies",
    "plot_recordings": "studies",
    "plot_recovery": "recovery",
    "plot_reproducibility": "studies",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import Matplotlib when the first figure is asked for: the report does without it."""
        if name not in __all__:
            raise AttributeError(f"module 'graphdict.viz' has no attribute {name!r}")
        import_extra("matplotlib", "a figure", "plot")
        module = _MODULES.get(name, "figures")
        return getattr(import_module(f"graphdict.viz.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
