"""Given a problem, iterate: BiPDS on any terms, MM where it applies, Newton for coefficients."""

from graphdict.problem import Problem, TermGroup
from graphdict.solvers.base import History, Progress, Solution
from graphdict.solvers.bipds import bipds
from graphdict.solvers.coding import code
from graphdict.solvers.mm import mm

__all__ = ["History", "Problem", "Progress", "Solution", "TermGroup", "bipds", "code", "mm"]
