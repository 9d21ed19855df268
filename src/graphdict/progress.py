"""A progress bar over solver iterations, made of a callback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphdict.solvers import Progress
from graphdict.solvers.base import Callback

__all__ = ["with_progress"]


@contextmanager
def with_progress(
    callback: Callback | None, total: int, verbose: int, title: str
) -> Iterator[Callback | None]:
    """The user's callback, joined by a bar that shows the objective where ``verbose`` asks."""
    if not verbose:
        yield callback
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=title, unit="it", leave=verbose > 1) as bar:

        def show(progress: Progress) -> bool | None:
            bar.update(progress.iteration - bar.n)
            bar.set_postfix_str(
                f"objective {progress.objective:.6g}, residual {progress.residual:.1e}",
                refresh=False,
            )
            return callback(progress) if callback is not None else None

        yield show
