"""Read arrays of signals from NPY and NPZ files."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError, first_line
from graphdict.app.files.table import Column, Table, quote_names

SIGNAL_NAMES = ("x", "signals", "data", "values", "eeg", "arr_0")
TIME_NAMES = ("time", "times", "t", "timestamps", "timestamp")
NODE_NAMES = ("names", "columns", "nodes", "channels", "ch_names", "labels", "feature_names")
POSITION_NAMES = ("positions", "pos", "coordinates", "coords", "locations", "xy")


def read_npy(path: Path) -> Table:
    """Read an NPY file that holds an array (T, N)."""
    return array_table(open_npy(path), "its array", [])


def open_npy(path: Path) -> NDArray[Any]:
    """Open an NPY file as a memory map."""
    try:
        with path.open("rb") as file:
            shape, needed = _header(file)
            left = path.stat().st_size - file.tell()
        if needed > left:
            raise InputError(
                f"is damaged: an array of shape {shape} needs {needed:,} bytes and has {left:,}"
            )
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except InputError:
        raise
    except Exception as error:  # headers are Python text, and fail in as many ways
        raise InputError(f"cannot be read as a NumPy array: {_why(error)}") from None


def read_npz(path: Path, wanted: str | None = None) -> Table:
    """Read the signals of an NPZ file, and the positions (N, 2) of the nodes where it has them."""
    try:
        shapes = _npz_shapes(path)
        with np.load(path, allow_pickle=False) as archive:
            name = signals_among(shapes, wanted)
            array = archive[name]
            extra: dict[str, Any] = {}
            for kind, usual in (("t", TIME_NAMES), ("n", NODE_NAMES), ("p", POSITION_NAMES)):
                found = [n for n in shapes if n.lower() in usual and n != name]
                extra[kind] = archive[found[0]] if found else None
    except InputError:
        raise
    except Exception as error:  # archives fail in many ways
        raise InputError(f"cannot be read as NumPy arrays: {_why(error)}") from None
    rows, nodes = array.shape if array.ndim == 2 else (-1, -1)
    notes = [f"signals are array {name!r}"] if len(shapes) > 1 else []
    names: list[str] | None = None
    if extra["n"] is not None and extra["n"].shape == (nodes,):
        names = [str(item) for item in extra["n"]]
    table = array_table(array, f"array {name!r}", notes, names)
    if extra["p"] is not None:
        _place(table.columns, extra["p"], notes)
    times = extra["t"]
    if times is not None and times.shape == (rows,) and times.dtype.kind in "fiuM":
        kept = times if times.dtype.kind == "M" else times.astype(np.float64)
        table.columns.insert(0, Column("time", kept))
    return table


def _npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an NPZ file, from their headers.

    Raises InputError where a header speaks of more or fewer bytes than there are, and for objects.
    """
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                shape, needed = _header(file)
                if needed != member.file_size - file.tell():
                    raise InputError(
                        f"is damaged: array {member.filename!r} of shape {shape} needs {needed:,} "
                        f"bytes and has {member.file_size - file.tell():,}"
                    )
                shapes[member.filename.removesuffix(".npy")] = shape
    return shapes


def _header(file: Any) -> tuple[tuple[int, ...], int]:
    """Return the shape of an array and the bytes that it needs, from the header of an open file."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("Python objects")
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}")
    return shape, math.prod(shape) * dtype.itemsize


def _place(columns: list[Column], positions: NDArray[Any], notes: list[str]) -> None:
    """Give columns their positions (N, 2); raise InputError where these are no numbers."""
    if positions.ndim != 2 or len(positions) != len(columns) or positions.shape[1] < 2:
        notes.append(
            f"positions were left out: their shape is {positions.shape}, not ({len(columns)}, 2)"
        )
        return
    if positions.dtype.kind not in "fiu":
        raise InputError(
            f"has positions that are not numbers: their data type is {positions.dtype}"
        )
    points = np.asarray(positions[:, :2], dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(wrong):
        name, point = columns[wrong[0]].name, points[wrong[0]].tolist()
        raise InputError(f"has positions that are not finite: node {name!r} is at {point}")
    for column, point in zip(columns, points):
        column.position = point


def signals_among(shapes: dict[str, tuple], wanted: str | None) -> str:
    """Return the name of the array of signals: ``wanted``, or the one that is recognised."""
    if wanted is not None:
        if wanted not in shapes:
            raise InputError(f"has no array {wanted!r}; it has {quote_names(list(shapes))}")
        return wanted
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    usual = [name for name in tables if name.lower() in SIGNAL_NAMES]
    if len(usual) == 1 or len(tables) == 1:
        return (usual or tables)[0]
    have = ", ".join(f"{name} {shape}" for name, shape in list(shapes.items())[:8])
    if not tables:
        raise InputError(f"has no array of two dimensions (samples, nodes), only {have or 'none'}")
    raise InputError(
        f"has several arrays that could be the signals: name one with array=... ({have})"
    )


def array_table(
    array: NDArray[Any], what: str, notes: list[str], names: list[str] | None = None
) -> Table:
    """Return an array (T, N), or a structured array, as a table; ``what`` names it in errors."""
    if array.dtype.names:
        columns = [
            Column(name, _numbers(array[name].ravel(), f"field {name!r}"))
            for name in array.dtype.names
        ]
        return Table(columns, notes)
    if array.ndim != 2:
        hint = ""
        if array.ndim == 3:
            a, b, c = array.shape
            hint = f"; reshape it, for instance to ({a * c}, {b}) or ({a * b}, {c})"
        raise InputError(
            f"needs two dimensions, (samples, nodes); {what} has shape {array.shape}{hint}"
        )
    if not array.size:
        raise InputError(f"is empty: {what} has shape {array.shape}")
    values = _numbers(array, what)
    given = names or [f"x{i}" for i in range(array.shape[1])]
    return Table([Column(name, values[:, index]) for index, name in enumerate(given)], notes)


def _numbers(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return the array as float64; raise InputError where it does not hold real numbers."""
    if array.dtype.kind not in "fiub":
        kind = "complex numbers" if array.dtype.kind == "c" else f"{array.dtype}"
        raise InputError(f"holds {kind} in {what}; signals are real numbers")
    return np.asarray(array, dtype=np.float64)


def _why(error: Exception) -> str:
    """Return the reason of a failed load in plain words."""
    text = str(error)
    if "allow_pickle" in text or "pickled" in text or "Python objects" in text:
        return "it holds Python objects, which are not loaded; save numbers only"
    return first_line(error)
