"""The file formats that are read: how each is recognised, and which function reads it.

To add a format, write its reader in a module of this folder and add a line to ``FORMATS``.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from graphdict.app.files.archives import check_sizes
from graphdict.app.files.arrays import read_npy, read_npz
from graphdict.app.files.delimited import read_delimited
from graphdict.app.files.errors import InputError
from graphdict.app.files.excel import read_excel
from graphdict.app.files.parquet import read_parquet
from graphdict.app.files.recordings import read_recording
from graphdict.app.files.table import SignalTable, Table
from graphdict.app.files.text import is_compressed, open_bytes
from graphdict.app.files.zarrs import is_zarr, read_zarr
from graphdict.eeg.bids import is_bids_file

RECORDINGS = (".edf", ".bdf", ".fif")
FOREIGN = (
    (b"\x89HDF", "an HDF5 file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"MATLAB", "a MATLAB file"),
    (b"SQLite", "a database"),
    (b"{", "a JSON file"),
    (b"[{", "a JSON file"),
    (b"[[", "a JSON file"),
    (b"<!", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML file"),
    (b"\x80\x04", "a Python pickle, which is never loaded"),
    (b"\x80\x05", "a Python pickle, which is never loaded"),
)


@dataclass(frozen=True)
class ReaderOptions:
    """What readers are told: the name of an array or sheet, layout of text, use of bad channels."""

    array: str | None = None
    text: dict[str, Any] = field(default_factory=dict)
    bads: str = "missing"


@dataclass(frozen=True)
class _File:
    """A file to recognise: its path, and its first bytes, decompressed where it is compressed."""

    path: Path

    @cached_property
    def start(self) -> bytes:
        if self.path.is_dir():
            return b""
        with open_bytes(self.path) as file:
            return file.read(64)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names in a ZIP archive, whose sizes are then known to be plausible."""
        if not self.start.startswith(b"PK"):
            return ()
        try:
            with zipfile.ZipFile(self.path) as archive:
                check_sizes(archive)
                return tuple(archive.namelist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("is a damaged archive") from None


@dataclass(frozen=True)
class Format:
    """A file format: ``recognises(file)``, and ``read(path, options)``, None for model files."""

    name: str
    recognises: Callable[[_File], bool]
    read: Callable[[Path, ReaderOptions], Table | SignalTable] | None


def _starts(*marks: bytes) -> Callable[[_File], bool]:
    return lambda file: file.start.startswith(marks)


FORMATS = (
    Format("zarr", lambda f: is_zarr(f.path), lambda p, o: read_zarr(p, o.array)),
    Format("recording", lambda f: f.path.suffix.lower() in RECORDINGS or is_bids_file(f.path),
           lambda p, o: read_recording(p, o.bads)),
    Format("npy", _starts(b"\x93NUMPY"), lambda p, _: read_npy(p)),
    Format("model", lambda f: "manifest.json" in f.members, None),
    Format("npz", lambda f: bool(f.members) and all(n.endswith(".npy") for n in f.members),
           lambda p, o: read_npz(p, o.array)),
    Format("excel", lambda f: any(name.startswith("xl/") for name in f.members),
           lambda p, o: read_excel(p, o.array, **o.text)),
    Format("parquet", _starts(b"PAR1", b"ARROW1", b"FEA1"), lambda p, _: read_parquet(p)),
    Format("text", lambda f: _is_text(f), lambda p, o: read_delimited(p, **o.text)),
)  # fmt: skip


def format_of(path: Path) -> Format:
    """Return the format of a file, by its content; raise InputError where it is none of them."""
    file = _File(path)
    if not path.is_dir() and not file.start:
        raise InputError("is empty")
    for candidate in FORMATS:
        if candidate.recognises(file):
            if candidate.name in ("npy", "parquet") and is_compressed(path):
                raise InputError(f"is a compressed {candidate.name} file; unpack it first")
            return candidate
    raise InputError("is a folder, not a file")


def _is_text(file: _File) -> bool:
    """Return whether a file may be text; raise InputError where it is known to be otherwise."""
    if file.path.is_dir():
        return False
    if file.start.startswith(b"PK"):
        what = "take out the table first" if file.members else "it holds nothing"
        raise InputError(f"is an archive; {what}")
    for mark, what in FOREIGN:
        if file.start.lstrip().startswith(mark):
            raise InputError(f"is {what}; save the table as CSV, Parquet or NPY")
    suffix = file.path.suffix.lower()
    if suffix in (".npy", ".npz", ".parquet", ".pq", ".feather", ".xlsx"):
        raise InputError(f"is not the {suffix[1:].upper()} file that its name says")
    return True


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a saved model rather than a table.

    Parameters
    ----------
    path : path

    Returns
    -------
    bool
        False as well where the file cannot be read.
    """
    try:
        return format_of(Path(path)).name == "model"
    except (InputError, OSError):
        return False
