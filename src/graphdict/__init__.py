"""graphdict learns dictionaries of graphs from multivariate signals."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdict.models import (
        GraphDict,
        GraphDictExact,
        GraphDictHier,
        GraphDictLog,
        GraphDictMarginal,
        GraphDictSpectral,
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
    "__version__",
    "load_model",
]


_MODULES = (
    "baselines", "datasets", "eeg", "exceptions", "files", "graphs", "metrics", "models",
    "operators", "results", "selection", "solvers", "terms", "viz",
)  # fmt: skip


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
