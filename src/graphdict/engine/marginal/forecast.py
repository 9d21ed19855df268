"""How long the search of the marginal model takes, told before it begins."""

from __future__ import annotations

from typing import Any

from graphdict.core.marginal.patterns import count_patterns, default_max_active
from graphdict.engine.logs import logger

LONG = 30.0  # seconds from which on a fit is announced
MATRIX = 4.5e-10  # seconds for each pattern and N^3 in an iteration, on one core
POSTERIOR = 2e-8  # seconds for each window and pattern
STARTS, REST = 60, 400  # iterations of a start, and after the search


def forecast(
    *, n_atoms: int, max_active: int | None, levels: int, n_init: int, windows: int, nodes: int
) -> str | None:
    """Return a sentence on how long a fit takes and what takes less; None for a short one.

    A rough figure for one core with a power of 1; other filters take longer. Arguments are those of
    the estimator, and the numbers of windows and nodes.
    """
    largest = min(max_active or default_max_active(n_atoms, levels), n_atoms)
    patterns, fewer = (count_patterns(n_atoms, most, levels) for most in (largest, largest - 1))
    iteration = MATRIX * nodes**3 + POSTERIOR * windows  # for each pattern
    seconds = (STARTS * n_init + REST) * (patterns * iteration)
    if seconds < LONG:
        return None
    message = (
        f"{patterns} patterns of up to {largest} of {n_atoms} atoms on {nodes} nodes take about "
        f"{_span(seconds)} or more"
    )
    if largest == 1:
        return message
    less = (STARTS * n_init + REST) * (fewer * iteration)
    return f"{message}; with at most {largest - 1} active ({fewer} patterns) about {_span(less)}"


def announce(model: Any, shape: tuple[int, ...]) -> None:
    """Tell the log how long a fit of signals of a shape (T, N) takes, where it takes long."""
    if model.prior == "hierarchy":
        return
    windows = -(-shape[0] // model.window_size)
    said = forecast(
        n_atoms=model.n_atoms, max_active=model.max_active, levels=model.levels,
        n_init=model.n_init, windows=windows, nodes=shape[1],
    )  # fmt: skip
    if said is not None:
        logger.info("%s: %s", type(model).__name__, said)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.0f} hours"
