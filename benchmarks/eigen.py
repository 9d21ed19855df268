"""Our small dense kernels in C++ beside those of Eigen, a header library.

    python benchmarks/eigen.py FOLDER

Needs nanobind and g++. FOLDER holds Eigen's headers (``/usr/include/eigen3`` where Debian's
libeigen3-dev is installed). Prints microseconds of CPU for one matrix in double precision, the
least of 200 turns, and the ratio Eigen / graphdict: above one, ours is faster.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import nanobind

HERE = Path(__file__).parent
FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-DNDEBUG",
         "-fvisibility=hidden"]  # fmt: skip
WIDE = ["-mavx2", "-mfma", "-mbmi2"]
ROWS = {
    "Cholesky": (8, 16, 32, 64),
    "Cholesky, many": (8, 16, 32, 64),
    "inverse": (8, 16, 32, 64),
    "symmetric product": (8, 16, 32, 64),
    "largest eigenvalue": (3, 5, 8, 32),
}


def build(eigen: str, folder: str):
    """Compile eigen.cpp and import it."""
    binding = Path(nanobind.source_dir())
    paths = [eigen, nanobind.include_dir(), binding.parent / "ext" / "robin_map" / "include"]
    paths += [sysconfig.get_path("include"), HERE.parent / "src" / "graphdict" / "native"]
    target = f"{folder}/eigen_times{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = ["g++", "-shared", "-fPIC", *FLAGS, *WIDE, *(f"-I{path}" for path in paths)]
    sources = [HERE / "eigen.cpp", binding / "nb_combined.cpp"]
    subprocess.run([*command, *map(str, sources), "-o", target], check=True)
    spec = importlib.util.spec_from_file_location("eigen_times", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="Eigen's headers")
    with tempfile.TemporaryDirectory() as folder:
        compare = build(parser.parse_args().folder, folder).compare
        print(f"{'what':20} {'N':>4} {'graphdict':>10} {'Eigen':>10} {'ratio':>7}")
        for what, sizes in ROWS.items():
            for n in sizes:
                ours, theirs = compare(what, n)
                print(f"{what:20} {n:4} {ours:10.3f} {theirs:10.3f} {theirs / ours:7.2f}")


if __name__ == "__main__":
    main()
