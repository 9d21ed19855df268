"""The results folder of an experiment: a manifest, and a file for each finished cell."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphdict import __version__
from graphdict.app.experiments.code import code_digest
from graphdict.app.experiments.grids import Cell, Grid
from graphdict.engine.storage.atomic import write_atomically

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: two runs at once then repeat each other's work
    fcntl = None  # type: ignore[assignment]

MANIFEST = "manifest.json"
CELLS = "cells"


class FolderError(Exception):
    """Raised for a folder that cannot hold the results; the message says why and what to do."""


class Store:
    """Results of one grid in one folder; created by :meth:`open`."""

    def __init__(self, path: Path):
        self.path = path
        self.cells = path / CELLS
        self._lock: int | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], grid: Grid, *, restart: bool = False) -> Store:
        """Open a folder that holds results of this grid and this very code, or create it.

        With ``restart``, results of an earlier run are deleted first. A folder with other files
        and no manifest is never changed.
        """
        store = cls(Path(path))
        if store.path.exists() and not store.path.is_dir():
            raise FolderError(f"{path} is a file, not a folder")
        manifest = store.path / MANIFEST
        found = store.path.iterdir() if store.path.exists() else ()
        if not manifest.exists() and any(entry.name != ".lock" for entry in found):
            raise FolderError(
                f"{path} holds files but no {MANIFEST}, so it is not a results folder: "
                "choose another folder"
            )
        store.path.mkdir(parents=True, exist_ok=True)
        store._lock = store._take_lock()
        try:
            if restart:
                manifest.unlink(missing_ok=True)
            if manifest.exists():
                store._check(manifest, grid)
            else:
                store._begin(manifest, grid)
        except BaseException:
            store.close()
            raise
        store.cells.mkdir(exist_ok=True)
        for leftover in store.cells.glob("*.tmp"):  # of a run that was killed while writing
            leftover.unlink()
        return store

    def close(self) -> None:
        """Release the folder for other runs."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self, cells: Iterable[Cell]) -> dict[str, dict[str, Any]]:
        """Return the rows of the cells that this code finished, by the key of the cell."""
        rows = {}
        for cell in cells:
            try:
                row = json.loads((self.cells / f"{cell.key}.json").read_text())
            except (FileNotFoundError, json.JSONDecodeError):
                continue
            if row.pop("code", None) == code_digest():
                rows[cell.key] = row
        return rows

    def save(self, cell: Cell, row: dict[str, Any]) -> None:
        """Write the row of a finished cell, atomically."""
        row = {**row, "code": code_digest()}
        write_atomically(self.cells / f"{cell.key}.json", json.dumps(row))

    def _take_lock(self) -> int | None:
        """Lock the folder; the system releases the lock when the process ends."""
        if fcntl is None:  # pragma: no cover
            return None
        handle = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise FolderError(
                f"another run is writing to {self.path}: wait for it, or choose another folder"
            ) from None
        return handle

    def _begin(self, manifest: Path, grid: Grid) -> None:
        shutil.rmtree(self.cells, ignore_errors=True)
        described = {
            "graphdict": __version__,
            "code": code_digest(),
            "configuration": grid.digest,
            "grid": grid.describe(),
        }
        write_atomically(manifest, json.dumps(described, indent=1) + "\n")

    def _check(self, manifest: Path, grid: Grid) -> None:
        way_out = "choose another folder, or discard its results with restart=True"
        try:
            written = json.loads(manifest.read_text())
            version, configuration = written["graphdict"], written["configuration"]
            name = f"{written['grid']['experiment']} ({written['grid']['scale']})"
        except (json.JSONDecodeError, KeyError, TypeError):
            raise FolderError(f"{manifest} cannot be read: {way_out}") from None
        if version != __version__:
            raise FolderError(
                f"{self.path} was written by graphdict {version}, this is {__version__}: {way_out}"
            )
        if written.get("code") != code_digest():
            raise FolderError(
                f"{self.path} was written by other code (digest {written.get('code', 'none')}, "
                f"this is {code_digest()}), and results of both would be mixed: {way_out}"
            )
        if configuration != grid.digest:
            asked = f"{grid.experiment} ({grid.scale})"
            what = f"holds {name}" if name != asked else f"holds another configuration of {name}"
            raise FolderError(f"{self.path} {what}, not this {asked}: {way_out}")
