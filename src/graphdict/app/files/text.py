"""Open text files: decompression, byte order marks, encodings."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from graphdict.app.files.archives import BoundedReader
from graphdict.app.files.errors import InputError, first_line

SAMPLE = 1 << 16
MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
COMPRESSED: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed by gzip, bzip2 or xz."""
    return _opener(path) is not open


def _opener(path: Path) -> Any:
    with open(path, "rb") as file:
        start = file.read(8)
    return next((opener for mark, opener in COMPRESSED if start.startswith(mark)), open)


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file as bytes, decompressed where it is compressed (gz, bz2, xz).

    Raises InputError for compressed data that are damaged or unpack to an absurd size.
    """
    opener = _opener(path)
    try:
        with opener(path, "rb") as file:
            packed = path.stat().st_size
            yield file if opener is open else io.BufferedReader(BoundedReader(file, packed))
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"is damaged: {first_line(error)}") from None
    except OSError as error:
        if opener is open or error.errno is not None:
            raise
        raise InputError(f"is damaged: {first_line(error)}") from None  # as bz2 says it


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """Open a file as text without changing its line ends."""
    with open_bytes(path) as file, io.TextIOWrapper(file, encoding=encoding, newline="") as text:
        yield text


def detect_encoding(path: Path, given: str | None = None) -> tuple[str, list[str]]:
    """Return the encoding of a text file, and notes on how it was found.

    A byte order mark decides; otherwise UTF-16 where every other byte is zero, UTF-8 where the
    whole file decodes, else Windows-1252, in which nearly every byte is a letter.
    """
    with open_bytes(path) as file:
        start = file.read(SAMPLE)
    if given is not None:
        _check(path, given)
        return ("utf-8-sig" if given.lower() in ("utf-8", "utf8") else given), []
    for mark, name in MARKS:
        if start.startswith(mark):
            _check(path, name)
            found = "UTF-8" if name == "utf-8-sig" else name.upper()
            return name, [f"the file starts with a byte order mark: read as {found}"]
    if b"\0" in start:
        even, odd = start[::2].count(0), start[1::2].count(0)
        if max(even, odd) < 0.3 * len(start) / 2 or min(even, odd) > 0.01 * len(start):
            raise InputError("is not a table: it holds binary data")
        name = "utf-16-be" if even > odd else "utf-16-le"
        _check(path, name)
        return name, [f"read as {name.upper()}: every other byte is zero"]
    if _fault(path, "utf-8") is None:
        return "utf-8", []
    if sum(byte < 9 or 13 < byte < 32 for byte in start) > 0.02 * len(start):
        raise InputError("is not a table: it holds binary data")
    return "cp1252", ["the file is not UTF-8: read as Windows-1252 (encoding=... names another)"]


def _check(path: Path, encoding: str) -> None:
    """Raise InputError unless the encoding decodes the whole file."""
    if (fault := _fault(path, encoding)) is not None:
        raise InputError(fault)


def _fault(path: Path, encoding: str) -> str | None:
    """Return why an encoding does not decode a file, None where it does."""
    try:
        with open_text(path, encoding) as text:
            while text.read(1 << 22):
                pass
    except LookupError:
        return f"cannot be read: {encoding!r} is not an encoding that Python knows"
    except UnicodeError as error:
        return f"is not {encoding.upper()} text: {error}"
    return None
