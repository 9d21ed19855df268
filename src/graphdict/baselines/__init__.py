"""Methods to compare graph dictionaries with, behind the same interface."""

from graphdict.baselines.gaussian import GaussianMixtureGraphs
from graphdict.baselines.glmm import GLMM
from graphdict.baselines.kgraphs import KGraphs
from graphdict.baselines.log import LogModel
from graphdict.baselines.tgfa import TGFA
from graphdict.baselines.window import WindowLogModel

__all__ = ["GLMM", "TGFA", "GaussianMixtureGraphs", "KGraphs", "LogModel", "WindowLogModel"]


def __dir__() -> list[str]:
    return sorted(__all__)
