"""Show the iterations of a solver: a progress bar and log messages, by way of its callback."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from graphdict.core.solvers.base import Callback, Progress
from graphdict.engine.logs import logger

__all__ = ["with_progress"]


@contextmanager
def with_progress(
    callback: Callback | None, total: int, verbose: int, title: str
) -> Iterator[Callback | None]:
    """Yield a callback that shows progress and then calls the user's ``callback``.

    There is a progress bar where ``verbose`` is positive (which stays where it is above 1), and
    messages go to the logger "graphdict". Where neither is wanted, ``callback`` itself is yielded.
    ``total`` is the largest number of iterations, ``title`` what is written before the figures.
    """
    if not verbose and not logger.isEnabledFor(logging.INFO):
        yield callback
        return
    last: list[Progress] = []
    started = time.perf_counter()
    with ExitStack() as stack:
        bar = None
        if verbose:
            from tqdm.auto import tqdm

            bar = stack.enter_context(tqdm(total=total, desc=title, unit="it", leave=verbose > 1))

        def show(progress: Progress) -> bool | None:
            last[:] = [progress]
            logger.debug(
                "%s: iteration %d, objective %.8g, residual %.3g",
                title, progress.iteration, progress.objective, progress.residual,
            )  # fmt: skip
            if bar is not None:
                bar.update(progress.iteration - bar.n)
                bar.set_postfix_str(
                    f"objective {progress.objective:.6g}, residual {progress.residual:.1e}",
                    refresh=False,
                )
            return callback(progress) if callback is not None else None

        yield show
    if last:
        logger.info(
            "%s: stopped at iteration %d of at most %d, objective %.8g, residual %.3g, %.2f s",
            title, last[0].iteration, total, last[0].objective, last[0].residual,
            time.perf_counter() - started,
        )  # fmt: skip
