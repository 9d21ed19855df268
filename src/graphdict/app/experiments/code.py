"""Which code makes results: a digest of everything that they depend on."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import graphdict

__all__ = ["code_digest"]

SOURCES = (".py", ".hpp", ".cpp")
# What reads files, draws pages and talks to users leaves no trace in results.
WITHOUT = ("app/commands", "app/files", "viz")


@cache
def code_digest() -> str:
    """Return a digest of the sources of this package that decide what experiments give."""
    root = Path(graphdict.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix in SOURCES and not name.startswith(WITHOUT):
            content = path.read_bytes()
            found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]
