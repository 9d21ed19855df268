"""What is public and lacks a type, by pyright: run by `make lint`.

Pyright takes every module for public. Here it is what docs/api.md lists, with what that refers to.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def public_names() -> list[tuple[str, str]]:
    """Module and name of everything that docs/api.md lists."""
    module, names = "", []
    for line in (ROOT / "docs/api.md").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   (\w+)$", line):
            names.append((module, found[1]))
    return names


def symbols() -> list[dict] | None:
    """What pyright knows of all symbols; None where it cannot be had, as without a network."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    command = [
        sys.executable, "-m", "pyright", "--pythonpath", sys.executable,
        "--verifytypes", "graphdict", "--ignoreexternal", "--outputjson",
    ]  # fmt: skip
    try:
        run = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        return json.loads(run.stdout)["typeCompleteness"]["symbols"]
    except (json.JSONDecodeError, subprocess.TimeoutExpired):
        return None


def public(found: list[dict]) -> Iterator[dict]:
    """The symbols that are public: the names of docs/api.md and their members."""
    wanted = {f"{module}.{name}" for module, name in public_names()}
    own = {s["name"] for s in found if wanted & {s["name"], *s.get("alternateNames", ())}}
    for symbol in found:
        if symbol["name"] in own or symbol["name"].rpartition(".")[0] in own:
            yield symbol


def main() -> int:
    found = symbols()
    if found is None:
        print("pyright could not be run (it is downloaded when first used): not checked")
        return 0
    checked = list(public(found))
    lacking = [symbol for symbol in checked if not symbol["isTypeKnown"]]
    for symbol in lacking:
        messages = [" ".join(d["message"].split()) for d in symbol["diagnostics"]]
        print(f"{symbol['name']}: {'; '.join(messages) or 'part of its type is unknown'}")
    print(f"pyright: {len(checked) - len(lacking)} of {len(checked)} public symbols have types")
    return 1 if lacking or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
