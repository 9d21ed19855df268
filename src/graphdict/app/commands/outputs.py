"""Results that appear all together or not at all, and never replace anything unasked."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphdict.app.commands.console import OutputExists

__all__ = ["check_free", "results_in"]


def check_free(paths: Sequence[Path], force: bool) -> None:
    """Refuse, before any work is done, to replace what exists."""
    if force:
        return
    for path in paths:
        if os.path.lexists(path):
            raise OutputExists(
                f"{path} exists already; replace it with --force, or choose another -o"
            )


@contextmanager
def results_in(folder: Path) -> Iterator[Path]:
    """A folder to write results to, whose files move to ``folder`` when all are there."""
    new = not folder.exists()
    parent = folder if not new else _existing(folder)
    temporary = Path(tempfile.mkdtemp(dir=parent, prefix=".graphdict-"))
    try:
        yield temporary
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(temporary.iterdir()):
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _existing(folder: Path) -> Path:
    """The nearest folder above that exists."""
    for parent in folder.absolute().parents:
        if parent.exists():
            return parent
    return Path.cwd()
