"""Warnings and errors with classes of their own, so that callers can catch them by kind."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from types import ModuleType

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "CheckpointError",
    "ClusterError",
    "ConvergenceWarning",
    "DeadAtomWarning",
    "GraphDictWarning",
    "InterruptedFitWarning",
    "LevelWarning",
    "MemoryForecastWarning",
    "MissingExtraError",
    "MissingNodeWarning",
    "ModelFileError",
    "NotEnoughMemoryError",
    "SilentNodeWarning",
    "VersionWarning",
]


def warn(message: str | Warning, category: type[Warning]) -> None:
    """Warn about the line outside this package that led here.

    Parameters
    ----------
    message : str or Warning
    category : type
        The class of the warning.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    """Whether it is of this package, or what its decorators are made of."""
    return module.partition(".")[0] in ("graphdict", "contextlib")


class GraphDictWarning(UserWarning):
    """Base class of the warnings of this package (``ConvergenceWarning`` is scikit-learn's)."""


class SilentNodeWarning(GraphDictWarning):
    """A node never varies, so nothing can be said about its edges."""


class DeadAtomWarning(GraphDictWarning):
    """An atom has no edges left, no sample uses it, or it is the same graph as another."""


class InterruptedFitWarning(GraphDictWarning):
    """A fit was interrupted and returns the best iterate so far."""


class LevelWarning(GraphDictWarning):
    """Nodes differ more in their levels than they vary: graphs will join nodes of like level."""


class MemoryForecastWarning(GraphDictWarning):
    """A fit may not find the memory it needs; the message says what would need less."""


class MissingNodeWarning(GraphDictWarning):
    """Recordings lack nodes that others have, which are missing values there."""


class VersionWarning(GraphDictWarning):
    """A pickled model is of another version of this package, which may mean other things by it."""


class NotEnoughMemoryError(MemoryError):
    """A fit needs more memory than there is; raised before it begins."""


class MissingExtraError(ImportError):
    """Raised for what needs a package that is not installed.

    Parameters
    ----------
    what : str
        What was asked for, such as ``"a Parquet file"``.
    package : str
        The missing package.
    extra : str
        The extra of graphdict that installs it.
    """

    def __init__(self, what: str, package: str, extra: str):
        super().__init__(
            f"{what} needs {package}, which is not installed: "
            f'pip install {package}, or pip install "graphdict[{extra}]"'
        )


def import_extra(
    package: str, what: str, extra: str, distribution: str | None = None
) -> ModuleType:
    """Return a module of a package that an extra installs.

    Parameters
    ----------
    package : str
        The module to import.
    what : str
        What needs it, such as ``"a Parquet file"``.
    extra : str
        The extra of graphdict that installs it.
    distribution : str, optional
        What installs it, where that has another name.

    Returns
    -------
    module

    Raises
    ------
    MissingExtraError
        If it is not installed; the arguments are told there.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        root = package.partition(".")[0]
        if error.name not in (package, root):
            raise  # it is there, and lacks something itself
        raise MissingExtraError(what, distribution or root, extra) from None


class ModelFileError(ValueError):
    """A file that cannot be loaded as a model: damaged, of another kind, or of another version."""


class CheckpointError(ValueError):
    """A checkpoint that a fit cannot go on from: damaged, or of other data or settings."""


class ClusterError(RuntimeError):
    """A Dask cluster that cannot run a fit, or that lost one."""


def __dir__() -> list[str]:
    return sorted(__all__)
