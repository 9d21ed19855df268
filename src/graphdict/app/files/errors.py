"""What can be wrong with a file, each an error that one line explains."""

from __future__ import annotations

__all__ = ["InputError", "MissingExtraError"]


class InputError(ValueError):
    """A file that cannot be read, or whose content cannot be used as signals."""


class MissingExtraError(ImportError):
    """A kind of file that needs a package which is not installed."""

    def __init__(self, what: str, package: str, extra: str):
        super().__init__(
            f"{what} needs {package}, which is not installed: "
            f'pip install {package}, or pip install "graphdict[{extra}]"'
        )
