"""Run one cell: simulate the data, fit the model, score its graphs at every threshold."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from graphdict.app.experiments.grids import Cell, Dataset, Grid
from graphdict.exceptions import InterruptedFitWarning
from graphdict.metrics import scores_by_threshold

DIGITS = 6  # of scores in files


def run_cell(grid: Grid, cell: Cell) -> dict[str, Any]:
    """Return the row of a cell: its scores, seconds and warnings, or a traceback.

    One BLAS thread, so that cells in parallel do not disturb each other and the last digit of a
    score does not depend on the number of cores.
    """
    row: dict[str, Any] = {"cell": cell.describe(), "status": "done"}
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            row.update((grid.measure or recover)(grid, cell))
        except Exception as error:
            row.update(
                status="failed",
                error=f"{type(error).__name__}: {error}",
                traceback=traceback.format_exc(),
            )
    if any(issubclass(w.category, InterruptedFitWarning) for w in caught):
        raise KeyboardInterrupt  # the fit is not finished: do not save its scores
    row["warnings"] = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    return row


def recover(grid: Grid, cell: Cell) -> dict[str, Any]:
    """Fit a model to simulated signals, and score its graphs against the true ones."""
    samples = _draw(grid, cell.data, cell.seed)
    started = time.perf_counter()
    model = grid.build(cell.model, cell.setting, cell.fit_seed).fit(samples.signals)
    fitted = time.perf_counter()
    predicted = _weights(model.instantaneous_graphs(), samples.graphs)
    unit = float(predicted.mean()) or 1.0
    cuts = unit * np.asarray(grid.thresholds)
    measured: dict[str, Any] = {"unit": unit, "train": _scores(samples.graphs, predicted, cuts)}
    if samples.test_signals is not None:
        predicted = _weights(model.instantaneous_graphs(samples.test_signals), samples.test_graphs)
        measured["test"] = _scores(samples.test_graphs, predicted, cuts)
    measured["seconds"] = {
        "fit": round(fitted - started, 3),
        "score": round(time.perf_counter() - fitted, 3),
    }
    return measured


def _weights(graphs: Any, true: NDArray[Any] | None) -> NDArray[Any]:
    """Return predicted edge weights in the shape of the true ones; raise where they do not fit."""
    weights = np.asarray(graphs.weights)
    assert true is not None
    if len(weights) == 1:  # one graph for all samples
        weights = np.broadcast_to(weights, (len(true), weights.shape[1]))
    if weights.shape != true.shape:
        raise ValueError(f"expected graphs of shape {true.shape}, the model gave {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("the model gave weights that are not finite")
    return weights


def _scores(true: Any, predicted: NDArray[Any], cuts: NDArray[Any]) -> dict[str, list[float]]:
    """Return each score at each threshold, rounded."""
    scores = asdict(scores_by_threshold(true, predicted, cuts))
    return {name: [round(float(x), DIGITS) for x in values] for name, values in scores.items()}


_drawn: dict[tuple[str, str, int], Dataset] = {}


def _draw(grid: Grid, data: str, seed: int) -> Dataset:
    """Return the data of a cell, cached for the next cell, which mostly has the same."""
    key = (grid.digest, data, seed)
    if key not in _drawn:
        _drawn.clear()
        _drawn[key] = grid.draw(grid.data[data], seed)
    return _drawn[key]
