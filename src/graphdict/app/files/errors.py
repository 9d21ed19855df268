"""Errors of reading and writing files."""

from __future__ import annotations

__all__ = ["InputError", "MissingExtraError", "first_line"]


class InputError(ValueError):
    """Raised for a file that cannot be read, or whose content cannot be used as signals."""


class MissingExtraError(ImportError):
    """Raised for a file format that needs a package which is not installed.

    Parameters
    ----------
    what : str
        What was to be read or written, such as ``"a Parquet file"``.
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


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class name where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
