"""Settings of a fit that are left to the data: how many atoms, and which penalty."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from graphdict.app.commands.console import Console
from graphdict.app.commands.models import build
from graphdict.app.files import SignalTable

__all__ = ["choose_counts", "choose_degree"]


def choose_counts(
    signals: SignalTable, values: Any, options: dict[str, Any], console: Console
) -> dict[str, Any]:
    """Set the number of atoms, and of those active at a time, by held-out signals."""
    from graphdict.selection import choose_max_active, choose_n_atoms

    atoms, active = options["atoms"], options["active"]
    if options["model"] != "marginal" or atoms == 1 or "auto" not in (atoms, active):
        return {}

    def trial(**counts: int) -> Any:
        return build(signals, options | counts | {"checkpoint": None}, Console(quiet=True))

    if trial(atoms=3 if atoms == "auto" else atoms, active=1).prior == "hierarchy":
        if atoms == "auto":
            raise click.UsageError("prior=hierarchy needs the number of its stretches: -k 7, say")
        options["active"] = atoms  # activations are given
        return {}
    what = "atoms" if atoms == "auto" else "atoms are active at a time"
    console.say(f"Choosing how many {what} by signals that are not learned from ...")
    values = _without_gaps(values, console)
    if atoms != "auto":
        try:
            found = choose_max_active(trial(active=2), values, report=console.note)
        except ValueError as error:
            if "windows" not in str(error):
                raise
            console.note("too few samples to choose how many atoms are active: at most 2")
            return {}
        options["active"] = found.value
        chosen: dict[str, Any] = {"active": {"value": found.value, "scores": found.scores}}
    else:
        chosen, best = {}, -float("inf")
        # How many there are depends on how many may be active: states first, then sums of them.
        for most in range(1, 4) if active == "auto" else [active]:
            tried = range(1 if not chosen else most, 11)
            model = trial(atoms=max(2, most), active=most)
            choice = choose_n_atoms(model, values, tried, report=console.note)
            if choice.scores[choice.value] <= best:
                break
            best = choice.scores[choice.value]
            options["atoms"], options["active"] = choice.value, min(most, choice.value)
            chosen = {"atoms": {"value": choice.value, "active": most, "scores": choice.scores}}
    console.note(
        f"{options['atoms']} atoms, at most {options['active']} active at a time: the fewest that "
        "are about as good as the best"
    )
    return chosen


def _without_gaps(values: Any, console: Console) -> Any:
    """Means of columns for missing values: many fits are compared, and gaps take their time."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    console.note("to choose, missing values are taken to be the mean of their column")
    return np.where(missing, np.nanmean(values, axis=0), values)


def choose_degree(
    model: Any, values: Any, options: dict[str, Any], console: Console
) -> dict[str, Any]:
    """Set the penalty that gives the wanted degree or density."""
    from graphdict.selection import choose_penalty

    degree, density = options["degree"], options["density"]
    nodes = values.shape[1]
    if degree is not None and degree > nodes - 1:
        raise click.BadParameter(
            f"{nodes} nodes have at most {nodes - 1} neighbours", param_hint="--degree"
        )
    if options["model"] == "hier":
        wanted = degree if degree is not None else density * (nodes - 1)
        model.set_params(avg_degree=max(1.0, wanted), likelihood="log-degree")
        return {"avg_degree": max(1.0, wanted)}
    console.say("Choosing the penalty that gives atoms of the wanted density ...")
    with console.warnings_as_lines():
        choice = choose_penalty(model, values, degree=degree, density=density, report=console.note)
    if not choice.reached:
        console.warn(
            f"no penalty gives atoms of the wanted density; the nearest has an average degree of "
            f"{choice.degree:.2f}"
        )
    model.set_params(**{choice.name: choice.value})
    return {"name": choice.name, "value": choice.value, "degree": choice.degree}
