"""Earlier names of arguments and attributes, which still work and warn."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from graphdict.exceptions import warn

Class = TypeVar("Class", bound=type)


def renamed(old: str, new: str) -> Callable[[Class], Class]:
    """Return a class decorator for what is now called ``new`` and was called ``old``.

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

        def read(self: Any) -> object:
            warn(message, FutureWarning)
            return getattr(self, new)

        setattr(cls, "__init__", initialise_by_either)  # noqa: B010
        setattr(cls, old, property(read, doc=f"Earlier name of ``{new}``."))
        return cls

    return decorate
