"""Write result files all together or not at all, and never overwrite without --force."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphdict.app.commands.console import OutputExists
from graphdict.engine.storage.atomic import remove_orphans, temporary_prefix

__all__ = ["check_free", "results_in"]


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
def results_in(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files are moved to ``folder`` at the end."""
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    remove_orphans(parent, "graphdict")
    temporary = Path(tempfile.mkdtemp(dir=parent, prefix=temporary_prefix("graphdict")))
    try:
        yield temporary
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(temporary.iterdir()):
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
