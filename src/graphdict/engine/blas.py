"""How many threads BLAS uses, and a way to hold it to one.

Work on many small matrices gains nothing from a threaded BLAS and loses much to its threads waiting
for each other; work on blocks of samples brings threads of its own.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import ContextDecorator
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Return how many threads OMP_NUM_THREADS and the like, and the machine, allow.

    Fits that run at the same time in several threads share them.
    """
    if single_threaded_blas.depth:
        return max(1, single_threaded_blas.allowed // (single_threaded_blas.others() + 1))
    numbers = [info["num_threads"] for info in _controller().info()]
    return max(1, min([*numbers, _cores()]))


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _SingleThreadedBlas(ContextDecorator):
    """A limit that several fits in several threads may hold at once; the last one lifts it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth = 0
        self.allowed = 1
        self.limiter: Any = None
        self.holders: Counter[int] = Counter()

    def others(self) -> int:
        """Return how many other threads hold the limit."""
        return len(self.holders) - (threading.get_ident() in self.holders)

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.allowed = blas_threads()
                self.limiter = _controller().limit(limits=1)
            self.depth += 1
            self.holders[threading.get_ident()] += 1

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.depth -= 1
            mine = threading.get_ident()
            self.holders[mine] -= 1
            if not self.holders[mine]:
                del self.holders[mine]
            if self.depth == 0:
                self.limiter.restore_original_limits()

    def before_fork(self) -> None:
        """Take the lock, so that no thread changes the state while it is copied to a child."""
        self.lock.acquire()

    def after_fork(self) -> None:
        """Release the lock in the parent."""
        self.lock.release()

    def in_child(self) -> None:
        """Forget what other threads hold: a child has only the thread that forked."""
        self.lock = threading.Lock()
        mine = self.holders[threading.get_ident()]
        self.holders = Counter({threading.get_ident(): mine} if mine else {})
        if self.depth and not mine:
            self.limiter.restore_original_limits()
        self.depth = mine


single_threaded_blas = _SingleThreadedBlas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=single_threaded_blas.before_fork,
        after_in_parent=single_threaded_blas.after_fork,
        after_in_child=single_threaded_blas.in_child,
    )
"""``with single_threaded_blas:`` around a passage, or ``@single_threaded_blas`` on a function."""
