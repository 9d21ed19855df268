"""graphdict learns dictionaries of graphs from multivariate signals."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdict import baselines as baselines
    from graphdict import datasets as datasets
    from graphdict import eeg as eeg
    from graphdict import exceptions as exceptions
    from graphdict import files as files
    from graphdict import graphs as graphs
    from graphdict import metrics as metrics
    from graphdict import models as models
    from graphdict import operators as operators
    from graphdict import related as related
    from graphdict import results as results
    from graphdict import selection as selection
    from graphdict import solvers as solvers
    from graphdict import studies as studies
    from graphdict import terms as terms
    from graphdict import viz as viz
    from graphdict.models import (
        GraphDict,
        GraphDictExact,
        GraphDictHier,
        GraphDictLog,
        GraphDictMarginal,
        GraphDictSpectral,
        GraphDictSpectralRelaxed,
        load_model,
    )

try:
    __version__ = version("graphdict")
except PackageNotFoundError:  # pragma: no cover - a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "GraphDict",
    "GraphDictExact",
    "GraphDictHier",
    "GraphDictLog",
    "GraphDictMarginal",
    "GraphDictSpectral",
    "GraphDictSpectralRelaxed",
    "__version__",
    "load_model",
]


_MODULES = (
    "baselines", "datasets", "eeg", "exceptions", "files", "graphs", "metrics", "models",
    "operators", "related", "results", "selection", "solvers", "studies", "terms", "viz",
)  # fmt: skip


if not TYPE_CHECKING:  # to which any name would be one of the package

    def __getattr__(name: str) -> Any:
        """Import models and public modules when they are first asked for.

        The command line starts without them.
        """
        if name in __all__:
            return getattr(import_module("graphdict.models"), name)
        if name in _MODULES:
            return import_module(f"graphdict.{name}")
        raise AttributeError(f"module 'graphdict' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
