"""Graph dictionaries as scikit-learn estimators."""

from __future__ import annotations

import os

from graphdict.engine.storage import model_files as persistence
from graphdict.models.base import GraphDictionary
from graphdict.models.exact import GraphDictExact
from graphdict.models.hier import GraphDictHier
from graphdict.models.log import GraphDictLog
from graphdict.models.marginal import GraphDictMarginal
from graphdict.models.spectral import GraphDictSpectral

__all__ = [
    "GraphDictExact",
    "GraphDictHier",
    "GraphDictLog",
    "GraphDictMarginal",
    "GraphDictSpectral",
    "load_model",
]

MODELS: dict[str, type[GraphDictionary]] = {
    model.__name__: model
    for model in (GraphDictLog, GraphDictSpectral, GraphDictExact, GraphDictHier, GraphDictMarginal)
}


def load_model(path: str | os.PathLike) -> GraphDictionary:
    """Read a model written by its ``save`` method."""
    return persistence.load(path, MODELS)
