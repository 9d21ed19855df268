"""Earlier names of arguments and attributes, which still work and warn."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphdict.exceptions import warn

__all__ = ["renamed"]

Class = TypeVar("Class", bound=type)


def renamed(old: str, new: str) -> Callable[[Class], Class]:
    """Return a class decorator for an integer array ``new`` that was called ``old``.

    The class then accepts the keyword argument ``old`` and has an attribute ``old``, both with a
    FutureWarning.
    """

    def decorate(cls: Class) -> Class:
        initialise: Callable[..., None] = getattr(cls, "__init__")  # noqa: B009
        message = f"{old} of {cls.__name__} is now called {new}; the old name will be removed"

        @wraps(initialise)
        def initialise_by_either(self: Any, *args: Any, **kwargs: Any) -> None:
            if old in kwargs:
                warn(message, FutureWarning)
                kwargs[new] = kwargs.pop(old)
            initialise(self, *args, **kwargs)

        def read(self: Any) -> NDArray[np.intp]:
            warn(message, FutureWarning)
            found: NDArray[np.intp] = getattr(self, new)
            return found

        setattr(cls, "__init__", initialise_by_either)  # noqa: B010
        setattr(cls, old, property(read, doc=f"Earlier name of ``{new}``."))
        return cls

    return decorate
