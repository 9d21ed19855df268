"""Files that appear whole or not at all: written beside their place, then moved in one step."""

from __future__ import annotations

import glob
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_file(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file whose content takes the place of ``path`` once the block ends without an error.

    A reader finds the old file or the new one, never half of either, even after a power cut. The
    file has the permissions of the one it replaces, or those of any new file.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {path.parent} does not exist")
    permissions = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    remove_orphans(path.parent, path.name)
    prefix = temporary_prefix(path.name)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix)
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


def temporary_prefix(name: str) -> str:
    """Return the prefix of this process's temporary files that are to become ``name``."""
    return f".{name}.{_host()}-{os.getpid()}-"


def remove_orphans(folder: Path, name: str) -> None:
    """Remove temporary files and folders that killed processes of this machine left behind.

    They are known by their names, which begin with :func:`temporary_prefix`.
    """
    if os.name != "posix":  # elsewhere there is no harmless way to ask for a process
        return
    pattern = re.compile(rf"\.{re.escape(name)}\.{re.escape(_host())}-(\d+)-[a-z0-9_]+")
    for path in folder.glob(f".{glob.escape(name)}.*"):
        found = pattern.fullmatch(path.name)
        if found is None or _alive(int(found[1])):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # of somebody else; no process at all
        pass
    return True


def _host() -> str:
    """Return the name of this machine, in letters that file names have."""
    return re.sub(r"[^A-Za-z0-9]", "", platform.node())[:32] or "here"


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write the whole text or nothing."""
    with atomic_file(path, "w") as file:
        file.write(text)


def _umask() -> int:
    """Return the permissions that new files of this process do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
