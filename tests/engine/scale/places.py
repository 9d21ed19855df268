"""Where signals may be, and a watch on what comes back from a cluster."""

import numpy as np
import pytest


def as_map(signals, folder):
    path = folder / "signals.npy"
    np.save(path, signals)
    return np.load(path, mmap_mode="r")


def as_zarr(signals, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(
        folder / "signals.zarr",
        shape=signals.shape,
        dtype=signals.dtype,
        chunks=(70, signals.shape[1]),
    )
    array[:] = signals
    return array


def as_dask(signals, folder):
    return pytest.importorskip("dask.array").from_array(signals, chunks=(90, 4))


def as_array(signals, folder):
    return signals


def sizes_gathered(client):
    """A list that grows by the largest array of each thing that the client gathers from now on."""
    sizes = []
    gather = client.gather

    def watched(futures, *args, **kwargs):
        found = gather(futures, *args, **kwargs)
        sizes.append(_largest(found))
        return found

    client.gather = watched
    return sizes


def _largest(found):
    """Number of entries of the largest array in nested tuples and lists."""
    if isinstance(found, (list, tuple)):
        return max((_largest(item) for item in found), default=0)
    return np.size(found)
