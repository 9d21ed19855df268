"""Scripts beside the package import what there is."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = "benchmarks", "docs", "examples", "results", "tests", "tools"
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def imported(tree):
    """Yield the modules of graphdict that a script imports from, and the names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "graphdict":
            for alias in node.names:
                yield node.module, alias.name


def exists(module, name):
    found = importlib.import_module(module)
    if hasattr(found, name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_is_there(path):
    missing = [each for each in imported(ast.parse(path.read_text())) if not exists(*each)]
    assert not missing
