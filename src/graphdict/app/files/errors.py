"""Errors of reading and writing files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphdict.exceptions import MissingExtraError


class InputError(ValueError):
    """Raised for a file that cannot be read, or whose content cannot be used as signals."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, cut to 200 characters; else its class name."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    line = f"it lacks {line}" if isinstance(error, KeyError) else line
    return line if len(line) <= 200 else f"{line[:197]}..."


@contextmanager
def damage_named(what: str) -> Iterator[None]:
    """Turn whatever a reader fails with into an InputError of one line that begins with ``what``.

    Damaged files make readers fail in ways that nobody has listed.
    """
    try:
        yield
    except (InputError, MissingExtraError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the content
        raise InputError(f"{what}: {first_line(error)}") from error
