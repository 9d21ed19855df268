"""Choose settings of a fit from the data: number of atoms, and penalty."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from graphdict.app.commands.console import Console
from graphdict.app.commands.models import build_model
from graphdict.app.files import SignalTable

__all__ = ["choose_counts", "choose_degree"]


def choose_counts(
    signals: SignalTable, values: Any, options: dict[str, Any], console: Console
) -> dict[str, Any]:
    """Set ``atoms`` and ``active`` of the options where they are "auto", by held-out likelihood.

    Returns the choices and their scores, for the JSON result.
    """
    from graphdict.selection import choose_max_active, choose_n_atoms

    atoms, active = options["atoms"], options["active"]
    if options["model"] != "marginal" or atoms == 1 or "auto" not in (atoms, active):
        return {}

    def trial(**counts: int) -> Any:
        return build_model(signals, options | counts | {"checkpoint": None}, Console(quiet=True))

    if trial(atoms=3 if atoms == "auto" else atoms, active=1).prior == "hierarchy":
        if atoms == "auto":
            raise click.UsageError("prior=hierarchy needs the number of its windows, such as -k 7")
        options["active"] = atoms  # the hierarchy decides which atoms are active
        return {}
    what = "atoms" if atoms == "auto" else "atoms are active at a time"
    console.say(f"Choosing how many {what} by the likelihood of held-out signals ...")
    values = _without_gaps(values, console)
    if atoms != "auto":
        try:
            found = choose_max_active(trial(active=2), values, report=console.note)
        except ValueError as error:
            if "windows" not in str(error):
                raise
            console.note("too few samples to choose how many atoms are active: using at most 2")
            return {}
        options["active"] = found.value
        chosen: dict[str, Any] = {"active": {"value": found.value, "scores": found.scores}}
    else:
        chosen, best = {}, -float("inf")
        # The best number of atoms depends on how many may be active: one first, then more.
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
    """Return the signals with column means for missing values, which would slow the trial fits."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    console.note("for this choice, missing values are replaced by the mean of their column")
    return np.where(missing, np.nanmean(values, axis=0), values)


def choose_degree(
    model: Any, values: Any, options: dict[str, Any], console: Console
) -> dict[str, Any]:
    """Set the penalty of the model that gives the wanted degree or density; return the choice."""
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
