"""Which code makes results: a digest of everything that they depend on."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import graphdict

SOURCES = (".py", ".hpp", ".cpp")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# What reads files, draws pages and talks to users leaves no trace in results.
WITHOUT = ("app/commands", "app/files", "viz")


@cache
def code_digest() -> str:
    """Return a digest of the sources of this package that decide what experiments give.

    Docstrings and lines that are empty or a comment decide nothing, and may change.
    """
    root = Path(graphdict.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix in SOURCES and not name.startswith(WITHOUT):
            content = essential(path.read_text(encoding="utf-8"), path.suffix == ".py").encode()
            found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]


def essential(source: str, python: bool) -> str:
    """Return the lines of a source in Python or C++ without docstrings, comments and empty lines.

    A comment behind code stays.
    """
    lines: list[str] = source.splitlines()
    for node in ast.walk(ast.parse(source)) if python else ():
        body = getattr(node, "body", None)
        if not isinstance(node, DOCUMENTED) or not body or ast.get_docstring(node) is None:
            continue
        first = body[0]
        if first.lineno == getattr(node, "lineno", 0):  # behind what it belongs to
            continue
        lines[first.lineno - 1 : first.end_lineno] = [""] * (first.end_lineno - first.lineno + 1)
    comment = "#" if python else "//"
    kept = (line for line in lines if line.strip() and not line.strip().startswith(comment))
    return "\n".join(kept)
