"""Checkpoints: the state of a long fit in one file, from which it continues after a kill.

A fit is a sequence of stages (one for each start, one for the final coefficients). Of stages that
are done the file holds the result; of the one under way, the solver's last state. Run again with
the same settings and the same data, a fit takes results from the file, hands the state back to its
solver, and ends where it would have ended: bit by bit on the same machine. The file is an archive
as models are (:mod:`graphdict.engine.storage.archive`), replaced as a whole, and removed once the
fit is done.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.engine.signals import each_block
from graphdict.engine.storage.archive import read_archive, write_archive
from graphdict.engine.storage.atomic import atomic_file
from graphdict.exceptions import CheckpointError

FORMAT, VERSION = "graphdict-checkpoint", 2
SECONDS = 2.0  # between two writes, at least
SHARE = 0.05  # of the time that may be spent on writing
ARRAY = "array:"  # how the manifest names an array
NOT_COMPARED = ("callback", "checkpoint", "verbose")  # parameters without effect on the result


class Checkpoint:
    """The file of one fit; ``Checkpoint(None, {})`` keeps nothing."""

    def __init__(self, path: str | os.PathLike[str] | None, identity: dict[str, Any]):
        self.path = None if path is None else Path(path)
        self.identity = identity
        self.done: list[Any] = []
        self.saved: Any = None
        self.seed: Any = None
        self.stages = 0
        self.written, self.took = time.monotonic(), 0.0
        self.resumed = self.path is not None and self.path.exists()
        if self.resumed:
            self._read(self.path)  # type: ignore[arg-type]
        elif self.path is not None and not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint={str(path)!r} cannot be written: the folder {self.path.parent} does "
                "not exist"
            )

    @classmethod
    def of_fit(
        cls, model: Any, samples: Any, rng: np.random.RandomState | None = None
    ) -> Checkpoint:
        """Return the checkpoint that a model asks for, with the state of ``rng`` at its start."""
        if model.checkpoint is None:
            return cls(None, {})
        kept = cls(model.checkpoint, identity(model, samples))
        if rng is not None:
            kept.restore_random_state(rng)
        return kept

    def restore_random_state(self, rng: np.random.RandomState) -> None:
        """Set a generator to its state when the file was first written."""
        if self.seed is None:
            self.seed = list(rng.get_state(legacy=True))
        else:
            with self.resuming():
                rng.set_state(tuple(self.seed))

    @contextmanager
    def resuming(self) -> Iterator[None]:
        """Turn errors of a fit that goes on from the file into CheckpointError.

        Errors that the user's own functions raise are left as they are.
        """
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if not self.resumed or isinstance(error, CheckpointError) or not _is_ours(error):
                raise
            raise CheckpointError(
                f"checkpoint {self.path} holds a state that this fit cannot go on from "
                f"({type(error).__name__}: {error}). Delete it to begin anew."
            ) from error

    def stage(self) -> Stage:
        """Return the next stage of the fit."""
        self.stages += 1
        return Stage(self, self.stages - 1)

    def finish(self) -> None:
        """Remove the file once the fit is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def write(self, saved: Any) -> None:
        """Replace the file; the stage under way is at ``saved``."""
        if self.path is None:
            return
        started = time.monotonic()
        arrays: dict[str, NDArray[Any]] = {}
        content = {"done": self.done, "saved": saved, "seed": self.seed}
        manifest = {
            "format": FORMAT, "version": VERSION, "identity": self.identity,
            "content": _pack(content, arrays),
        }  # fmt: skip
        with atomic_file(self.path) as file:
            write_archive(file, manifest, arrays)
        self.written = time.monotonic()
        self.took = self.written - started

    @property
    def due(self) -> bool:
        """Whether it is time to write again."""
        pause = max(SECONDS, self.took / SHARE)
        return self.path is not None and time.monotonic() - self.written >= pause

    def _read(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                manifest, arrays, vouched = read_archive(file, _check_kind)
            if not vouched:
                raise ValueError("it lacks the digests that show it to be undamaged")
            for name, array in arrays.items():
                if array.dtype.kind == "f" and np.isnan(array).any():
                    raise ValueError(f"{name} holds NaN")
            content = _unpack(manifest["content"], arrays)
            self.done, self.saved, self.seed = (content[k] for k in ("done", "saved", "seed"))
            found = manifest["identity"]
        except Exception as error:  # whatever a file may provoke is the file's fault
            raise CheckpointError(
                f"checkpoint {path} is not a checkpoint of graphdict, or is damaged: {error}. "
                "Delete it to begin anew."
            ) from error
        for name in sorted(set(found) | set(self.identity)):
            if found.get(name) != self.identity.get(name):
                raise CheckpointError(
                    f"checkpoint {path} belongs to another fit: its {name} is "
                    f"{found.get(name)!r:.100}, not {self.identity.get(name)!r:.100}. Use the same "
                    "data and settings, another path, or delete the file to begin anew."
                )


class Stage:
    """One stage of a fit: the result or state of an earlier run, and where to keep the new one."""

    def __init__(self, checkpoint: Checkpoint, index: int):
        self.checkpoint = checkpoint
        done = checkpoint.done
        self.result: Any = done[index] if index < len(done) else None
        self.saved: Any = checkpoint.saved if index == len(done) else None
        self.pending: Callable[[], Any] | None = None

    def offer(self, state: Callable[[], Any]) -> None:
        """Take a function that returns the state of the solver; call and write it when due."""
        if self.checkpoint.path is not None:
            self.pending = state
            if self.checkpoint.due:
                self.flush()

    def flush(self) -> None:
        """Write the last state that was offered, now."""
        if self.pending is not None:
            self.checkpoint.write(self.pending())
            self.pending = None

    def finish(self, result: Any) -> None:
        """Keep the result of the stage."""
        if self.checkpoint.path is not None:
            self.checkpoint.done.append(result)
            self.checkpoint.saved = self.pending = None
            self.checkpoint.write(None)


def identity(model: Any, samples: Any) -> dict[str, Any]:
    """Return what two fits must share for one to continue the other, by name."""
    from graphdict import __version__

    settings = {
        name: _describe(value)
        for name, value in model.get_params(deep=False).items()
        if name not in NOT_COMPARED
    }
    digest = _digest("".join(each_block(samples, _digest)).encode())
    data = f"{samples.dtype} {tuple(samples.shape)} {digest}"
    pieces = model.recordings_.piece_lengths
    if len(pieces) > 1:
        data += f" in {len(pieces)} pieces {_digest(pieces.astype(np.int64))}"
    return {"graphdict": __version__, "model": type(model).__name__, "data": data, **settings}


def _is_ours(error: Exception) -> bool:
    """Return whether this package, or a library that it computes with, raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    package = name.partition(".")[0]
    computing = package in ("graphdict", "numpy", "scipy", "sklearn")
    return computing or package.startswith("namedtuple_") or package in sys.stdlib_module_names


def _digest(content: Any) -> str:
    if isinstance(content, np.ndarray):
        content = np.ascontiguousarray(content).data
    return hashlib.sha256(content).hexdigest()


def _describe(value: Any) -> Any:
    """Return a setting as plain values that are the same in every process."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.random.RandomState):
        return f"RandomState {_digest(value.get_state(legacy=True)[1])}"  # type: ignore[index]
    if isinstance(value, (list, tuple)) and not all(isinstance(v, (int, float)) for v in value):
        return [_describe(v) for v in value]
    if hasattr(value, "__array__") or isinstance(value, (list, tuple)):
        array = np.asarray(value)
        return f"array {array.shape} {_digest(array)}"
    inside = getattr(value, "__dict__", {})
    return f"{type(value).__qualname__} { {k: _describe(v) for k, v in sorted(inside.items())} }"


def _check_kind(manifest: dict[str, Any]) -> None:
    if (found := manifest.get("format")) != FORMAT:
        raise ValueError(f"its format is {found!r:.40}, not {FORMAT!r}")
    if manifest.get("version") != VERSION:
        raise ValueError(f"its version is {manifest.get('version')!r:.20}, not {VERSION}")


def _pack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return plain values for the manifest; arrays are put into ``arrays`` under a name."""
    if isinstance(value, dict):
        return {name: _pack(item, arrays) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(item, arrays) for item in value]
    if isinstance(value, np.ndarray):
        name = f"state/a{len(arrays)}"
        arrays[name] = value
        return ARRAY + name
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, dict):
        return {name: _unpack(item, arrays) for name, item in value.items()}
    if isinstance(value, list):
        return [_unpack(item, arrays) for item in value]
    if isinstance(value, str) and value.startswith(ARRAY):
        return arrays[value.removeprefix(ARRAY)]
    return value
