"""Links that lead out of this folder: pages read on their own and in the repository alike."""

from __future__ import annotations

import re
from typing import Any

PAGES = {"../CONTRIBUTING.md": "layout.md", "../CHANGELOG.md": "changelog.md"}
OUTSIDE = re.compile(r"\]\((\.\./[^)#]+\.md)\)")
EXAMPLE = re.compile(r"\]\(\.\./examples/(\w+)\.py\)")


def follow(text: str) -> str:
    """Examples lead to the gallery; Markdown files to their page, or else become downloads."""
    text = EXAMPLE.sub(r"](gallery/\1.rst)", text)
    return OUTSIDE.sub(lambda link: f"]({PAGES.get(link[1], 'path:' + link[1])})", text)


def _on_source(app: Any, name: str, source: list[str]) -> None:
    source[0] = follow(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Before the page is parsed."""
    app.connect("source-read", _on_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
