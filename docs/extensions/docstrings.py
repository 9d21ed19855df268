"""Docstrings as an editor shows them: indented formulas are literal blocks, not quotations."""

from __future__ import annotations

from typing import Any

UNDERLINE = set("-")
PLAIN = ("attribute", "property")
_plain: dict[str, list[str]] = {}


def mark_formulas(lines: list[str]) -> list[str]:
    """Put ``::`` before the indented blocks that precede the sections of a docstring."""
    marked: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        underline = line.strip()
        if underline and set(underline) == UNDERLINE:  # a section: what is indented is described
            return marked + lines[number:]
        indented = line.startswith("    ")
        fresh = indented and not inside and marked and not marked[-1].strip()
        if fresh and not marked[-2].rstrip().endswith("::"):
            marked += ["::", ""]
        if line.strip():
            inside = indented
        marked.append(line)
    return marked


def _before_napoleon(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = mark_formulas(lines)
    if what in PLAIN:
        _plain[name] = list(lines)


def _after_napoleon(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Give back what napoleon takes apart at the first colon, as if a type stood before it."""
    if what in PLAIN:
        lines[:] = _plain.pop(name, lines)


def _on_member(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn documents: metadata routing, parameters, output containers."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn") else None


def setup(app: Any) -> dict[str, bool]:
    """Around napoleon, which reads the sections."""
    app.connect("autodoc-process-docstring", _before_napoleon, priority=100)
    app.connect("autodoc-process-docstring", _after_napoleon, priority=900)
    app.connect("autodoc-skip-member", _on_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
