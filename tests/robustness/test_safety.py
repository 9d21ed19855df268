"""The source tree itself: no eval, no pickle, no shell, private files, declared imports."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from graphdict import GraphDictLog
from graphdict.engine.logs import printable

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
CALLS = {"eval", "exec", "compile", "__import__"}
MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "xmlrpc", "telnetlib"}
NAMES = {  # of distributions whose modules have other names
    "scikit-learn": "sklearn", "pyyaml": "yaml",
}  # fmt: skip


def trees():
    return [(path, ast.parse(path.read_text())) for path in SOURCES]


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def test_nothing_is_evaluated_unpickled_or_given_to_a_shell():
    for path, tree in trees():
        assert not MODULES & set(imported(tree)), path
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", None)
            assert name not in CALLS, f"{path}:{node.lineno}"
            full = ast.unparse(node.func)
            assert full not in ("os.system", "os.popen", "np.fromfile"), f"{path}:{node.lineno}"
            for keyword in node.keywords:
                wrong = keyword.arg in ("shell", "allow_pickle") and (
                    getattr(keyword.value, "value", True) is not False
                )
                assert not wrong, f"{path}:{node.lineno}"
            if full in ("np.load", "numpy.load"):
                given = {keyword.arg for keyword in node.keywords}
                assert given & {"allow_pickle", "mmap_mode"}, f"{path}:{node.lineno}"


def test_temporary_files_are_private():
    """They come from tempfile, which makes them for their owner alone, never from a guess."""
    for path, tree in trees():
        text = path.read_text()
        assert "mktemp(" not in text.replace("mkstemp(", ""), path
        assert not re.search(r"[\"']/tmp", text), path
        del tree


def test_what_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.split(r"[\s<>=!\[;~]", item)[0].lower() for group in groups for item in group}
    modules = {NAMES.get(name, name).replace("-", "_") for name in declared} | {"graphdict"}
    # Other packages are compared with in environments of their own, which the module beside makes.
    own = ROOT / "src" / "graphdict" / "app" / "experiments" / "real" / "peers.py"
    used = {name for path, tree in trees() if path != own for name in imported(tree)}
    unknown = used - modules - set(sys.stdlib_module_names) - {"IPython"}
    assert not unknown, f"imported but not declared: {sorted(unknown)}"


def test_importing_loads_nothing_optional():
    code = (
        "import sys, graphdict, graphdict.baselines;"
        "bad = [m for m in ('mne', 'dask', 'distributed', 'zarr', 'plotly', 'matplotlib')"
        " if m in sys.modules]; assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_declared_lower_bounds_hold_here():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for item in project["dependencies"]:
        name, bound = item.split(">=")
        found = importlib.metadata.version(name)
        numbers = [tuple(int(p) for p in re.findall(r"\d+", text)[:2]) for text in (found, bound)]
        assert numbers[0] >= numbers[1], item


def test_installed_packages_fit_each_other():
    """What an audit can say without a network: no requirement of an installed package is broken."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    broken = [line for line in done.stdout.splitlines() if line.startswith("graphdict ")]
    assert not broken, broken


def test_text_from_outside_cannot_steer_a_terminal():
    assert printable("a\x1b[31mred\nnext\u202e") == "a\\x1b[31mred\\nnext\\u202e"
    assert printable("Fz, näse") == "Fz, näse"


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.LevelWarning")
def test_warnings_and_errors_escape_names():
    import pandas as pd

    frame = pd.DataFrame(
        np.random.default_rng(0).standard_normal((9, 3)), columns=["a", "\x1b[2J", "c"]
    )
    frame["\x1b[2J"] = 1.0
    with pytest.warns(UserWarning, match="never vary") as caught:
        GraphDictLog(1, max_iter=2).fit(frame)
    assert all(str(warning.message).isprintable() for warning in caught)
    frame["\x1b[2J"] = np.inf
    with pytest.raises(ValueError, match="infinity") as refused:
        GraphDictLog(1, max_iter=2).fit(frame)
    assert str(refused.value).isprintable()
