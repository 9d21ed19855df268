"""Build a model from the options of ``graphdict fit``."""

from __future__ import annotations

import json
from typing import Any

import click

from graphdict.app.commands.console import Console
from graphdict.app.commands.preprocessing import parse_window
from graphdict.app.files import SignalTable

MODELS = {
    "marginal": "GraphDictMarginal",
    "log": "GraphDictLog",
    "spectral": "GraphDictSpectral",
    "spectral-relaxed": "GraphDictSpectralRelaxed",
    "exact": "GraphDictExact",
    "hier": "GraphDictHier",
}
MANY_VALUES = 5_000_000  # from which fewer random starts are used
MOST_POSTERIORS = 50_000_000  # windows times patterns that a Markov chain holds in memory


def model_class(name: str) -> type:
    """Return the class of a model by its short name."""
    import graphdict

    return getattr(graphdict, MODELS[name])


def accepts_missing(model: Any) -> bool:
    """Return whether a model accepts NaN."""
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


def build_model(signals: SignalTable, options: dict[str, Any], console: Console) -> Any:
    """Return the unfitted model that the options ask for."""
    name, atoms = options["model"], options["atoms"]
    rows = len(signals.values)
    estimator = model_class(name)
    known = estimator().get_params()
    window = window_of(options["window"], signals.step)
    settings: dict[str, Any] = {
        "n_atoms": atoms,
        "window_size": window,
        "random_state": options["seed"],
    }
    if name == "hier":
        settings = {"n_windows": _tree_windows(atoms, options["window"], window, rows, console)}
    if name == "marginal":
        given = given_settings(options)
        settings |= _marginal(signals, atoms, options["active"], window, given, console)
    elif "n_init" in known:
        settings["n_init"] = 3
    if options["max_iter"] is not None:
        settings["max_iter"] = options["max_iter"]
    if options["penalty"] is not None:
        settings["sparsity" if "sparsity" in known else "alpha_w"] = options["penalty"]
    if options["checkpoint"] is not None:
        settings["checkpoint"] = str(options["checkpoint"])
    if options["active"] != "auto" and "max_active" not in known:
        raise click.BadParameter(
            f"--model {name} has no limit on the atoms that are active at a time; --model "
            "marginal does",
            param_hint="--active",
        )
    settings |= given_settings(options)
    return estimator(**settings)


def _tree_windows(atoms: int, given: str | None, window: int, rows: int, console: Console) -> int:
    """Return the number of windows of the tree of ``--model hier``, from --window or else -k."""
    if given is not None:
        windows = max(1, rows // window)
        if atoms != 2 * windows - 1:
            console.note(
                f"--window gives a tree over {windows} windows, which has {2 * windows - 1} atoms; "
                f"-k {atoms} has no effect"
            )
        return windows
    if atoms % 2 == 0 or atoms > 2 * rows - 1:
        nearest = [2 * rows - 1] if atoms > 2 * rows - 1 else [atoms - 1, atoms + 1]
        raise click.BadParameter(
            f"--model hier learns a tree over n windows, which has 2 n - 1 atoms, at most "
            f"{2 * rows - 1} here; use -k {' or '.join(map(str, nearest))}, or give the length of "
            "windows with --window",
            param_hint="-k",
        )
    return (atoms + 1) // 2


def window_of(text: str | None, step: float | None) -> int:
    """Return the samples of a window given as text, 1 by default."""
    try:
        return 1 if text is None else parse_window(text, step)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--window") from None


def _marginal(
    signals: SignalTable,
    atoms: int,
    active: int | str,
    window: int,
    given: dict[str, Any],
    console: Console,
) -> dict[str, Any]:
    """Return settings of the marginal model that suit the signals and those that were given."""
    from graphdict.engine.marginal.forecast import forecast

    prior, settings = given.get("prior"), dict[str, Any]()
    levels = given.get("levels", 1)
    if not isinstance(levels, int) or levels < 1:
        raise click.BadParameter(
            f"levels must be a whole number of at least 1, got {levels!r}", param_hint="--set"
        )
    if signals.values.size > MANY_VALUES:
        settings["n_init"] = 2
        console.note("many samples: 2 random starts instead of 8 (--set n_init=8 takes more)")
    timed = signals.times is not None or signals.step is not None
    if prior is None and window == 1 and timed:
        settings["prior"] = "markov"  # it also fits states that do not last
    elif prior is None and window == 1 and atoms > 1:
        console.note(
            "no times are known, so samples are treated as independent; if rows are in order of "
            "time, --rate 1 lets states last from one to the next"
        )
    if prior == "hierarchy":
        if isinstance(active, int):
            console.note(
                f"prior=hierarchy decides which atoms are active; --active {active} has no effect"
            )
        return settings
    if given.get("signed"):
        return settings | {"max_active": 1}
    windows = -(-len(signals.values) // window)
    largest, wanted = _largest_active(atoms, active, levels, windows)
    if largest < wanted:
        console.note(f"at most {largest} atom(s) active at a time, so that it fits into memory")
    starts = given.get("n_init", settings.get("n_init", 8))
    if isinstance(starts, int) and (
        said := forecast(
            n_atoms=atoms, max_active=min(largest, 2), levels=levels, n_init=starts,
            windows=windows, nodes=signals.values.shape[1],
        )
    ):  # fmt: skip
        console.note(f"{said} (--active, and --set n_init={max(starts // 2, 1)} for fewer starts)")
    free = active == "auto" and largest == wanted > 1
    return settings | {"max_active": None if free else largest}


def _largest_active(atoms: int, active: int | str, levels: int, windows: int) -> tuple[int, int]:
    """Return how many atoms may be active so that it fits into memory, and how many were wanted."""
    from graphdict.core.marginal.patterns import count_patterns, default_max_active

    wanted = min(atoms, active if isinstance(active, int) else default_max_active(atoms, levels))
    largest = wanted
    while largest > 1 and windows * count_patterns(atoms, largest, levels) > MOST_POSTERIORS:
        largest -= 1
    return largest, wanted


def given_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return what ``--set`` gives to the model that the options name."""
    return _parse_settings(options["settings"], model_class(options["model"])().get_params())


def _parse_settings(pairs: tuple[str, ...], known: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of ``--set NAME=VALUE`` as a dict."""
    found = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or name not in known:
            names = ", ".join(sorted(known))
            raise click.BadParameter(
                f"expected NAME=VALUE with one of {names}, got {pair!r}", param_hint="--set"
            )
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = {"True": True, "False": False, "None": None}.get(text, text)
    return found
