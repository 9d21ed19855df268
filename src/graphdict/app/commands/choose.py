"""Choose settings of a fit from the data: number of atoms, and penalty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from sklearn.base import clone

from graphdict.app.commands.console import Console
from graphdict.app.commands.models import build_model, given_settings
from graphdict.app.files import SignalTable
from graphdict.core.annotations import Floats
from graphdict.core.marginal.patterns import count_patterns, pattern_sizes

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.selection.folds import HeldOutBlocks
    from graphdict.selection.held_out import ScoreChoice
    from graphdict.selection.one_graph import Evidence

FEW, MOST, MOST_ACTIVE = 2, 10, 3  # atoms to compare with one, at most, and active at most
ALWAYS = 0.9  # mean coefficient from which on an atom is active all the time
ACTIVE, RARE = 0.5, 0.02  # coefficient of an active atom, and share of samples of a set that counts


@dataclass
class Choices:
    """What was chosen from the data, and how sure it is.

    Attributes
    ----------
    settings : dict
        Chosen settings with the scores of all values, for the JSON result.
    evidence : Evidence, optional
        Whether there is more than one graph; None where that was not asked.
    blocks : HeldOutBlocks, optional
        What to hold out where the fitted model is to be compared with one graph.
    statistics : array (1 + S,), optional
        How much the covariance varies in the series and in surrogates, for that comparison.
    remark : str, optional
        A sentence on how sure the number of atoms is.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    evidence: Evidence | None = None
    blocks: HeldOutBlocks | None = None
    statistics: Floats | None = None
    remark: str | None = None


def choose_counts(
    signals: SignalTable, values: Any, options: dict[str, Any], console: Console
) -> Choices:
    """Set ``atoms`` and ``active`` of the options where ``atoms`` are "auto".

    By blocks of time, held out in turn. Where there is no clear sign of more than one graph, "auto"
    is one. A number that is given is compared with one graph by the same blocks, but once it is
    learned (:func:`compare_fitted`): that is much quicker.
    """
    from graphdict.selection.folds import TooFewBlocksError, complete, cut_blocks, cut_study
    from graphdict.selection.one_graph import (
        PROBABLE,
        SURROGATES,
        surrogate_p_value,
        surrogate_statistics,
    )
    from graphdict.selection.trials import split_pieces

    if options["model"] == "hier" or _is_hierarchy(options):
        return Choices()
    if options["atoms"] == 1 or not (options["atoms"] == "auto" or options["evidence"]):
        return Choices()
    trial = _trial(signals, options)
    try:
        if signals.recordings is None:
            blocks = cut_blocks(complete(np.asarray(values, dtype=float)), trial.window_size)
        else:
            parts, owners = split_pieces(np.asarray(values, dtype=float), signals.recordings)
            given = [complete(part) for part in parts]
            blocks = cut_study(given, trial.window_size, owners=owners)
    except TooFewBlocksError:
        return _too_few(options, console)
    if order := len(blocks.autoregression):
        console.note(
            f"samples depend on the {order} before them; this is taken out for the comparison with "
            "one graph"
        )
    statistics = surrogate_statistics(blocks, SURROGATES if options["evidence"] else 0)
    if options["atoms"] == "auto":
        console.say("Predicting held-out blocks of time, to see how many graphs there are ...")
        return _choose_atoms(trial, blocks, statistics, options, console)
    if options["model"] == "marginal":
        _let_states_last(options, surrogate_p_value(statistics) <= PROBABLE, blocks)
    return Choices(blocks=blocks, statistics=statistics)


def compare_fitted(
    model: Any, choices: Choices, signals: SignalTable, options: dict[str, Any], console: Console
) -> Evidence | None:
    """Return the evidence that a fitted model has more than one graph; None if interrupted.

    In place of a model of another kind, a GraphDictMarginal with as many graphs is compared.
    """
    from graphdict.selection.folds import block_scores
    from graphdict.selection.one_graph import compare_with_one

    blocks, statistics = choices.blocks, choices.statistics
    assert blocks is not None
    assert statistics is not None
    console.say("Predicting held-out blocks of time, to see whether one graph would do ...")
    fitted = model if options["model"] == "marginal" else None
    trial = _trial(signals, options)
    if fitted is not None:
        trial.set_params(max_active=int(pattern_sizes(model.patterns_).max()))
    try:
        several = block_scores(trial, blocks, fitted=fitted, cost=trial.n_atoms)
        one = clone(trial).set_params(n_atoms=1, max_active=1)
        alone = block_scores(one, blocks, fitted=several.model)
        return compare_with_one(blocks, alone.blocks, several.blocks, several.model, statistics)
    except KeyboardInterrupt:
        console.interrupted = True
        return None


def _is_hierarchy(options: dict[str, Any]) -> bool:
    """Return whether time decides which atoms are active, so that there is nothing to choose."""
    if options["model"] != "marginal":
        return False
    if given_settings(options).get("prior") != "hierarchy":
        return False
    if options["atoms"] == "auto":
        raise click.UsageError("prior=hierarchy needs the number of its windows, such as -k 7")
    if options["active"] == "auto":
        options["active"] = options["atoms"]  # the hierarchy decides which atoms are active
    return True


def _trial(signals: SignalTable, options: dict[str, Any]) -> Any:
    """Return an unfitted GraphDictMarginal with exclusive states, that last where they do."""
    counts = {
        "atoms": FEW if options["atoms"] == "auto" else options["atoms"], "active": 1,
        "checkpoint": None, "model": "marginal",
    }  # fmt: skip
    if options["model"] != "marginal":
        counts |= {"settings": (), "penalty": None, "max_iter": None}
    trial = build_model(signals, options | counts, Console(quiet=True))
    if "prior" not in given_settings(options | counts):
        trial.set_params(prior="markov")  # it also fits states that do not last
    return trial


def _too_few(options: dict[str, Any], console: Console) -> Choices:
    """Set counts where there are too few samples to choose them, and say so."""
    if options["atoms"] == "auto":
        options["atoms"] = options["active"] = 1
    console.note("too few samples to tell whether there is more than one graph")
    return Choices(remark="Samples are too few to tell whether there is more than one graph.")


def _choose_atoms(
    trial: Any, blocks: HeldOutBlocks, statistics: Floats, options: dict[str, Any], console: Console
) -> Choices:
    """Set atoms and active: one graph unless more are clearly better."""
    from graphdict.selection.folds import block_scores
    from graphdict.selection.held_out import choose_by_blocks
    from graphdict.selection.one_graph import LASTING, PROBABLE, compare_with_one, surrogate_p_value

    active = options["active"]
    first: int = 1 if active == "auto" else active
    trial.set_params(max_active=first)
    tried = range(1, MOST + 1)
    choice = choose_by_blocks(trial, blocks, "n_atoms", tried, report=console.note)
    one, most = choice.block_scores[1], first
    if choice.models[1]._is_papers_model:
        trial.set_params(filter_power=1)
    several_states = choice.value > 1 or surrogate_p_value(statistics) <= PROBABLE
    if active == "auto" and several_states:
        choice, most = _choose_active(trial, blocks, choice, console)
    value, remark = choice.value, None
    if max(choice.scores, key=lambda k: choice.scores[k]) == MOST:
        value = _enough(choice.scores, float(one.mean()))
        remark = (
            f"Every further graph, up to {MOST}, predicts held-out blocks better: the signals do "
            f"not say how many states there are. {value} graphs gain half of what {MOST} do; "
            f"-k {MOST} learns all."
        )
    several = max(FEW, value)
    if several not in choice.block_scores:  # no sample uses two atoms
        options["atoms"] = options["active"] = 1
        chosen = {"atoms": {"value": 1, "active": 1, "scores": choice.scores}}
        return Choices(chosen, remark="No sample uses the second of two graphs.")
    scores, fitted = choice.block_scores[several], choice.models[several]
    if most > first:
        trial.set_params(n_atoms=several, max_active=most)
        dense = block_scores(trial, blocks, fitted=fitted)
        scores, fitted = dense.blocks, dense.model
    found = compare_with_one(blocks, one, scores, fitted, statistics)
    value = value if found.clear else 1
    options["atoms"], options["active"] = value, min(most, value)
    _let_states_last(options, found.stay >= LASTING, blocks)
    chosen = {"atoms": {"value": value, "active": most, "scores": choice.scores}}
    return Choices(chosen, found, remark=remark if value > 1 else None)


def _choose_active(
    trial: Any, blocks: HeldOutBlocks, choice: ScoreChoice, console: Console
) -> tuple[ScoreChoice, int]:
    """Return the choice with as many active atoms as are clearly better, and how many these are.

    States of several active atoms are fewer atoms than states, or three where two states are as
    good as three. They have fewer weights to learn, and may be seen where states alone are not.
    """
    from graphdict.selection.folds import block_scores, error_of_mean
    from graphdict.selection.held_out import CLEARLY, choose_by_blocks

    most, scores = 1, choice.block_scores[1]
    if choice.value > 1:
        states = clone(trial).set_params(n_atoms=choice.value)
        fitted = choice.models[choice.value]
        scores = block_scores(states, blocks, fitted=fitted, sparse=True).blocks
    for more in range(2, MOST_ACTIVE + 1):
        other = choose_by_blocks(
            trial.set_params(max_active=more), blocks, "n_atoms",
            _sizes(max(FEW, choice.value), more), report=console.note,
        )  # fmt: skip
        gain = other.block_scores[other.value] - scores
        superposed = _is_superposition(other.models[other.value], more)
        if not (superposed and gain.mean() > CLEARLY * error_of_mean(gain)):
            break
        choice, most, scores = other, more, other.block_scores[other.value]
    return choice, most


def _is_superposition(model: Any, most: int) -> bool:
    """Return whether ``most`` atoms of a model are active together, not one state at a time.

    They are not where an atom is always active, which is only what states have in common, nor where
    there are fewer sets of active atoms than atoms, each of which could be one graph.
    """
    coefficients = np.asarray(model.coefficients_)
    if coefficients.mean(axis=0).max() > ALWAYS:
        return False
    sets, counts = np.unique(coefficients >= ACTIVE, axis=0, return_counts=True)
    used = sets[counts >= RARE * len(coefficients)]
    return len(used) >= coefficients.shape[1] and bool((used.sum(axis=1) == most).any())


def _sizes(states: int, active: int) -> range:
    """Return the numbers of atoms to try, ``active`` at a time, where ``states`` states were found.

    Their sets of active atoms are as many as the states, to twice as many.
    """
    if states == FEW:
        return range(FEW + 1, FEW + 2)
    sets = {k: count_patterns(k, active) for k in range(active, MOST + 1)}
    fewest = min(k for k, count in sets.items() if count >= states)
    enough = min(k for k, count in sets.items() if count >= 2 * states)
    return range(fewest, min(states, enough) + 1)


def _enough(scores: dict[int, float], one: float) -> int:
    """Return the least number of atoms with half of the gain of the largest over one."""
    half = (one + scores[max(scores)]) / 2
    return min(k for k, score in scores.items() if score >= half)


def _let_states_last(options: dict[str, Any], last: bool, blocks: HeldOutBlocks) -> None:
    """Set the prior of states that last where they do and the user did not say otherwise."""
    given = given_settings(options)
    one_by_one = options["window"] is None and not len(blocks.autoregression)
    if last and one_by_one and "prior" not in given and options["atoms"] > 1:
        options["settings"] = (*options["settings"], "prior=markov")


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
