"""Show progress: one bar with the time that is left, and log messages of a solver's iterations."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, TypeVar, cast

from graphdict.core.solvers.base import Callback, Progress
from graphdict.engine.estimator_protocols import PlansWork
from graphdict.engine.logs import logger
from graphdict.engine.tasks import Task, current_task, subtask, tell, work

Method = TypeVar("Method", bound=Callable[..., Any])

FORMAT = "{desc} {percentage:3.0f}%|{bar}| {elapsed}{postfix}"
TICK, SELDOM = 0.5, 10.0  # seconds between drawings, on a terminal and elsewhere
LITTLE, LONG = 0.02, 60.0  # share done from which the rest is estimated, or seconds


class ProgressBar:
    """A bar for all of a task: give it to :func:`graphdict.engine.tasks.work` as the listener.

    On a terminal it also counts the time between two advances. A ``log`` gets a line every ten
    seconds instead.

    Parameters
    ----------
    title : str
        What is written before the bar until a subtask has a title.
    stays : bool
        Whether the bar is left on the screen.
    log : bool
        Whether what is written goes to a file.
    """

    def __init__(self, title: str, stays: bool = False, log: bool = False):
        from tqdm.auto import tqdm

        self._lock = threading.Lock()
        self._seldom = SELDOM if log else TICK / 5
        self._bar: Any = None if log else tqdm(
            total=1.0, desc=title, leave=stays, file=sys.stderr, dynamic_ncols=True,
            bar_format=FORMAT,
        )  # fmt: skip
        self._drawn = time.perf_counter() if log else -math.inf
        self._share = 0.0
        self._task: Task | None = None
        self._left: tuple[float, float] | None = None  # seconds, and when they were estimated
        self._closed = threading.Event()
        if not log and sys.stderr.isatty():
            threading.Thread(target=self._tick, daemon=True).start()

    def __call__(self, task: Task) -> None:
        """Draw how far the task is."""
        now = time.perf_counter()
        self._task = task
        if now - self._drawn < self._seldom:
            return
        self._drawn = now
        left = task.left()
        if task.share < LITTLE and task.elapsed < LONG:
            left = None
        self._left = None if left is None else (left, now)
        share = task.share if left is None else task.elapsed / (task.elapsed + left + 1e-9)
        self._share = max(self._share, min(share, 0.999))
        self._draw()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away while other lines are written."""
        with nullcontext() if self._bar is None else self._bar.external_write_mode(sys.stderr):
            yield

    def close(self) -> None:
        """Take the bar away, or leave it, full."""
        self._closed.set()
        if self._bar is None:
            return
        with self._lock:
            self._bar.n = 1.0 if self._bar.leave else self._share
            self._bar.set_postfix_str("", refresh=False)
            self._bar.close()

    def _draw(self) -> None:
        task = self._task
        title = "" if task is None else (task.inner or task).title
        words = []
        if self._left is not None:
            left, when = self._left
            words.append(time_left(left - (time.perf_counter() - when)))
        if task is not None and task.remark:
            words.append(task.remark)
        with self._lock:
            if self._closed.is_set():
                return
            if self._bar is None:
                print(f"{title}: {', '.join([f'{self._share:.0%}', *words])}", file=sys.stderr)
                return
            self._bar.n = self._share
            self._bar.set_description_str(title or self._bar.desc, refresh=False)
            self._bar.set_postfix_str(", ".join(words), refresh=False)
            self._bar.refresh()

    def _tick(self) -> None:
        while not self._closed.wait(TICK):
            self._draw()


def time_left(seconds: float) -> str:
    """Return the seconds that are left in words, no more exact than they are known."""
    if seconds < 1:
        return "a moment left"
    if seconds < 20:
        return f"{seconds:.0f} s left"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"


@contextmanager
def shown_work(title: str, total: float, verbose: int) -> Iterator[Task]:
    """Make the work inside ``with`` a subtask of the task under way, or show a bar of its own.

    There is a bar where ``verbose`` is positive and no task is under way; it stays on the screen
    where ``verbose`` is above 1.
    """
    if not verbose or current_task() is not None:
        with subtask(title, total) as task:
            yield task
        return
    bar = ProgressBar(title, stays=verbose > 1)
    try:
        with work(title, total, bar) as task:
            yield task
    finally:
        bar.close()


def shows_progress(method: Method) -> Method:
    """Decorate the ``fit`` of an estimator: show its progress where ``verbose`` asks for it.

    Parameters are checked first, ``verbose`` among them.
    """

    @wraps(method)
    def run(self: PlansWork, *args: Any, **kwargs: Any) -> Any:
        self._validate_params()
        with shown_work(type(self).__name__, self._planned_work, self.verbose):
            return method(self, *args, **kwargs)

    return cast("Method", run)


@contextmanager
def with_progress(
    callback: Callback | None, total: int, title: str, tol: float | None = None
) -> Iterator[Callback | None]:
    """Yield a callback that tells log and progress bar of the objective, then calls ``callback``.

    Messages go to the logger "graphdict". Where there is no log and no bar, ``callback`` itself is
    yielded. ``total`` is the largest number of iterations, ``title`` stands before the figures.
    With ``tol``, the residual at which iterations end, the progress of the task under way follows
    from the residual.
    """
    if current_task() is None and not logger.isEnabledFor(logging.INFO):
        yield callback
        return
    last: list[Progress] = []
    first = 0.0
    task = current_task()
    started = time.perf_counter()

    def show(progress: Progress) -> bool | None:
        nonlocal first
        last[:] = [progress]
        if task is not None and tol is not None:
            first = first or progress.residual
            task.reach(max(progress.iteration / total, _descent(first, progress.residual, tol)))
        logger.debug(
            "%s: iteration %d, objective %.8g, residual %.3g",
            title, progress.iteration, progress.objective, progress.residual,
        )  # fmt: skip
        tell(f"objective {progress.objective:.6g}")
        return callback(progress) if callback is not None else None

    yield show
    if last:
        logger.info(
            "%s: stopped at iteration %d of at most %d, objective %.8g, residual %.3g, %.2f s",
            title, last[0].iteration, total, last[0].objective, last[0].residual,
            time.perf_counter() - started,
        )  # fmt: skip


def _descent(first: float, residual: float, tol: float) -> float:
    """Return how much of the way from the first residual to ``tol`` is done, on a log scale."""
    if not (tol > 0 and residual > 0 and tol < first < math.inf):
        return 0.0
    return max(0.0, min(1.0, math.log(first / residual) / math.log(first / tol)))
