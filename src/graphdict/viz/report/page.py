"""Assemble template, styles, scripts and content into one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["assemble"]

SCRIPTS = ("data.js", "draw.js", "graph.js", "moments.js", "timeline.js", "mix.js", "atoms.js",
           "about.js", "tables.js", "main.js")  # fmt: skip


def assemble(content: dict[str, Any]) -> str:
    """Return the HTML of the report with this content."""
    assets = files(__package__) / "assets"
    library = drawing_library()
    parts = [(assets / name).read_text(encoding="utf-8") for name in SCRIPTS]
    program = "(function () {\n'use strict';\n" + "\n".join(parts) + "})();\n"
    fields = {
        "title": html.escape(content["title"]),
        "policy": _policy(library, program),
        "style": (assets / "style.css").read_text(encoding="utf-8"),
        "content": in_script(content),
        "library": library,
        "program": program,
    }
    page = (assets / "page.html").read_text(encoding="utf-8")
    pieces = page.split("%%")  # text, field, text, field, ... so that no content is searched
    return "".join(fields[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def in_script(content: Any) -> str:
    """Return JSON with the signs escaped that HTML would take for markup."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def drawing_library() -> str:
    """Return the source of the newest D3 that mpld3 installs, without importing mpld3."""
    spec = find_spec("mpld3")
    found = []
    if spec is not None and spec.origin is not None:
        found = list((Path(spec.origin).parent / "js").glob("d3.v*.min.js"))
    if not found:
        raise ModuleNotFoundError(
            "the report is drawn by D3, which the package mpld3 brings: pip install mpld3"
        )
    newest = max(found, key=lambda file: int(file.name.split(".")[1].removeprefix("v")))
    return newest.read_text(encoding="utf-8").replace("</script", "<\\/script")


def _policy(*scripts: str) -> str:
    """Return a content security policy that allows these scripts only, and no network."""
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
