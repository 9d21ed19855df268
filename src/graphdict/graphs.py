"""Graphs as vectors of edge weights, and the matrices they stand for."""

from graphdict.core.graphs import *  # noqa: F403
from graphdict.core.graphs import __all__ as __all__
