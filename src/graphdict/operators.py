"""Bilinear maps from coefficients and atoms to what a likelihood sees of each graph."""

from graphdict.core.operators import *  # noqa: F403
from graphdict.core.operators import __all__ as __all__
