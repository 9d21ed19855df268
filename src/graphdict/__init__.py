"""graphdict learns dictionaries of graphs from multivariate signals."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdict.models import (
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
    "GraphDictExact",
    "GraphDictHier",
    "GraphDictLog",
    "GraphDictMarginal",
    "GraphDictSpectral",
    "__version__",
    "load_model",
]


def __getattr__(name: str) -> Any:
    """Models and modules when they are first asked for: the command line starts without them."""
    if name in __all__:
        return getattr(import_module("graphdict.models"), name)
    if name.isidentifier() and name[0] != "_" and find_spec(f"graphdict.{name}") is not None:
        return import_module(f"graphdict.{name}")
    raise AttributeError(f"module 'graphdict' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
