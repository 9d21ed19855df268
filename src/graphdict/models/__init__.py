"""Graph dictionaries as scikit-learn estimators."""

from __future__ import annotations

from graphdict.core.annotations import StrPath
from graphdict.engine.storage import model_files
from graphdict.models.base import GraphDictionary
from graphdict.models.custom import GraphDict
from graphdict.models.exact import GraphDictExact
from graphdict.models.hier import GraphDictHier
from graphdict.models.log import GraphDictLog
from graphdict.models.marginal import GraphDictMarginal
from graphdict.models.relaxed import GraphDictSpectralRelaxed
from graphdict.models.spectral import GraphDictSpectral

__all__ = [
    "GraphDict",
    "GraphDictExact",
    "GraphDictHier",
    "GraphDictLog",
    "GraphDictMarginal",
    "GraphDictSpectral",
    "GraphDictSpectralRelaxed",
    "load_model",
]

MODELS: dict[str, type[GraphDictionary]] = {
    model.__name__: model
    for model in (
        GraphDict,
        GraphDictLog,
        GraphDictSpectral,
        GraphDictSpectralRelaxed,
        GraphDictExact,
        GraphDictHier,
        GraphDictMarginal,
    )
}


def load_model(path: StrPath) -> GraphDictionary:
    """Read a model written by its ``save`` method.

    Parameters
    ----------
    path : path
        A file; nothing in it is executed.

    Returns
    -------
    a fitted dictionary
        Of the class that was saved.
    """
    result: GraphDictionary = model_files.load(path, MODELS)
    return result


def __dir__() -> list[str]:
    return sorted(__all__)
