"""The direction of imports: stated in pyproject.toml, held here."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graphdict

ROOT = Path(__file__).parents[1]
KNOWN = {"models", "baselines", "results", "metrics", "datasets", "eeg", "viz"}
KNOWN |= {"studies", "selection", "related"}


def lint_imports(folder):
    """Check the imports of the package in a folder, in a process: it switches loggers off."""
    code = (
        "import sys; sys.path.insert(0, 'src'); "
        # An editable install has a finder of its own, which comes before any path.
        "sys.meta_path = [f for f in sys.meta_path if 'Redirecting' not in type(f).__name__]; "
        "from importlinter.cli import lint_imports; "
        "sys.exit(lint_imports(config_filename='pyproject.toml', no_cache=True))"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


def test_imports_point_one_way():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("graphdict.core.graphs", "graphdict.engine.executor"),
        ("graphdict.core.terms.atoms", "graphdict.core.problem"),
        ("graphdict.models.log", "graphdict.operators"),
    ],
)
def test_a_wrong_arrow_is_found(tmp_path, module, imported):
    """No contract is vacuous: a copy with an import that it forbids breaks it."""
    package = tmp_path / "src" / "graphdict"
    ignored = shutil.ignore_patterns("*.so", "*.hpp", "*.cpp", "__pycache__", "assets")
    shutil.copytree(ROOT / "src" / "graphdict", package, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (package.parent / (module.replace(".", "/") + ".py")).open("a") as file:
        file.write(f"\nimport {imported}\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1
    assert f"{module} -> {imported}" in done.stdout


def test_the_package_has_few_entries():
    entries = {path.stem for path in (ROOT / "src" / "graphdict").iterdir()} - {"__pycache__"}
    assert len(entries - KNOWN) <= 12


def test_only_what_is_public_is_shown():
    shown = dir(graphdict)
    assert "GraphDictLog" in shown
    assert not [name for name in shown if name.startswith("_") and name != "__version__"]
    assert not {"core", "engine", "app", "native"} & set(shown)
    for name in shown:
        assert getattr(graphdict, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        graphdict.nonsense  # noqa: B018


def test_the_map_names_what_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    top = {path.name for path in (ROOT / "src" / "graphdict").iterdir()}
    named = {
        name for name in re.findall(r"`([\w/]+(?:\.pyi?|/))`", text) if name.split("/")[0] in top
    }
    assert len(named) > 40
    missing = {name for name in named if not (ROOT / "src" / "graphdict" / name).exists()}
    assert not missing
