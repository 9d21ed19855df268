"""Files that appear whole or not at all: written beside their place, then moved in one step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_file", "write_atomically"]


@contextmanager
def atomic_file(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """An open file whose content takes the place of ``path`` once the block ends without an error.

    A reader finds the old file or the new one, never half of either, even after a power cut. The
    file has the permissions of the one it replaces, or those of any new file.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {path.parent} does not exist")
    permissions = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        os.close(handle)
        with open(temporary, mode, **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, permissions)  # a temporary file is private, a result is not
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """The whole text or nothing."""
    with atomic_file(path, "w") as file:
        file.write(text)


def _umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
