"""How far work has come, and how long the rest takes: tasks within tasks, timed as they go.

Code that works reports it by :func:`subtask` and :func:`advance`, and need not know who listens: a
fit is the whole task when it is run alone, and a subtask of choosing the number of atoms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

DEPTH = 3  # of nested tasks, up to which remarks are passed on
ALMOST = 0.9  # of all: what counts as done of work that goes on beyond its plan


@dataclass
class Task:
    """A piece of work.

    Attributes
    ----------
    title : str
        What is being done.
    total : float
        Planned cost, in a unit of its own, such as iterations or fits.
    cost : float
        How much of the ``total`` of the task around it this one makes up. Subtasks of cost 0, such
        as reading a file, are left out when the time that is left is estimated.
    remark : str
        What else there is to say, such as the objective.
    """

    title: str
    total: float
    cost: float = 1.0
    remark: str = ""
    listener: Callable[[Task], None] | None = field(default=None, repr=False)
    clock: Callable[[], float] = field(default=time.perf_counter, repr=False)
    done: float = field(default=0.0, init=False)
    inner: Task | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._begun, self._planned = self.clock(), self.total
        self._aside = 0.0  # seconds of subtasks without a cost

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return self.clock() - self._begun

    @property
    def share(self) -> float:
        """How much of the plan is done, from 0 to 1."""
        inside = self.inner.cost * self.inner.share if self.inner is not None else 0.0
        return min((self.done + inside) / self.total, 1.0) if self.total > 0 else 0.0

    def plan(self, total: float) -> None:
        """Set the planned cost, where more is known than before."""
        self.total = self._planned = max(total, self.done)

    def advance(self, cost: float = 1.0) -> None:
        """Count work that is done; what goes beyond the plan makes it longer."""
        self.done += cost
        if self.done > self._planned * (1 + 1e-9):
            self.total = self.done / ALMOST

    def reach(self, share: float) -> None:
        """Set how much is done, where that is known otherwise; never less than before."""
        self.done = max(self.done, min(share, 1.0) * self.total)

    def left(self) -> float | None:
        """Return the seconds that the rest is expected to take; None where nothing is measured.

        For the subtask under way by its own progress and, while that is small, by the time that
        earlier subtasks took for their cost; for later subtasks by the time of all until then.
        """
        inner, now = self.inner, self.clock()
        if inner is None:
            worked = now - self._begun - self._aside
            return None if self.done <= 0 else worked * (self.total - self.done) / self.done
        worked = inner._begun - self._begun - self._aside
        rate = worked / self.done if self.done > 0 else None
        own, rest = inner.left(), max(self.total - self.done - inner.cost, 0.0)
        if inner.cost <= 0:
            return None if rate is None else (own or 0.0) + rest * rate
        expected = None if rate is None else max(rate * inner.cost - inner.elapsed, 0.0)
        if own is None or expected is None:
            here = expected if own is None else own
        else:
            here = inner.share * own + (1 - inner.share) * expected
        if here is None:
            return None
        return here + rest * (worked + inner.elapsed + here) / (self.done + inner.cost)

    def _end(self, inner: Task) -> None:
        self.inner = None
        if inner.cost > 0:
            self.done += inner.cost
            self.total = max(self.total, self.done)
        else:
            self._aside += inner.elapsed


_stack: ContextVar[tuple[Task, ...]] = ContextVar("graphdict_tasks", default=())


def current_task() -> Task | None:
    """Return the innermost task under way; None where nobody listens."""
    stack = _stack.get()
    return stack[-1] if stack else None


def advance(cost: float = 1.0, remark: str = "") -> None:
    """Count work of the innermost task, if somebody listens."""
    task = current_task()
    if task is not None:
        task.advance(cost)
        tell(remark)


def expect(cost: float) -> None:
    """Plan for so much more work of the innermost task, if somebody listens."""
    task = current_task()
    if task is not None:
        task.plan(max(task.total, task.done + cost))


@contextmanager
def work(title: str, total: float, listener: Callable[[Task], None] | None) -> Iterator[Task]:
    """Listen to the work done inside ``with``: ``listener`` gets the whole task at each advance."""
    task = Task(title, total, listener=listener)
    kept = _stack.set((task,))
    try:
        yield task
    finally:
        _stack.reset(kept)


@contextmanager
def subtask(title: str, total: float = 1.0, cost: float = 1.0) -> Iterator[Task]:
    """Make what is done inside ``with`` a subtask of the task under way, if there is one."""
    stack = _stack.get()
    task = Task(title, total, cost, clock=stack[-1].clock if stack else time.perf_counter)
    if not stack:
        yield task
        return
    kept = _stack.set((*stack, task))
    stack[-1].inner = task
    try:
        tell()
        yield task
    finally:
        _stack.reset(kept)
        stack[-1]._end(task)
        stack[0].remark = ""
        tell()


def tell(remark: str = "") -> None:
    """Let the listener know how far the work is, and what else there is to say."""
    stack = _stack.get()
    if stack:
        whole = stack[0]
        if len(stack) <= DEPTH:  # of fits among many, remarks tell nothing
            whole.remark = remark or whole.remark
        if whole.listener is not None:
            whole.listener(whole)
