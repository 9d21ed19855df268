"""The algorithms on anybody's terms and operators."""

from graphdict.core.solvers import *  # noqa: F403
from graphdict.core.solvers import __all__ as __all__
