"""From signals to a fitted model and how sure it is: choose settings, fit, compare, learn again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from graphdict.app.commands.choose import Choices, choose_counts, choose_degree, compare_fitted
from graphdict.app.commands.console import Console, Stopped
from graphdict.app.commands.execution import open_signals
from graphdict.app.commands.models import build_model
from graphdict.app.commands.preprocessing import subsample
from graphdict.app.files import SignalTable
from graphdict.core.marginal.patterns import pattern_sizes
from graphdict.engine.marginal.redundant import idle_atoms
from graphdict.engine.tasks import Task, subtask

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.selection import Stability

MOST_VALUES = 5_000_000  # up to which a dictionary is learned again
LEARNING, COMPARING, AGAIN = 1.0, 0.5, 0.4  # work for each graph: to learn, and to tell how sure
FEW_GRAPHS = 2  # usual number, to plan by before it is known
ROWS_FOR_HALVES = 10  # windows in each half of the time


class Learned(NamedTuple):
    """A fitted model, and what is known of it."""

    model: Any
    seconds: float  # that the fit took
    choices: Choices
    stability: Stability | None
    complete: bool  # False where the user interrupted the fit itself


def learn(
    signals: SignalTable, values: Any, options: dict[str, Any], console: Console, whole: Task
) -> Learned:
    """Return the model of ``values`` (T, N) that options ask for; ``whole`` is told the work."""
    recordings = signals.recordings
    with open_signals(values, options["dask"], console) as X:
        if recordings is not None:
            if options["dask"] is not None:
                raise click.UsageError("--dask is for one file: give one, or leave it out")
            X = dict(zip(recordings.names, recordings.split(values), strict=True))
        choosing, later, graphs = _planned_work(options)
        whole.plan(choosing + later * graphs)
        with subtask("Choosing", choosing, choosing) as task:
            choices = choose_counts(signals, subsample(values), options, console)
            task.cost = task.done
        model = build_model(signals, options, console)
        learning = LEARNING * options["atoms"]
        whole.plan(whole.done + later * options["atoms"])
        if options["degree"] is not None or options["density"] is not None:
            with subtask("Choosing the penalty", 5, 5 * learning):
                penalty = choose_degree(model, subsample(values), options, console)
            choices.settings["penalty"] = penalty
        with subtask("Learning", cost=learning):
            seconds = _fit(model, X, console)
            if (used := _used_atoms(model, options, choices)) and not console.interrupted:
                console.note(
                    f"{options['atoms'] - used} of {options['atoms']} atoms are used by no "
                    f"sample: learning again with {used}"
                )
                options["atoms"], options["active"] = used, min(options["active"], used)
                model = build_model(signals, options, console)
                seconds += _fit(model, X, console)
        if options["model"] == "marginal" and options["active"] == "auto":
            choices.settings["active"] = {"value": int(pattern_sizes(model.patterns_).max())}
    complete = not console.interrupted
    if choices.blocks is not None and complete:
        work = COMPARING * options["atoms"]
        with subtask("Comparing with one graph", options["atoms"] + 1, work):
            choices.evidence = compare_fitted(model, choices, signals, options, console)
    with subtask("Learning again", cost=AGAIN * options["atoms"]):
        again = _stability(model, values, options, console)
    return Learned(model, seconds, choices, again, complete)


def _fit(model: Any, values: Any, console: Console) -> float:
    """Fit; return the seconds it took.

    Ctrl-C ends it with what was learned by then, or, where a checkpoint has that, raises Stopped.
    """
    path = model.get_params().get("checkpoint")
    if path is not None and Path(path).exists():
        console.say(f"Resuming from the checkpoint {path} ...")
    started = time.perf_counter()
    with console.warnings_as_lines(keep=True):
        model.fit(values)
    if console.interrupted and path is not None:
        raise Stopped(f"stopped; the same command goes on from the checkpoint {path}")
    return time.perf_counter() - started


def _used_atoms(model: Any, options: dict[str, Any], choices: Choices) -> int:
    """Return how many atoms are used, where the number was chosen and some are not; else 0."""
    if "atoms" not in choices.settings or options["atoms"] == 1:
        return 0
    idle = idle_atoms(model.atoms_, np.asarray(model.coefficients_).sum(axis=0))
    return max(1, options["atoms"] - len(idle)) if idle else 0


def _planned_work(options: dict[str, Any]) -> tuple[float, float, int]:
    """Return the planned cost of choosing, of the rest for each graph, and the likely number.

    The unit is what learning one graph takes.
    """
    auto, asked = options["atoms"] == "auto", bool(options["evidence"])
    graphs = FEW_GRAPHS if auto else options["atoms"]
    later = LEARNING + asked * (AGAIN + (not auto) * COMPARING)
    return (FEW_GRAPHS + 3.0 if auto else 0.0), later, graphs


def _stability(
    model: Any, values: Any, options: dict[str, Any], console: Console
) -> Stability | None:
    """Return how alike atoms of halves of the time are; None where that is not asked."""
    from graphdict.selection import stability

    known = model.get_params()
    by_time = options["model"] == "hier" or known.get("prior") == "hierarchy"
    rows = len(values) // (2 * known.get("window_size", 1))
    if not options["evidence"] or by_time or not isinstance(values, np.ndarray):
        return None
    if console.interrupted:
        return None
    if values.size > MOST_VALUES or rows < max(ROWS_FOR_HALVES, len(model.atoms_)):
        return None
    console.say("Learning again from each half of the time, to see what comes out again ...")
    recordings = getattr(model, "recordings_", None)
    parts = values if recordings is None or len(recordings) == 1 else recordings.split(values)
    try:
        return stability(model, parts)
    except KeyboardInterrupt:
        console.interrupted = True
        return None
