"""Check the chain of tags of a FIF file, which MNE would follow round in circles for ever."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from graphdict.app.files.errors import InputError

HEADER = struct.Struct(">iIii")  # kind, type, size, position of the next tag
REF_ROLE, FILE_NUMBER, FILE_NAME = 115, 117, 118  # kinds of tags that name another part
ROLE_NEXT = 2  # the part that follows, rather than the one before
MOST = 4096  # bytes of a name


def check_fif(path: Path, before: tuple[Path, ...] = ()) -> None:
    """Raise InputError where tags lead back, beyond the file, or to a file that was read already.

    ``before`` are the parts of the recording that led to this one.
    """
    path = path.resolve()
    if path in before:
        raise InputError(f"is damaged: its part {path.name!r} leads back to itself")
    size = path.stat().st_size
    with open(path, "rb") as file:
        position, role = 0, ROLE_NEXT
        while True:
            file.seek(position)
            header = file.read(HEADER.size)
            if len(header) < HEADER.size:
                return
            kind, _, length, following = HEADER.unpack(header)
            if length < 0 or position + HEADER.size + length > size:
                raise InputError(f"is damaged: a tag at byte {position:,} has {length:,} bytes")
            if kind == REF_ROLE and length == 4:
                role = int.from_bytes(file.read(4), "big")
            if kind in (FILE_NUMBER, FILE_NAME) and 0 < length < MOST and role == ROLE_NEXT:
                _check_next(path, kind, file.read(length), before)
            if following < 0:
                return
            if 0 < following <= position:
                raise InputError(f"is damaged: a tag at byte {position:,} leads back")
            position = following or position + HEADER.size + length


def _check_next(path: Path, kind: int, content: bytes, before: tuple[Path, ...]) -> None:
    """Check the file that a recording in several parts goes on in."""
    if kind == FILE_NAME:
        name = content.split(b"\0")[0].decode("latin-1")
        following = path.parent / name if name else path
    else:
        number = int.from_bytes(content[:4], "big")
        stem, dot, suffix = path.name.partition(".")
        following = path.parent / f"{re.sub(r'-[0-9]+$', '', stem)}-{number}{dot}{suffix}"
    if following.is_file():
        check_fif(following, (*before, path))
