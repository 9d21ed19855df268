"""Threads that work together on one thing after another.

Those of an executor take a tenth of a millisecond to be set to work and to be waited for, which is
seen where a pass over the samples takes one. These wait at a queue, and whoever asks works too. For
jobs that need nothing of Python there are others (``native/team.hpp``), quicker still.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

from graphdict import native

__all__ = ["Team"]


class Team:
    """So many threads beside the one that calls; use it in a ``with`` statement."""

    def __init__(self, helpers: int):
        self.tasks: SimpleQueue = SimpleQueue()
        self.compiled = native.Team(helpers)
        self.helpers = [Thread(target=self._serve, daemon=True) for _ in range(helpers)]

    def __enter__(self) -> Team:
        for helper in self.helpers:
            helper.start()
        return self

    def __exit__(self, *exception: object) -> None:
        for _ in self.helpers:
            self.tasks.put(None)
        for helper in self.helpers:
            helper.join()

    def run(self, jobs: list[Callable[[], Any]]) -> None:
        """All of them, in any order."""
        compiled = [job for job in jobs if isinstance(job, native.Job)]
        if len(compiled) == len(jobs):
            self.compiled.run(compiled)
        else:
            self.map(lambda index: jobs[index](), len(jobs))

    def map(self, visit: Callable[[int], Any], count: int) -> list[Any]:
        """``visit`` of 0, ..., ``count - 1``: each thread takes the next one, and so does this."""
        found: list[Any] = [None] * count
        left = iter(range(count))

        def work() -> None:
            try:
                for index in left:
                    found[index] = visit(index)
            finally:  # after an error nobody begins another one
                for _ in left:
                    pass

        ends: SimpleQueue = SimpleQueue()  # of this call alone: an interrupt may leave some in it
        for _ in self.helpers:
            self.tasks.put((work, ends))
        try:
            work()
        finally:
            errors = [ends.get() for _ in self.helpers]
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
