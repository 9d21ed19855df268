"""Print the oldest versions that ``pyproject.toml`` admits, as constraints for pip.

    python tools/oldest.py > oldest.txt && pip install --constraint oldest.txt --editable ".[test]"

What only checks or documents the project (the extras ``test`` and ``docs``) is left free.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

FREE = ("docs", "test")


def main() -> None:
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    listed = [
        *project["dependencies"],
        *(one for name in extras if name not in FREE for one in extras[name]),
    ]
    bounds = {}
    for requirement in listed:
        found = re.match(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)$", requirement)
        if found and found[1] != "graphdict":
            bounds[found[1]] = found[2]
    for name, bound in sorted(bounds.items()):
        print(f"{name}=={bound}.*" if bound.count(".") < 2 else f"{name}=={bound}")


if __name__ == "__main__":
    main()
