"""A pool of threads that runs many short jobs.

A pool of :mod:`concurrent.futures` takes a tenth of a millisecond to start work and to be waited
for, which shows where a pass over the samples takes one millisecond. Threads here wait at a queue,
and the calling thread works too. Compiled jobs, which need nothing of Python, have a pool of their
own (``native/thread_pool.hpp``), which is faster still. Both start when they are first needed:
idle threads that wait for work keep cores from each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from queue import SimpleQueue
from threading import Thread
from typing import Any

from graphdict import native


class ThreadPool:
    """``helpers`` threads beside the one that calls; use it in a ``with`` statement."""

    def __init__(self, helpers: int):
        self.helpers = helpers
        self.tasks: SimpleQueue = SimpleQueue()
        self.threads: list[Thread] = []

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.__dict__.pop("compiled", None)  # whose threads end with it
        self.tasks.put(None)
        for thread in self.threads:
            thread.join()

    @cached_property
    def compiled(self) -> native.ThreadPool:
        """The pool that runs compiled jobs."""
        return native.ThreadPool(self.helpers)

    def run(self, jobs: list[Callable[[], Any]]) -> None:
        """Run all jobs, in any order."""
        compiled = [job for job in jobs if isinstance(job, native.Job)]
        if len(compiled) == len(jobs):
            self.compiled.run(compiled)
        else:
            self.map(lambda index: jobs[index](), len(jobs))

    def map(self, visit: Callable[[int], Any], count: int) -> list[Any]:
        """Call ``visit`` with 0, ..., ``count - 1``, each in the next free thread."""
        found: list[Any] = [None] * count
        left = iter(range(count))

        def work() -> None:
            try:
                for index in left:
                    found[index] = visit(index)
            finally:  # after an error nobody begins another one
                for _ in left:
                    pass

        helpers = max(0, min(self.helpers, count - 1))
        while len(self.threads) < helpers:
            thread = Thread(target=self._serve, daemon=True)
            thread.start()
            self.threads.append(thread)
        ends: SimpleQueue = SimpleQueue()  # of this call alone: an interrupt may leave some in it
        for _ in range(helpers):
            self.tasks.put((work, ends))
        try:
            work()
        finally:
            errors = [ends.get() for _ in range(helpers)]
        for error in errors:
            if error is not None:
                raise error
        return found

    def _serve(self) -> None:
        for work, ends in iter(self.tasks.get, None):
            try:
                work()
            except BaseException as error:  # is raised where the work was asked for
                ends.put(error)
            else:
                ends.put(None)
            del work, ends  # and what they hold: the next ones may be long in coming
        self.tasks.put(None)  # for the others, of whom there may be one that was not listed in time
