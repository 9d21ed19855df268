"""graphdict learns dictionaries of graphs from multivariate signals."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("graphdict")
except PackageNotFoundError:  # pragma: no cover - a source tree that was never installed
    __version__ = "0+unknown"

from graphdict.models import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    load_model,
)

__all__ = [
    "GraphDictExact",
    "GraphDictHier",
    "GraphDictLog",
    "GraphDictMarginal",
    "GraphDictSpectral",
    "__version__",
    "load_model",
]
