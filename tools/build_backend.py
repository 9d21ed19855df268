"""How pip builds graphdict: by scikit-build-core, with a compiler from PyPI where there is none.

The package ziglang is Clang with the headers it needs. It is asked for only where no compiler is
found, so that a machine with Python alone builds graphdict too.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scikit_build_core import build as backend
from scikit_build_core.build import build_sdist, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ZIG = "ziglang>=0.13"
NO_COMPILER = (
    "graphdict is built from its sources by a C++ compiler, and there is none: install GCC or "
    "Clang (Debian: apt-get install g++), or the compiler on PyPI (pip install ziglang)"
)
NO_HEADERS = (
    "graphdict is built from its sources with Python's header files, and this Python has none "
    "(Debian: apt-get install python3-dev)"
)


def compiler() -> str | None:
    """Return the compiler on the path, that which built Python before others, or none."""
    names = [*(sysconfig.get_config_var("CXX") or "").split()[:1], "c++", "g++", "clang++"]
    return next((path for path in map(shutil.which, names) if path), None)


def lacks_compiler() -> bool:
    """Return whether CMake will find no compiler by itself; on Windows none is on the path."""
    return os.name != "nt" and not os.environ.get("CXX") and compiler() is None


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    required = backend.get_requires_for_build_wheel(config_settings)
    return [*required, ZIG] if lacks_compiler() else required


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    required = backend.get_requires_for_build_editable(config_settings)
    return [*required, ZIG] if lacks_compiler() else required


def prepare_metadata_for_build_wheel(*arguments: Any, **named: Any) -> str:
    check()
    return backend.prepare_metadata_for_build_wheel(*arguments, **named)


def prepare_metadata_for_build_editable(*arguments: Any, **named: Any) -> str:
    check()
    return backend.prepare_metadata_for_build_editable(*arguments, **named)


def build_wheel(*arguments: Any, **named: Any) -> str:
    check()
    choose_compiler()
    return backend.build_wheel(*arguments, **named)


def build_editable(*arguments: Any, **named: Any) -> str:
    check()
    choose_compiler()
    return backend.build_editable(*arguments, **named)


def check() -> None:
    """End with one line that says what a build lacks, if it lacks something."""
    if lacks_compiler() and find_spec("ziglang") is None:
        sys.exit(NO_COMPILER)
    if os.name != "nt" and not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit(NO_HEADERS)


def choose_compiler() -> None:
    """Name the compiler to CMake: that on the path, or else the one from PyPI."""
    if os.name == "nt" or os.environ.get("CXX"):
        return
    os.environ["CXX"] = compiler() or commands_of_zig()


def path_of_zig() -> Path:
    """Return where the installed ziglang keeps its program."""
    found = find_spec("ziglang")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("zig")


def commands_of_zig(*options: str) -> str:
    """Return the path of a command that compiles by ziglang, and put its archiver on the path."""
    commands = Path(tempfile.mkdtemp(prefix="graphdict-compiler-"))
    atexit.register(shutil.rmtree, commands, ignore_errors=True)
    # What is built may run on other processors than this one. Its C++ library is built on first
    # use for any set of these options: so CMake's trials take the one that graphdict takes.
    compiling = " ".join(["c++", *options, "-mcpu=baseline -O3 -fPIC"])
    for name, words in {"c++": compiling, "ar": "ar", "ranlib": "ranlib"}.items():
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec "{path_of_zig()}" {words} "$@"\n')
        command.chmod(0o755)
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(commands)])
    print("graphdict: no C++ compiler on the path; ziglang's is used", file=sys.stderr)
    return str(commands / "c++")
