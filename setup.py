"""The compiled part, built once for any processor and once for those with wide registers.

With ``GRAPHDICT_SANITIZE`` set, as ``make sanitize`` does, errors in memory, undefined behaviour
and indices beyond an array end the process with a report.
"""

import os
import platform
from pathlib import Path

from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

FOLDER = Path("src/graphdict/native")
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-Wall", "-Wextra"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
CHECKS = ["-O1", "-g", "-D_GLIBCXX_ASSERTIONS", "-DGRAPHDICT_ASSERT_BOUNDS"]
sanitized = "GRAPHDICT_SANITIZE" in os.environ
# The names of the modules, and what the compiler may assume about the processor.
KINDS = {"_portable": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    KINDS["_x86_64_v3"] = ["-mavx2", "-mfma", "-mbmi2"]

setup(
    options={"build_ext": {"parallel": len(KINDS)}},
    ext_modules=[
        Pybind11Extension(
            f"graphdict.native.{name}",
            [str(FOLDER / f"{name}.cpp")],
            depends=[str(path) for path in FOLDER.glob("*.hpp")],
            extra_compile_args=FLAGS + flags + (SANITIZE + CHECKS if sanitized else []),
            extra_link_args=SANITIZE if sanitized else [],
            cxx_std=17,
        )
        for name, flags in KINDS.items()
    ],
)
