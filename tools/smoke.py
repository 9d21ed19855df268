"""Try an installed graphdict: every compiled module, every model, a file, an error that helps."""

from __future__ import annotations

import sys
import tempfile
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import graphdict
from graphdict import native
from graphdict.datasets import make_superposition


def main() -> None:
    warnings.simplefilter("ignore", graphdict.exceptions.ConvergenceWarning)
    modules = [
        name for name in ("_portable", "_x86_64_v3") if find_spec(f"graphdict.native.{name}")
    ]
    for name in modules:
        if name == "_portable" or native.compiled.has_wide_registers():
            check_roots(import_module(f"graphdict.native.{name}"))

    data = make_superposition(
        n_atoms=2, n_nodes=8, superposition=1, samples_per_graph=30, random_state=0
    )
    signals = data.train.signals
    for name in ("GraphDictLog", "GraphDictExact", "GraphDictMarginal"):
        model = getattr(graphdict, name)(2, random_state=0).fit(signals)
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.graphdict")
            again = graphdict.load_model(Path(folder) / "model.graphdict")
        np.testing.assert_array_equal(again.transform(signals), model.transform(signals))
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(
        f"graphdict {graphdict.__version__}, Python {sys.version.split()[0]}: "
        f"{' and '.join(modules)}, {'with' if gil else 'without'} a lock"
    )


def check_roots(module: object) -> None:
    """Compare one compiled function with its formula."""
    x, found = np.linspace(-3, 3, 50), np.empty(50)
    module.positive_root(x, 0.5, found)  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, (x + np.sqrt(x**2 + 2)) / 2)


if __name__ == "__main__":
    main()
