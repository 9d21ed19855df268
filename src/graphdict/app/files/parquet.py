"""Read and write Parquet and Feather files through PyArrow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.errors import InputError, damage_named, first_line
from graphdict.app.files.table import Column, Table, quote_names
from graphdict.exceptions import import_extra

GROUP = 1 << 16  # rows written at a time
UNNAMED = "__index_level_"  # how pandas begins the name of an index that has none


def open_parquet(path: Path) -> Any:
    """Open a Parquet file without buffering it ahead."""
    parquet = import_extra("pyarrow.parquet", "a Parquet file", "tables")
    try:
        return parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
    except Exception as error:  # the file may also have gone since it was first opened
        raise InputError(f"cannot be read as a Parquet file: {first_line(error)}") from None


def read_parquet(path: Path) -> Table:
    """Read all flat columns of a Parquet or Feather file."""
    import_extra("pyarrow", "a Parquet file", "tables")
    from pyarrow import feather, parquet

    with open(path, "rb") as file:
        plain = file.read(4) == b"PAR1"
    with damage_named("cannot be read as a Parquet file"):
        table = parquet.read_table(path) if plain else feather.read_table(path)
    columns, odd = [], []
    for name, column in zip(table.column_names, table.columns):
        values = column_values(column)
        if values is None:
            odd.append(name)
            continue
        shown = display_name(name, table.column_names)
        columns.append(Column(shown, values, labels=name.startswith(UNNAMED)))
    notes = []
    if odd:
        notes.append(f"left out column(s) of lists, structures or bytes: {quote_names(odd)}")
    if not table.num_rows:
        raise InputError("has no rows")
    return Table(columns, notes)


def display_name(name: str, names: list[str]) -> str:
    """Return the name to show for a column: "index" for the unnamed index that pandas writes."""
    alone = "index" not in names and f"{UNNAMED}1__" not in names
    return "index" if name == f"{UNNAMED}0__" and alone else name


def column_values(column: Any) -> NDArray[Any] | None:
    """Return a column as float64, datetime64 or text; None for lists, structures and bytes."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind):
        plain = column.cast(pa.timestamp("us"), safe=False)
        return plain.to_numpy().astype("datetime64[us]")
    if types.is_decimal(kind) or types.is_boolean(kind) or types.is_integer(kind):
        return column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    if types.is_floating(kind):
        return column.to_numpy().astype(np.float64)
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _parse_text(np.array(column.to_pylist(), dtype=object))
    if types.is_time(kind) or types.is_duration(kind):
        unit = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        whole = compute.cast(column, pa.int32() if kind.bit_width == 32 else pa.int64())
        return whole.cast(pa.float64(), safe=False).to_numpy() / unit
    return None


def _parse_text(cells: NDArray[Any]) -> NDArray[Any]:
    """Return text as float64 where every cell is a number, else as text with None for missing."""
    from graphdict.app.files.numbers import CellParser

    values, wrong = CellParser().read(["" if cell is None else cell for cell in cells])
    if not wrong:
        return values
    return np.array(
        [None if c is None or CellParser().is_missing(c) else c for c in cells], dtype=object
    )


def write_parquet(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns of equal length, ``GROUP`` rows at a time."""
    pyarrow = import_extra("pyarrow", "writing a Parquet file", "tables")
    parquet = import_extra("pyarrow.parquet", "writing a Parquet file", "tables")
    length = len(next(iter(columns.values())))
    writer = None
    try:
        for start in range(0, max(length, 1), GROUP):
            some = {n: pyarrow.array(v[start : start + GROUP]) for n, v in columns.items()}
            table = pyarrow.table(some)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()
