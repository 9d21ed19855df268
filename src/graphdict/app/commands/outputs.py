"""Write result files all together or not at all, and never overwrite without --force."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from graphdict.app.commands.console import OutputExists
from graphdict.engine.storage.atomic import remove_orphans, temporary_prefix

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def check_free(paths: Sequence[Path], force: bool) -> None:
    """Raise OutputExists where one of the paths exists, unless ``force``."""
    if force:
        return
    for path in paths:
        if os.path.lexists(path):
            raise OutputExists(
                f"{path} exists already; replace it with --force, or choose another -o"
            )


@contextmanager
def results_in(folder: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder, beside ``folder``, that takes its place or fills it at the end.

    Raises OutputExists where others have written the same files meanwhile, unless ``force``.
    """
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    remove_orphans(parent, "graphdict")
    temporary = Path(tempfile.mkdtemp(dir=parent, prefix=temporary_prefix("graphdict")))
    made = temporary / "results"
    made.mkdir()  # with the usual permissions, unlike the temporary folder
    try:
        yield made
        _publish(made, folder, force)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _publish(made: Path, folder: Path, force: bool) -> None:
    """Rename a folder of results, or move its files to a folder that exists already."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        try:
            os.rename(made, folder)
            return
        except OSError:
            if not folder.is_dir():
                raise
    with _locked(folder):
        files = sorted(made.iterdir())
        check_free([folder / file.name for file in files], force)
        for file in files:
            os.replace(file, folder / file.name)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep others who write results out of a folder, where the platform has such locks."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
