"""Will a fit find the memory it needs? Said before it starts, with what would need less.

The estimate is that of the largest arrays that live at the same time: what grows with the samples,
the pairs of nodes and the atoms, and the blocks in which work is done. It is right to a factor of
three on the shapes of ``tests/robustness/test_memory.py``.
"""

from __future__ import annotations

import os
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.exceptions import MemoryForecastWarning, NotEnoughMemoryError, warn

__all__ = ["available_memory", "check_memory", "estimate_memory"]

BLOCK = 1 << 24
PATTERNS = 1 << 24  # of the marginal model's blocks
REFUSE = 3  # times what is there: beyond that, no error of the estimate can help


def check_memory(model: Any, shape: tuple[int, int], dtype: Any) -> None:
    """Warn where a fit may not find the memory it needs; refuse where it cannot."""
    available = available_memory()
    if available is None:
        return
    needed = estimate_memory(model, shape, dtype)
    if needed <= available:
        return
    told = (
        f"{type(model).__name__} needs about {_size(needed)} for {shape[0]} samples on {shape[1]} "
        f"nodes, and {_size(available)} of memory are available; {_advice(model, dtype)}"
    )
    if needed > REFUSE * available:
        raise NotEnoughMemoryError(told)
    warn(told, MemoryForecastWarning)


def estimate_memory(model: Any, shape: tuple[int, int], dtype: Any) -> int:
    """Bytes that ``model.fit`` takes at its peak, beside the signals themselves."""
    from graphdict.engine.sources import too_large

    samples, nodes = shape
    size = np.dtype(dtype).itemsize
    edges = nodes * (nodes - 1) // 2
    signals = samples * nodes * size
    prepared = 0 if _streams(model, shape, dtype) else signals
    windows = _windows(model, samples)
    atoms = _atoms(model, windows)
    kind = type(model).__name__
    numbers = nodes if kind == "GraphDictSpectral" else edges  # kept of each window
    keeps = windows < samples or kind == "GraphDictSpectral"
    building = 3 * min(samples * numbers * size, BLOCK) if keeps else 0
    solving = 8 * atoms * edges * size
    if kind in ("WindowLogModel", "TGFA", "GraphDictHier"):
        copies = 10 if kind != "WindowLogModel" else 6
        solving += copies * windows * edges * 8
        if getattr(model, "likelihood", None) == "log-det":
            solving += 8 * windows * nodes**2 * 8
        if kind == "GraphDictHier":
            solving += samples * atoms * size
    elif kind == "GraphDictMarginal":
        building = 0
        rows = windows * _patterns(model) * 8
        solving += 4 * min(rows, PATTERNS) + 2 * samples * atoms * size
        if model.prior == "markov" and not too_large((rows,), np.uint8):  # kept for sweeps
            solving += rows
    elif hasattr(model, "n_atoms"):
        image = nodes**2 if kind == "GraphDictExact" else nodes
        bipds = model.solver == "bipds" or model.alpha_diff > 0
        solving += (8 if bipds else 4) * windows * atoms * size + samples * atoms * size
        solving += 3 * windows * image * size if bipds else 0
        solving += windows * numbers * size if keeps else 0
    else:
        building = 0
        solving += 5 * samples * atoms * 8 if atoms > 1 else 0
    return int(prepared + max(4 * min(signals, BLOCK), building, solving))


def available_memory() -> int | None:
    """Bytes that this process may still take; None where nobody says."""
    limits = [_meminfo(), _cgroup(), _address_space()]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def _streams(model: Any, shape: tuple[int, int], dtype: Any) -> bool:
    from graphdict.engine.sources import too_large

    return bool(model._reads_in_parts) and too_large(shape, dtype)


def _windows(model: Any, samples: int) -> int:
    if type(model).__name__ == "GraphDictHier":
        return min(samples, model.n_windows or 2 ** min(model.depth, 40))
    return -(-samples // max(1, getattr(model, "window_size", 1)))


def _atoms(model: Any, windows: int) -> int:
    if type(model).__name__ == "GraphDictHier":
        return 2 * windows - 1
    return int(getattr(model, "n_atoms", getattr(model, "n_clusters", 1)))


def _patterns(model: Any) -> int:
    most = min(model.max_active or model.n_atoms, model.n_atoms)
    counted = sum(comb(model.n_atoms, size) for size in range(1, most + 1))
    return counted if model.max_active else min(counted, 5000)


def _advice(model: Any, dtype: Any) -> str:
    """What would need less."""
    ways = []
    if np.dtype(dtype) == np.float64:
        ways.append("float32 signals halve it")
    if model._reads_in_parts:
        ways.append("a memory map (numpy.load(..., mmap_mode='r')) is read part by part")
    if hasattr(model, "window_size") or hasattr(model, "n_windows"):
        ways.append("larger windows have fewer graphs to learn")
    if getattr(model, "max_active", 0) is None:
        ways.append("a small max_active leaves fewer patterns")
    return "; ".join(ways or ["fewer samples or nodes need less"])


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return prod(os.sysconf(name) for name in ("SC_AVPHYS_PAGES", "SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return None


def _cgroup() -> int | None:
    """What a container may still take."""
    old = ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")
    for limit, used in (("memory.max", "memory.current"), old):
        try:
            root = Path("/sys/fs/cgroup")
            most, taken = (int((root / name).read_text()) for name in (limit, used))
        except (OSError, ValueError):
            continue
        if most < 1 << 60:
            return max(most - taken, 0)
    return None


def _address_space() -> int | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(limit - pages * resource.getpagesize(), 0)
    except (ImportError, OSError, ValueError):
        return None


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
