"""The page "What you can rely on" names tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rely.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), NAMED, ids=lambda part: part.split("/")[-1])
def test_every_named_test_exists(path, name):
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_promise_names_a_test():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith(("| promise", "| ---"))]
    assert len(promises) > 20
    assert all("::test_" in row for row in promises)


def test_every_warning_and_error_is_described():
    tree = ast.parse((ROOT / "src" / "graphdict" / "exceptions.py").read_text())
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert classes <= set(re.findall(r"`(\w+?)s?`", PAGE)) | {"ClusterError"}
