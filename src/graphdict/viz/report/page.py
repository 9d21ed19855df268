"""Assemble template, styles, scripts and content into one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

SCRIPTS = ("data.js", "draw.js", "graph.js", "recordings.js", "strips.js", "moments.js",
           "timeline.js", "mix.js", "atoms.js", "about.js", "tables.js", "main.js")  # fmt: skip


def assemble(content: dict[str, Any]) -> str:
    """Return the HTML of the report with this content."""
    assets = files(__package__) / "assets"
    library = _drawing_library()
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


def _drawing_library() -> str:
    """Return the source of D3, which draws the page (its licence lies beside it)."""
    source = (files(__package__) / "assets" / "d3.min.js").read_text(encoding="utf-8")
    return source.replace("</script", "<\\/script")


def _policy(*scripts: str) -> str:
    """Return a content security policy that allows these scripts only, and no network."""
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
