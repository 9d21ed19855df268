"""Read Zarr folders whose arrays hold plain numbers; refuse others before a chunk is decoded."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.app.files.arrays import array_table, signals_among
from graphdict.app.files.errors import InputError, first_line
from graphdict.app.files.table import Table
from graphdict.exceptions import import_extra

METADATA = (".zarray", ".zgroup", ".zmetadata", "zarr.json")
CODECS = frozenset({
    "blosc", "zlib", "gzip", "bz2", "lzma", "zstd", "lz4", "bytes", "endian", "transpose",
    "crc32c", "adler32", "crc32", "fletcher32", "sharding_indexed", "delta", "shuffle", "bitround",
    "fixedscaleoffset", "quantize", "packbits", "astype",
})  # fmt: skip
NUMBERS = re.compile(r"[<>|=]?[biuf]\d{1,2}|bool|u?int(?:8|16|32|64)|float(?:16|32|64)")
MOST_BYTES = 1 << 24  # of metadata
ALWAYS, MOST_RATIO = 1 << 27, 1000  # bytes of numbers allowed in any folder, and for each on disk


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a Zarr array or group."""
    return path.is_dir() and any((path / name).exists() for name in METADATA)


def read_zarr(path: Path, wanted: str | None = None) -> Table:
    """Read the signals (T, N) of a Zarr array or group; ``wanted`` names the array."""
    return array_table(np.asarray(open_zarr(path, wanted)[...]), "its array", [])


def open_zarr(path: Path, wanted: str | None = None) -> Any:
    """Open the array of signals of a Zarr folder without reading it.

    Raises InputError for arrays of Python objects, for codecs that are not known to be harmless,
    and for shapes that the bytes on disk cannot fill.
    """
    zarr = import_extra("zarr", "a Zarr array", "dask")
    _check_metadata(path)
    try:
        found: Any = zarr.open(str(path), mode="r")
        if not hasattr(found, "dtype"):
            shapes = {name: array.shape for name, array in found.arrays()}
            found = found[signals_among(shapes, wanted)]
    except InputError:
        raise
    except Exception as error:  # readers of binary formats fail in many ways
        raise InputError(f"cannot be read as a Zarr array: {first_line(error)}") from None
    held = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    claimed = math.prod(map(int, found.shape)) * found.dtype.itemsize
    if claimed > ALWAYS and claimed > MOST_RATIO * held:
        raise InputError(
            f"has an array of shape {found.shape}, {claimed:,} bytes, in {held:,} bytes on disk"
        )
    return found


def _check_metadata(path: Path) -> None:
    """Raise InputError for data types and codecs that are not in the lists above."""
    for name in METADATA:
        for file in (path / name, *path.glob(f"*/{name}")):
            if not file.is_file():
                continue
            if file.stat().st_size > MOST_BYTES:
                raise InputError(f"has metadata that are far too large: {file.name}")
            try:
                content = json.loads(file.read_bytes())
            except (ValueError, RecursionError):
                raise InputError(f"has damaged metadata: {file.name}") from None
            for kind, value in _types_and_codecs(content):
                if kind == "type" and not (isinstance(value, str) and NUMBERS.fullmatch(value)):
                    raise InputError(
                        f"holds {str(value)[:40]!r}, not plain numbers, and is not loaded"
                    )
                if kind == "codec" and value not in CODECS:
                    raise InputError(
                        f"needs the codec {str(value)[:40]!r}, which is not known to be safe"
                    )


def _types_and_codecs(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield ("type", data type) and ("codec", name) of all arrays in a metadata document."""
    pending = [content]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        if not isinstance(item, dict):
            continue
        for key, value in item.items():
            if key in ("attributes", "attrs") or str(key).endswith(".zattrs"):
                continue
            if key in ("dtype", "data_type"):
                yield "type", value
            elif key in ("compressor", "filters", "codecs", "index_codecs"):
                for codec in value if isinstance(value, list) else [value]:
                    if codec is not None:
                        named = codec if isinstance(codec, dict) else {"name": codec}
                        plain = str(named.get("id", named.get("name")))
                        yield "codec", plain.removeprefix("numcodecs.")
                        pending.append(named.get("configuration"))
            else:
                pending.append(value)
