"""Estimate the memory of a fit before it starts; warn or refuse, with what would need less.

The estimate is that of the largest arrays that live at the same time: what grows with the samples,
the pairs of nodes and the atoms, and the blocks in which work is done. It is right to a factor of
three on the shapes of ``tests/robustness/test_memory.py``.
"""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from graphdict.engine.estimator_protocols import ForeseesMemory
from graphdict.engine.signals import BLOCK_BYTES
from graphdict.engine.sources import too_large
from graphdict.exceptions import MemoryForecastWarning, NotEnoughMemoryError, warn

REFUSE = 3  # times the available memory: an estimate is not wrong by more than that


def check_memory(model: ForeseesMemory, shape: tuple[int, int], dtype: Any) -> None:
    """Warn where a fit may not find the memory it needs; refuse where it cannot."""
    available = available_memory()
    if available is None:
        return
    needed = estimate_memory(model, shape, dtype)
    if needed <= available:
        return
    message = (
        f"{type(model).__name__} needs about {_size(needed)} for {shape[0]} samples on {shape[1]} "
        f"nodes, and {_size(available)} of memory are available; {_advice(model, dtype)}"
    )
    if needed > REFUSE * available:
        raise NotEnoughMemoryError(message)
    warn(message, MemoryForecastWarning)


def estimate_memory(model: ForeseesMemory, shape: tuple[int, int], dtype: Any) -> int:
    """Return the bytes that ``model.fit`` takes at its peak, beside the signals themselves.

    What building the problem and solving it take, an estimator says itself.
    """
    samples, nodes = shape
    size = np.dtype(dtype).itemsize
    signals = samples * nodes * size
    prepared = 0 if model._takes_lazy and too_large(shape, dtype) else signals
    building, solving = model._memory_needed(samples, nodes, size)
    return int(prepared + max(4 * min(signals, BLOCK_BYTES), building, solving))


def available_memory() -> int | None:
    """Return the bytes that this process may still take; None where the system does not say."""
    limits = [_meminfo(), _cgroup(), _address_space()]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def _advice(model: ForeseesMemory, dtype: Any) -> str:
    """Return what would need less memory, as a sentence."""
    ways = []
    if np.dtype(dtype) == np.float64:
        ways.append("float32 signals halve it")
    if model._takes_lazy:
        ways.append("a memory map (numpy.load(..., mmap_mode='r')) is read part by part")
    if hasattr(model, "window_size") or hasattr(model, "n_windows"):
        ways.append("larger windows have fewer graphs to learn")
    if getattr(model, "max_active", 0) is None:
        ways.append("a small max_active leaves fewer patterns")
    return "; ".join(ways or ["fewer samples or nodes need less"])


def _meminfo() -> int | None:
    """Return the bytes of memory that are free, or that the system can free."""
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
    """Return the bytes that the limit of a container leaves, None without a limit."""
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
    """Return the bytes that a limit of the address space (ulimit -v) leaves, None without one."""
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
