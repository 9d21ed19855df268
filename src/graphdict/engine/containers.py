"""Take signals in containers of other libraries, or say how to get an array out of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphdict.core.annotations import Floats

TIME = ("time", "times", "t", "sample", "samples", "date", "datetime")


def unpack(X: Any) -> Any:
    """Return signals as an array or a data frame; anything else than a known container unchanged.

    Masked arrays become NaN where they are masked, and other orders of bytes that of this machine.
    A DataArray of xarray becomes a data frame with the names of its second coordinate. Containers
    without one obvious array (T, N) raise ValueError with the call that gives one, and so do times.
    """
    _check_no_times(X)
    if isinstance(X, np.ma.MaskedArray):  # whose mask NumPy would drop without a word
        kind = np.float32 if X.dtype == np.float32 else np.float64
        return np.where(np.ma.getmaskarray(X), np.nan, X.data).astype(kind)
    if type(X) is np.ndarray and X.dtype.kind in "fiu" and not X.dtype.isnative:
        return X.astype(X.dtype.newbyteorder("="))  # else single precision would become double
    name, library = type(X).__name__, type(X).__module__.partition(".")[0]
    if isinstance(X, (str, os.PathLike)):
        raise ValueError(f"X is the path {os.fspath(X)!r}: graphdict.files.read_signals(X).values")
    if isinstance(X, (bytes, bytearray)):
        raise ValueError("X is bytes: np.frombuffer(X).reshape(samples, nodes)")
    if library == "polars" and hasattr(X, "collect"):
        raise ValueError("X is polars' LazyFrame, which is not computed yet: X.collect()")
    if library == "xarray" and hasattr(X, "dims"):
        return _data_array(X, name)
    return X


def _check_no_times(X: Any) -> None:
    """Raise where values are times, which NumPy would take for numbers, and NaT for a huge one."""
    for where, values in (("X", X), *((f"column {name!r} of X", c) for name, c in _columns(X))):
        dtype: Any = getattr(values, "dtype", None)
        temporal = getattr(dtype, "is_temporal", None)  # of polars, whose types have no kind
        if getattr(dtype, "kind", "") in ("m", "M") or (temporal is not None and temporal()):
            raise ValueError(
                f"{where} holds times ({dtype}), which are not numbers; leave out time stamps, "
                "and divide durations by their unit"
            )


def as_numbers(name: str, given: Any, dtype: Any, shape: str = "") -> Floats:
    """Return a copy of an array of the user; raise where it does not hold real numbers.

    The error names the argument, and says which shape it should have where one is given.
    """
    try:
        array = np.asarray(given)
        if array.dtype.kind in "cmM":  # of which NumPy would drop a part, or the unit
            raise TypeError(f"got {array.dtype}")
        return array.astype(dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers{shape}: {error}") from error


def about_signals(X: Any, error: Exception) -> Exception:
    """Return an error of the same kind that says it is about ``X``, and what ``X`` is."""
    said = str(error)
    if re.search(r"\bX\b", said):
        return error
    said = re.sub(r":?\s*array=.*?\.\n", ". ", said.split("\n[[")[0], flags=re.DOTALL)
    said = " ".join(said.split())  # not the numbers themselves
    shape = f" of shape {tuple(X.shape)}" if hasattr(X, "shape") else ""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(
        f"X must be numbers of shape (samples, nodes), and is {type(X).__name__}{shape}: "
        f"{said[:500]}"
    )


def _data_array(X: Any, name: str) -> Any:
    """Return an xarray DataArray (T, N) as a data frame where its nodes have names."""
    dims = [str(dim) for dim in X.dims]
    if name != "DataArray":
        raise ValueError(f"X is xarray's {name}: X.to_dataarray('node').transpose(..., 'node')")
    if len(dims) != 2:
        raise ValueError(
            f"X has dimensions {tuple(dims)}, not two, (samples, nodes): X.stack(sample=[...]) "
            "joins some, and X.transpose('sample', ...) puts samples first"
        )
    if dims[1].lower() in TIME and dims[0].lower() not in TIME:
        raise ValueError(
            f"X has dimensions {tuple(dims)}, and samples come first: X.transpose{dims[1], dims[0]}"
        )
    named = dims[1] in X.coords and X.coords[dims[1]].dtype.kind in "OUT"
    return X.to_pandas() if named else X.to_numpy()


def _columns(X: Any) -> Iterable[tuple[Any, Any]]:
    """Return the names and columns of a data frame; none of anything else."""
    if hasattr(X, "items") and hasattr(X, "dtypes"):
        return X.items()  # type: ignore[no-any-return]
    if hasattr(X, "get_columns"):  # a frame of polars
        return zip(X.columns, X.get_columns())
    return ()


def name_column(X: Any, error: Exception) -> None:
    """Say which column of a DataFrame is not made of numbers, where that is what went wrong."""
    for name, column in _columns(X):
        values = np.asarray(column)
        if not _numeric(values):
            word = next((str(value) for value in values if isinstance(value, str)), values[0])
            raise ValueError(
                f"column {name!r} of X holds {word!r}, which is not a number; leave the column out "
                '(labels, time stamps), call it "recording" if it says which recording a row is '
                "of, or turn it into numbers"
            ) from error


def _numeric(values: Floats) -> bool:
    """Whether these are numbers, or text that reads as numbers."""
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
