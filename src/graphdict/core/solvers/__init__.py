"""Given a problem, iterate: BiPDS on any terms, MM where it applies, Newton for coefficients."""

from graphdict.core.problem import Problem, TermGroup
from graphdict.core.solvers.base import History, Progress, Solution
from graphdict.core.solvers.bipds import bipds
from graphdict.core.solvers.coding import code
from graphdict.core.solvers.mm import mm

__all__ = ["History", "Problem", "Progress", "Solution", "TermGroup", "bipds", "code", "mm"]
