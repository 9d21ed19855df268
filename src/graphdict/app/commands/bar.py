"""A progress bar with the objective, which also moves while a fit looks for its start."""

from __future__ import annotations

import sys
import threading
from typing import Any, Self

__all__ = ["FitBar"]


class FitBar:
    """Shows iterations and objective on stderr; use as a model's callback inside ``with``."""

    def __init__(self, title: str, total: int, show: bool):
        self.title, self.total, self.show = title, total, show
        self.objective: float | None = None

    def __enter__(self) -> Self:
        from tqdm import tqdm

        watched = sys.stderr.isatty()
        self._bar = tqdm(
            total=self.total, desc=self.title, unit="it", leave=False, disable=not self.show,
            file=sys.stderr, dynamic_ncols=True, mininterval=0.1 if watched else 10,
            delay=0 if watched else 10,
        )  # fmt: skip
        self._bar.set_postfix_str("starting", refresh=watched)
        self._over = threading.Event()
        if self.show and watched:
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
        self._over.set()
        self._bar.close()

    def _tick(self) -> None:
        """Move the clock while nothing else does."""
        while not self._over.wait(0.5):
            self._bar.refresh()
