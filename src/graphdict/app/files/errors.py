"""Errors of reading and writing files."""

from __future__ import annotations

from graphdict.exceptions import MissingExtraError

__all__ = ["InputError", "MissingExtraError", "first_line"]


class InputError(ValueError):
    """Raised for a file that cannot be read, or whose content cannot be used as signals."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class name where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
