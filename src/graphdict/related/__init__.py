"""Dictionaries for graphs that are given, for views of one graph, for nodes that do not match."""

from __future__ import annotations

from graphdict.related.consensus import ConsensusGraphs
from graphdict.related.factors import GraphFactors
from graphdict.related.transport import GromovWassersteinDictionary

__all__ = ["ConsensusGraphs", "GraphFactors", "GromovWassersteinDictionary"]


def __dir__() -> list[str]:
    return sorted(__all__)
