"""Warnings and errors with classes of their own, so that callers can catch them by kind."""

import sys
import warnings

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
    "ModelFileError",
    "NotEnoughMemoryError",
    "SilentNodeWarning",
    "VersionWarning",
    "warn",
]


def warn(message: str | Warning, category: type[Warning]) -> None:
    """Warn about the line outside this package that led here."""
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
    """An atom has no edges left, or no sample uses it."""


class InterruptedFitWarning(GraphDictWarning):
    """A fit was interrupted and returns the best iterate so far."""


class LevelWarning(GraphDictWarning):
    """Nodes differ more in their levels than they vary: graphs will join nodes of like level."""


class MemoryForecastWarning(GraphDictWarning):
    """A fit may not find the memory it needs; the message says what would need less."""


class VersionWarning(GraphDictWarning):
    """A pickled model is of another version of this package, which may mean other things by it."""


class NotEnoughMemoryError(MemoryError):
    """A fit needs more memory than there is; raised before it begins."""


class ModelFileError(ValueError):
    """A file that cannot be loaded as a model: damaged, of another kind, or of another version."""


class CheckpointError(ValueError):
    """A checkpoint that a fit cannot go on from: damaged, or of other data or settings."""


class ClusterError(RuntimeError):
    """A Dask cluster that cannot run a fit, or that lost one."""
