"""Where signals are while a model works on them: here, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphdict.app.commands.console import Console
from graphdict.app.commands.prepare import settled
from graphdict.app.files.stored import Stored

__all__ = ["placed"]

CHUNK_BYTES = 1 << 26


@contextmanager
def placed(values: Any, address: str | None, console: Console) -> Iterator[Any]:
    """Signals as a model takes them; with an address, as a Dask array on that cluster."""
    if address is None:
        yield settled(values)
        return
    from graphdict.engine import connection

    with connection.connect(address) as client:
        threads = client.nthreads()
        console.say(
            f"On the Dask cluster at {address}: {len(threads)} worker(s) with "
            f"{sum(threads.values())} thread(s)"
        )
        if isinstance(values, Stored):
            connection.check_file(client, values.source.path)
        rows, nodes = values.shape
        size = min(CHUNK_BYTES // (nodes * values.dtype.itemsize), rows // sum(threads.values()))
        yield connection.spread(values, max(1, size))
