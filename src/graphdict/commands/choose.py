"""Settings of a fit that are left to the data: how many atoms, and which penalty."""

from __future__ import annotations

from typing import Any

import click

from graphdict.commands.console import Console
from graphdict.commands.models import build
from graphdict.files import SignalTable

__all__ = ["choose_counts", "choose_degree"]


def choose_counts(
    signals: SignalTable, values: Any, options: dict[str, Any], console: Console
) -> dict[str, Any]:
    """Set the number of atoms, and of active ones, by held-out signals."""
    from graphdict.selection import choose_max_active, choose_n_atoms

    automatic = [name for name in ("atoms", "active") if options[name] == "auto"]
    if not automatic or options["model"] != "marginal" or options["atoms"] == 1:
        return {}
    asked = {name: options[name] for name in automatic}
    chosen: dict[str, Any] = {}
    console.say("Choosing the number of atoms by signals that are not learned from ...")
    # How many atoms there are depends on how many may be active, and the other way round.
    turns = (["atoms", "active", "atoms"] if len(automatic) == 2 else automatic)  # fmt: skip
    for name in turns:
        if name == "atoms" and chosen.get("active", {}).get("value") == 2:
            break  # what it was chosen with
        trial_options = options | {"checkpoint": None}
        if name == "atoms":
            trial_options["atoms"] = 2
        trial = build(signals, trial_options, Console(quiet=True))
        choose = choose_n_atoms if name == "atoms" else choose_max_active
        try:
            choice = choose(trial, values, report=console.note)
        except ValueError as error:
            if "windows" not in str(error) or asked.get("atoms"):
                raise
            console.note("too few samples to choose how many atoms are active: at most 2")
            return {}
        options[name] = choice.value
        chosen[name] = {"value": choice.value, "scores": choice.scores}
    words = {"atoms": "atoms", "active": "active at a time"}
    said = ", ".join(f"{options[name]} {words[name]}" for name in automatic)
    console.note(f"{said}: the fewest that are about as good as the best")
    return chosen


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
