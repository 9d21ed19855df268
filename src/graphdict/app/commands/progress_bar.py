"""A progress bar with the objective, which also ticks while a fit is initialised."""

from __future__ import annotations

import sys
import threading
from typing import Any, Self

__all__ = ["ProgressBar"]


class ProgressBar:
    """Progress of a fit on stderr; use as a model's callback inside ``with``."""

    def __init__(self, title: str, total: int, show: bool):
        self.title, self.total, self.show = title, total, show
        self.objective: float | None = None

    def __enter__(self) -> Self:
        from tqdm import tqdm

        terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=self.total, desc=self.title, unit="it", leave=False, disable=not self.show,
            file=sys.stderr, dynamic_ncols=True, mininterval=0.1 if terminal else 10,
            delay=0 if terminal else 10,
        )  # fmt: skip
        self._bar.set_postfix_str("starting", refresh=terminal)
        self._closed = threading.Event()
        if self.show and terminal:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __call__(self, progress: Any) -> None:
        self.objective = float(progress.objective)
        # Solvers count from one again in each of their stages.
        step = max(1, progress.iteration - self._bar.n) if progress.iteration > self._bar.n else 1
        self._bar.total = max(self._bar.total, self._bar.n + step)
        self._bar.set_postfix_str(f"objective {self.objective:.6g}", refresh=False)
        self._bar.update(step)

    def __exit__(self, *_: Any) -> None:
        self._closed.set()
        self._bar.close()

    def _tick(self) -> None:
        """Update the elapsed time between iterations."""
        while not self._closed.wait(0.5):
            self._bar.refresh()
