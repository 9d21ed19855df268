"""Connect to a Dask cluster and check its workers; errors say what to do where it is lost."""

from __future__ import annotations

import importlib.metadata
import os
import warnings
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np

from graphdict.exceptions import ClusterError, import_extra

CONNECT_SECONDS = 10
LOST = (  # names, since some versions of distributed lack some of these classes
    "CancelledError", "ClosedClientError", "CommClosedError", "FutureCancelledError",
    "FuturesCancelledError", "KilledWorker", "TimeoutError",
)  # fmt: skip


def find_client(X: Any) -> Any:
    """Return the active client of ``dask.distributed`` for a Dask array; None for anything else."""
    if type(X).__module__.split(".")[0] != "dask":
        return None
    try:
        from distributed import Future, default_client
    except ImportError:
        return None
    for value in X.__dask_graph__().values():
        if isinstance(value, Future) and value.client.status != "running":
            raise ClusterError(
                "X lives on a Dask cluster whose client is closed: open a new Client and make the "
                "array again"
            )
    try:
        return default_client()
    except ValueError:
        return None


def connect(address: str) -> Any:
    """Return a client of the scheduler at an address, whose workers have this graphdict."""
    import_extra("distributed", "a Dask cluster", "dask")
    from distributed import Client
    from distributed.comm import resolve_address

    try:
        resolve_address(address)  # a client of a wrong one would stay Dask's default, half open
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address!r}: {error}") from None
    try:
        check_workers(client)
    except ClusterError:
        client.close()
        raise
    return client


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or whose workers have another graphdict or none."""
    import graphdict

    versions = client.run(importlib.metadata.version, "graphdict", on_error="return")
    if not versions:
        raise ClusterError("the Dask cluster has no workers; start some, then fit")
    ours = graphdict.__version__
    for worker, version in sorted(versions.items()):
        if version != ours:
            found = "no graphdict" if isinstance(version, Exception) else f"graphdict {version}"
            raise ClusterError(
                f"the Dask worker {worker} has {found}; install graphdict {ours}, which is used "
                "here, on every worker"
            )


def check_file(client: Any, path: Any) -> None:
    """Refuse a file that some worker does not see."""
    for worker, wrong in sorted(client.run(_cannot_read, str(path)).items()):
        if wrong:
            raise ClusterError(
                f"the Dask worker {worker} cannot read {path} ({wrong}); put the file where every "
                "worker sees it, or raise scikit-learn's working_memory so that it is read here "
                "and sent"
            )


def spread(values: Any, rows: int) -> Any:
    """Return signals as a Dask array that lives on the workers; what is in a file is read there."""
    import dask.array as da

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        array = da.from_array(
            values, chunks=(rows, -1), name=f"signals-{uuid4().hex}", asarray=True
        )
        return wait_for(array.persist)


def check_array(X: Any, client: Any) -> Any:
    """Return the array with whole rows in its chunks; raise where it cannot be fitted."""
    if X.ndim == 2 and np.isnan(X.shape).any():
        raise ValueError("X has chunks of unknown sizes; call X.compute_chunk_sizes() before fit")
    check_workers(client)
    return X.rechunk({1: -1}) if X.ndim == 2 else X


def wait_for(ask: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return the result of a client; raise with what to do where the cluster was lost."""
    try:
        return ask(*arguments, **options)
    except Exception as error:
        if type(error).__name__ not in LOST:
            raise
        raise ClusterError(
            f"the Dask cluster lost the fit ({type(error).__name__}: {error}); with checkpoint= "
            "the same call goes on where it last wrote"
        ) from error


def _cannot_read(path: str) -> str | None:
    """Return why a file or folder cannot be read, or None."""
    try:
        os.stat(path)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None if os.access(path, os.R_OK) else "no permission"
