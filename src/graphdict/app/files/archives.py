"""Refuse compressed files that unpack to absurd sizes, before or while they are unpacked."""

from __future__ import annotations

import io
import zipfile
from typing import IO, Any

from graphdict.app.files.errors import InputError

MOST_RATIO = 200  # of unpacked to packed bytes; tables of numbers reach about 50
ALWAYS = 1 << 27  # unpacked bytes that are allowed at any ratio


def _refuse(unpacked: int, packed: int) -> None:
    """Raise InputError where so many bytes come out of so few."""
    if unpacked > ALWAYS and unpacked > MOST_RATIO * packed:
        raise InputError(
            f"unpacks to more than {MOST_RATIO} times its size, as archives made to do harm do; if "
            "it is what you expect, unpack it first"
        )


def check_sizes(archive: zipfile.ZipFile) -> None:
    """Raise InputError where a ZIP archive says that its members unpack to absurd sizes."""
    members = archive.infolist()
    _refuse(sum(m.file_size for m in members), sum(m.compress_size for m in members))


class BoundedReader(io.RawIOBase):
    """A file of decompressed bytes that raises InputError where too many come out of it."""

    def __init__(self, file: IO[bytes], packed: int):
        self._file, self._packed, self._passed = file, packed, 0

    def readable(self) -> bool:
        """Return true: the file can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next bytes; return how many there were."""
        some = self._file.read(len(buffer))
        self._passed += len(some)
        _refuse(self._passed, self._packed)
        buffer[: len(some)] = some
        return len(some)
