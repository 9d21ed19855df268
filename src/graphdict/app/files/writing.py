"""Write tables as CSV, TSV or Parquet, atomically."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files.parquet import write_parquet
from graphdict.engine.storage.atomic import atomic_file

BLOCK = 20_000


def write_table(
    path: str | os.PathLike[str], columns: Mapping[str, NDArray[Any]], digits: int = 6
) -> None:
    """Write a table as CSV, TSV or Parquet, by the suffix of the file name.

    The file appears whole or not at all.

    Parameters
    ----------
    path : path
        Where to write; ``.parquet`` and ``.tsv`` choose these formats, anything else is CSV.
    columns : dict of name to array (T,)
        Columns of equal length: numbers, datetime64 or text.
    digits : int, default=6
        Significant digits of fractions in CSV and TSV, where dates are ISO 8601 and NaN is an empty
        cell. Parquet keeps every digit.

    Raises
    ------
    MissingExtraError
        For Parquet without PyArrow.
    """
    path = Path(path)
    if path.suffix == ".parquet":
        folder = path.parent
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
        os.close(handle)
        try:
            write_parquet(Path(temporary), columns)
            with atomic_file(path) as target, open(temporary, "rb") as source:
                while block := source.read(1 << 20):
                    target.write(block)
        finally:
            Path(temporary).unlink(missing_ok=True)
        return
    delimiter = "\t" if path.suffix == ".tsv" else ","
    arrays = list(columns.values())
    with atomic_file(path, "w") as file:
        _write_rows(file, delimiter, [list(columns)])
        for start in range(0, len(arrays[0]), BLOCK):
            cells = [_cells(array[start : start + BLOCK], digits) for array in arrays]
            buffer = io.StringIO()
            _write_rows(buffer, delimiter, list(zip(*cells)))
            file.write(buffer.getvalue())


def _write_rows(file: Any, delimiter: str, rows: Sequence[Sequence[str]]) -> None:
    """Write rows; quote all cells where one has a carriage return, which older Pythons forget."""
    quoted = any("\r" in cell for row in rows for cell in row)
    made = csv.writer(
        file, delimiter=delimiter, lineterminator="\n",
        quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL,
    )  # fmt: skip
    made.writerows(rows)


def _cells(values: NDArray[Any], digits: int) -> list[str]:
    """Return values as text, empty where missing."""
    if values.dtype.kind == "M":
        return ["" if text == "NaT" else text for text in _iso_times(values)]
    if values.dtype.kind == "f":
        pattern = f"%.{digits}g"
        return ["" if value != value else pattern % value for value in values.tolist()]
    return ["" if value is None or value != value else str(value) for value in values.tolist()]


def _iso_times(values: NDArray[Any]) -> list[str]:
    """Return datetimes as ISO 8601 text in the coarsest unit that keeps them exact."""
    for unit in ("D", "s", "ms"):
        coarse = values.astype(f"datetime64[{unit}]")
        if (np.isnat(values) | (coarse == values)).all():
            result: list[str] = np.datetime_as_string(coarse).tolist()
            return result
    result = np.datetime_as_string(values.astype("datetime64[us]")).tolist()
    return result
