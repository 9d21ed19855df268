"""Read signals from a file of any supported format, detected by its content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.app.files.chunked_readers import open_chunked_reader
from graphdict.app.files.columns import ReadOptions, signals_from_table
from graphdict.app.files.errors import InputError, damage_named, first_line
from graphdict.app.files.formats import ReaderOptions, format_of
from graphdict.app.files.groups import recordings_column, signals_by_group
from graphdict.app.files.long_format import MOST_NODES
from graphdict.app.files.out_of_core import read_out_of_core
from graphdict.app.files.patterns import matching_names
from graphdict.app.files.table import Column, SignalTable, Table
from graphdict.engine.sources import too_large


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
    bads: str = "missing",
    group: str | None = None,
    in_parts: bool = False,
    expected: tuple[str, ...] = (),
) -> SignalTable:
    """Read signals from CSV, TSV, Excel, Parquet, Feather, NPY, NPZ, Zarr, EDF, BDF or FIF.

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
        Columns to take as nodes (by default all that are not recognised as times, row numbers,
        parts of a date, labels or flags), and columns to leave out. Names may be patterns
        (``"temp_*"``).
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
        The array of an NPZ file or a Zarr group, or the sheet of a workbook.
    bads : {"missing", "interpolate"}
        What becomes of the bad channels of an EEG recording: they are left out (and are missing
        values beside recordings that have them), or interpolated from their neighbours.
    group : str, optional
        The column that says which recording a row is from: each is read as a table of its own,
        whose times may begin anew, and ``recordings`` of the result tells them apart. Where times
        repeat, one column tells their rows apart and three or more hold quantities, it is found.
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
    if bads not in ("missing", "interpolate"):
        raise ValueError(f"bads must be 'missing' or 'interpolate', got {bads!r}")
    path = Path(path)
    options = ReadOptions(
        time, no_time, node, value, layout, tuple(columns), tuple(ignore), rate, sort,
        number_duplicates, not keep_codes, tuple(expected),
    )  # fmt: skip
    text: dict[str, Any] = {
        "delimiter": _delimiter(delimiter), "decimal": decimal,
        "header": False if transpose else header,
        "encoding": encoding, "na": frozenset(na), "ignore": frozenset(ignore),
        "numeric": frozenset(columns) - {time, node}, "widest": None if transpose else MOST_NODES,
    }  # fmt: skip
    try:
        in_parts = in_parts and group is None  # rows of a recording may be anywhere
        return _read(path, ReaderOptions(array, text, bads), options, group, transpose, in_parts)
    except InputError as error:
        raise InputError(f"{path} {error}") from None
    except MemoryError:
        raise InputError(f"{path} does not fit into memory") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or first_line(error)}") from None


def _read(
    path: Path,
    reading: ReaderOptions,
    options: ReadOptions,
    group: str | None,
    transpose: bool,
    in_parts: bool,
) -> SignalTable:
    """Return the signals of a file; options are those of reading it and of using its table."""
    kind = format_of(path)
    if kind.read is None:
        raise InputError("is a model, not a table; graphdict.load_model loads it")
    with damage_named(f"cannot be read as {kind.name}"):
        source = None
        if in_parts:
            source = open_chunked_reader(path, kind.name, reading.array, transpose)
    if source is not None and too_large((source.length, len(source.names)), np.float64):
        return read_out_of_core(source, options)
    with damage_named(f"cannot be read as {kind.name}"):
        found = kind.read(path, reading)
    if isinstance(found, SignalTable):
        if group is not None:
            raise InputError(f"is one recording, without a column {group!r} of recordings")
        return _select_channels(found, options.columns, options.ignore)
    found.take_infinities_as_missing()
    table = _transposed(found) if transpose else found
    if group is not None:
        return signals_by_group(table, group, options)
    if (interleaved := recordings_column(table, options)) is not None:
        return signals_by_group(table, interleaved, options, found_itself=True)
    return signals_from_table(table, options)


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
    wanted = matching_names(signals.names, columns or ["*"], "columns", "channel")
    wanted -= matching_names(signals.names, ignore, "ignore", "channel")
    if len(wanted) < 2:
        raise InputError(f"has {len(wanted)} channel(s) left, and a graph needs at least 2")
    kept = [index for index, name in enumerate(signals.names) if name in wanted]
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
