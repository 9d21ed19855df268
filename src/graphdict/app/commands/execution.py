"""Give signals to a model in this process, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphdict.app.commands.console import Console
from graphdict.app.commands.preprocessing import cache_slow_source
from graphdict.app.files.lazy_signals import LazySignals

CHUNK_BYTES = 1 << 26


@contextmanager
def open_signals(values: Any, address: str | None, console: Console) -> Iterator[Any]:
    """Yield signals as a model takes them: with an address, a Dask array on that cluster."""
    if address is None:
        yield cache_slow_source(values)
        return
    from graphdict.engine import connection

    with connection.connect(address) as client:
        threads = client.nthreads()
        console.say(
            f"On the Dask cluster at {address}: {len(threads)} worker(s) with "
            f"{sum(threads.values())} thread(s)"
        )
        if isinstance(values, LazySignals):
            connection.check_file(client, values.source.path)
        rows, nodes = values.shape
        size = min(CHUNK_BYTES // (nodes * values.dtype.itemsize), rows // sum(threads.values()))
        yield connection.spread(values, max(1, size))
