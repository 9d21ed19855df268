"""Read signals from a file of any supported format, detected by its content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.app.files.arrays import read_npy, read_npz, read_zarr
from graphdict.app.files.chunked_readers import open_chunked_reader
from graphdict.app.files.columns import ReadOptions, signals_from_table
from graphdict.app.files.delimited import read_delimited
from graphdict.app.files.errors import InputError
from graphdict.app.files.out_of_core import read_out_of_core
from graphdict.app.files.parquet import read_parquet
from graphdict.app.files.recordings import read_recording
from graphdict.app.files.table import Column, SignalTable, Table
from graphdict.engine.sources import too_large

__all__ = ["is_model_file", "kind_of", "read_signals"]

RECORDINGS = (".edf", ".bdf", ".fif")
FOREIGN = (
    (b"\x89HDF", "an HDF5 file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"MATLAB", "a MATLAB file"),
    (b"SQLite", "a database"),
    (b"{", "a JSON file"),
    (b"<!", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML file"),
    (b"\x80\x04", "a Python pickle, which is never loaded"),
    (b"\x80\x05", "a Python pickle, which is never loaded"),
)


def read_signals(
    path: str | os.PathLike[str],
    *,
    time: str | None = None,
    no_time: bool = False,
    node: str | None = None,
    value: str | None = None,
    layout: str = "auto",
    columns: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    rate: float | None = None,
    sort: bool = False,
    transpose: bool = False,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na: tuple[str, ...] = (),
    keep_codes: bool = False,
    number_duplicates: bool = False,
    array: str | None = None,
    in_parts: bool = False,
    expected: tuple[str, ...] = (),
) -> SignalTable:
    """Read a table of signals: CSV, TSV, Parquet, Feather, NPY, NPZ, Zarr, EDF, BDF or FIF.

    What is not given is detected; ``notes`` of the result say what was found, converted or left
    out. Compressed text (gz, bz2, xz) is decompressed.

    Parameters
    ----------
    path : path
        The file; its content decides its format.
    time : str, optional
        The column of times.
    no_time : bool
        No column holds times.
    node, value : str, optional
        The columns of nodes and of values of a table in long format (one row for each value).
    layout : {"auto", "wide", "long"}
        Wide: a column for each node. Long: a row for each value.
    columns, ignore : tuples of names
        Columns to take as nodes (all by default), and columns to leave out.
    rate : float, optional
        Samples per second, where no column holds times.
    sort : bool
        Sort rows by time instead of raising an error where they are out of order.
    transpose : bool
        Nodes are rows and samples are columns; the first column names the nodes.
    header : bool, optional
        Whether the first row of a text file names the columns.
    delimiter, decimal, encoding : str, optional
        Of a text file.
    na : tuple of str
        Further ways to write a missing value.
    keep_codes : bool
        Do not read codes like -9999 as missing.
    number_duplicates : bool
        Number columns of the same name instead of raising an error.
    array : str, optional
        The array of an NPZ file or a Zarr group.
    in_parts : bool
        Leave Parquet, NPY and Zarr in their file where they are larger than scikit-learn's
        ``working_memory``: ``values`` is then a lazy array that reads slices of rows on demand.
    expected : tuple of names
        The nodes of a model that is to encode the signals: these columns are kept even where they
        are empty, one row is enough, and no column has to vary.

    Returns
    -------
    SignalTable
        Signals (T, N), node names, times, units and notes.

    Raises
    ------
    InputError
        For a file that cannot be read or used; the message names file, line and column.
    MissingExtraError
        For a format that needs a package which is not installed.
    """
    path = Path(path)
    options = ReadOptions(
        time, no_time, node, value, layout, tuple(columns), tuple(ignore), rate, sort,
        number_duplicates, not keep_codes, tuple(expected),
    )  # fmt: skip
    text: dict[str, Any] = {
        "delimiter": _delimiter(delimiter), "decimal": decimal, "header": header,
        "encoding": encoding, "na": frozenset(na), "ignore": frozenset(ignore),
        "numeric": frozenset(columns) - {time, node},
    }  # fmt: skip
    try:
        kind = kind_of(path)
        if kind == "recording":
            return _select_channels(read_recording(path), columns, ignore)
        positions = None
        source = open_chunked_reader(path, kind, array, transpose) if in_parts else None
        if source is not None and too_large((source.length, len(source.names)), np.float64):
            return read_out_of_core(source, options)
        if kind == "npy":
            table = read_npy(path)
        elif kind == "zarr":
            table = read_zarr(path, array)
        elif kind == "npz":
            table, positions = read_npz(path, array)
        elif kind == "parquet":
            table = read_parquet(path)
        else:
            table = read_delimited(path, **(text | ({"header": False} if transpose else {})))
        if transpose:
            table = _transposed(table)
        signals = signals_from_table(table, options)
        if positions is not None and len(positions) == len(signals.names):
            signals.positions = positions
        return signals
    except InputError as error:
        raise InputError(f"{path} {error}") from None
    except MemoryError:
        raise InputError(f"{path} does not fit into memory") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def kind_of(path: Path) -> str:
    """Return the format of a file: npy, npz, model, parquet, recording, zarr or text."""
    if path.is_dir():
        if any((path / name).exists() for name in (".zarray", ".zgroup", "zarr.json")):
            return "zarr"
        raise InputError("is a folder, not a file")
    with open(path, "rb") as file:
        start = file.read(64)
    suffix = path.suffix.lower()
    if not start:
        raise InputError("is empty")
    if suffix in RECORDINGS:
        return "recording"
    if start.startswith(b"\x93NUMPY"):
        return "npy"
    if start.startswith(b"PK"):
        return _kind_of_archive(path)
    if start.startswith((b"PAR1", b"ARROW1", b"FEA1")):
        return "parquet"
    for mark, what in FOREIGN:
        if start.lstrip().startswith(mark):
            raise InputError(f"is {what}; save the table as CSV, Parquet or NPY")
    if suffix in (".npy", ".npz", ".parquet", ".pq", ".feather"):
        raise InputError(f"is not the {suffix[1:].upper()} file that its name says")
    return "text"


def _kind_of_archive(path: Path) -> str:
    """Return "npz" or "model" for a ZIP archive; raise InputError for others."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        raise InputError("is a damaged archive") from None
    if not names:
        raise InputError("is an archive that holds nothing")
    if "manifest.json" in names:
        return "model"
    if names and all(name.endswith(".npy") for name in names):
        return "npz"
    if any(name.startswith("xl/") for name in names):
        raise InputError("is an Excel workbook; save the sheet as CSV")
    raise InputError("is an archive; take out the table first")


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a saved model rather than a table."""
    try:
        return kind_of(Path(path)) == "model"
    except (InputError, OSError):
        return False


def _delimiter(given: str | None) -> str | None:
    """Return the character of a delimiter given as a character or by name."""
    if given is None:
        return None
    named = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "pipe": "|",
             "space": " ", "spaces": " ", "whitespace": " "}  # fmt: skip
    chosen = named.get(given.lower(), given)
    if len(chosen) != 1:
        raise InputError(f"needs a delimiter of one character, got {given!r}")
    return chosen


def _select_channels(
    signals: SignalTable, columns: tuple[str, ...], ignore: tuple[str, ...]
) -> SignalTable:
    """Return a recording with the channels that were asked for."""
    for name in columns:
        if name not in signals.names:
            raise InputError(f"has no channel {name!r}")
    kept = [
        index for index, name in enumerate(signals.names)
        if (not columns or name in columns) and name not in ignore
    ]  # fmt: skip
    signals.values = signals.values[:, kept]
    signals.names = [signals.names[index] for index in kept]
    if signals.positions is not None:
        signals.positions = signals.positions[kept]
    return signals


def _transposed(table: Table) -> Table:
    """Return the table with rows as columns; a first column of text names them."""
    names = None
    columns = table.columns
    if columns and not columns[0].numeric:
        names = [str(name or "") for name in columns[0].values]
        columns = columns[1:]
    numbers = [column for column in columns if column.numeric]
    if len(numbers) < len(columns) or not numbers:
        raise InputError("cannot be transposed: it has text among its numbers")
    values = np.stack([column.values for column in numbers], axis=1)
    names = names or [f"x{index}" for index in range(len(values))]
    return Table([Column(name, row) for name, row in zip(names, values)], table.notes)
