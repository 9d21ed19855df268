"""What is run: sets, methods and their settings, for the quick and the full experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from graphdict.app.experiments.grids import Cell, Grid, settings
from graphdict.app.experiments.real.environments import EnvironmentFailedError, fetch_data, make
from graphdict.app.experiments.real.measure import ENVIRONMENT_OF, measure
from graphdict.app.experiments.real.sets import FOLDS, load
from graphdict.datasets import DatasetNotFoundError, RecordingError
from graphdict.datasets.eyes import find_runs

Settings = dict[str, list[dict[str, Any]]]  # to try, by method

GRAPH_MODELS: Settings = {
    "GraphDictMarginal": settings(n_atoms=[1], sparsity=[1.0, 0.0]),
    "LedoitWolf": [{}],
    "GraphicalLassoCV": [{}],
    "Correlation": [{}],
    "GGLasso": settings(gamma=[0.0, 0.1]),
}


class RealGrid(Grid):
    """A grid whose sets have one task each, which only settings of that task suit."""

    def cells(
        self,
        models: Iterable[str] | None = None,
        data: Iterable[str] | None = None,
        seeds: Iterable[int] | None = None,
    ) -> list[Cell]:
        return [
            cell
            for cell in super().cells(models, data, seeds)
            if cell.seed in self.data[cell.data]["parts"]
            and cell.setting["task"] == self.data[cell.data]["task"]
        ]


def _sets(scale: str, subjects: list[int]) -> dict[str, dict[str, Any]]:
    """Return the sets by name: kind, task, parts (folds, subjects or shares) and what to load."""
    quick = scale == "quick"
    folds = [0] if quick else list(range(FOLDS))
    found: dict[str, dict[str, Any]] = {}
    for kind in ("returns", "temperature", "brittany", "flights", "fmri", "income"):
        found[kind] = {"kind": kind, "task": "signals", "parts": folds}
    for subject in subjects[:1] if quick else subjects[:5]:
        for run in ("open",) if quick else ("open", "closed"):
            found[f"eeg-{subject}-{run}"] = {
                "kind": "eyes", "task": "signals", "parts": [0] if quick else [0, 2],
                "subject": subject, "run": run,
            }  # fmt: skip
    for name, band in (("eyes", [1.0, 30.0]), ("eyes-alpha", [7.0, 14.0])):
        if not quick or name == "eyes":
            found[name] = {"kind": "eyes", "task": "states", "parts": subjects, "band": band}
    found["imagery"] = {"kind": "imagery", "task": "features", "parts": subjects}
    found["seasons"] = {
        "kind": "temperature", "task": "states", "parts": [0] if quick else [0, 1, 2, 3],
    }  # fmt: skip
    for number in (1, 2) if quick else (1, 2, 3, 5, 8, 10, 13, 15):
        found[f"netsim-{number}"] = {
            "kind": "netsim", "task": "graphs", "parts": [0], "simulation": number,
            "count": 15 if quick else 50,
        }  # fmt: skip
    return found


def _models(scale: str) -> Settings:
    """Return the settings of each method; none has more than ours has for the same task.

    Methods that choose their own penalty (Ledoit-Wolf, graphical lasso) have one setting.
    """
    quick = scale == "quick"
    models: Settings = {}
    tasks = {
        "signals": _signal_models(quick), "states": _state_models(quick),
        "features": _feature_models(quick), "graphs": GRAPH_MODELS,
    }  # fmt: skip
    for task, tried in tasks.items():
        for name, found in tried.items():
            models.setdefault(name, []).extend({"task": task, **setting} for setting in found)
    return models


def _signal_models(quick: bool) -> Settings:
    """Return the settings of densities of held-out signals."""
    sizes = [3] if quick else [3, 6]
    # How many atoms; whether edges have to pay and are nonnegative (the default), or neither.
    dense = {"signed": True, "sparsity": 0.0}
    ours: list[dict[str, Any]] = [{"n_atoms": 1}, {"n_atoms": 3}, {"n_atoms": 3, **dense}]
    if not quick:
        ours += [{"n_atoms": 6}, {"n_atoms": 6, **dense}, {"n_atoms": 1, **dense}]
    ours = [
        {**s, "max_active": 1} | ({"prior": "markov"} if s["n_atoms"] > 1 else {}) for s in ours
    ]
    few: list[Any] = [1e-5, 1e-4, 1e-3]  # of the variance
    ridges: dict[str, list[Any]] = {"n_states": sizes, "ridge": few}
    # None is its own prior; the quick run has one setting less, since it is the slowest there.
    own: dict[str, list[Any]] = {"n_states": sizes, "ridge": [None, *few[2 if quick else 1 :]]}
    penalties: dict[str, list[Any]] = {
        "alpha": [0.1] if quick else [0.05, 0.2], "beta": [1.0] if quick else [1.0, 10.0]
    }  # fmt: skip
    return {
        "GraphDictMarginal": ours,
        "StudentT": settings(ridge=[1e-6, 1e-3]),
        "LedoitWolf": [{}],
        "GraphicalLassoCV": [{}],
        "Correlation": [{}],
        "GaussianMixture": settings(**ridges),
        "GaussianHMM": settings(**own),
        "TimeGraphicalLasso": settings(**penalties),
        "GGLasso": settings(gamma=[0.1]),
        "AuthorsGraphDictLog": settings(
            n_atoms=[3], max_iter=[100 if quick else 300], l1_w=[0.1] if quick else [0.01, 0.1, 1.0]
        ),
    }


def _state_models(quick: bool) -> Settings:
    """Return the settings of methods that find states."""
    states: Settings = {
        "GraphDictMarginal": settings(max_active=[1], sparsity=[1.0] if quick else [1.0, 0.0]),
        "PowerKMeans": [{}],
        "GaussianMixture": settings(n_states=[2], ridge=[1e-3] if quick else [1e-5, 1e-3]),
        "GaussianHMM": settings(n_states=[2], ridge=[None], components=[20] if quick else [10, 20]),
        "RiemannKmeans": settings(
            estimator=["lwf"], metric=["logeuclid"] if quick else ["riemann", "logeuclid"]
        ),
        "Microstates": settings(n_microstates=[4] if quick else [4, 6]),
    }
    if not quick:  # the slowest of all
        states["OslHMM"] = settings(components=[20], epochs=[20])
        # A minute a fit at 300 iterations, and no state found by them: 100 have to do.
        states["AuthorsGraphDictLog"] = settings(n_atoms=[2], max_iter=[100], l1_w=[0.1])
    return states


def _feature_models(quick: bool) -> Settings:
    """Return the settings of features of trials."""
    return {
        "GraphDictMarginal": settings(n_atoms=[1] if quick else [1, 3], max_active=[1]),
        "LogPower": [{}],
        "CSP": settings(n_components=[6] if quick else [4, 6]),
        "TangentSpace": settings(estimator=["lwf"], C=[1.0] if quick else [0.1, 1.0]),
    }


def grid(
    scale: str,
    data_folder: Path | None = None,
    environments: Path | None = None,
    subjects: list[int] | None = None,
) -> RealGrid:
    """Return the grid of the "quick" or the "full" experiment."""
    chosen = subjects or ([1, 2, 3] if scale == "quick" else list(range(1, 16)))
    sets = _sets(scale, chosen)
    return RealGrid(
        experiment="real",
        scale=scale,
        data=sets,
        models=_models(scale),
        seeds=sorted({part for found in sets.values() for part in found["parts"]}),
        draw=partial(_no_draw, (data_folder, environments), {}),
        build=_no_draw,
        thresholds=(),
        measure=measure,
    )


def prepare(declared: Grid, say: Callable[[str], None]) -> Grid:
    """Return the grid with what can be run: sets that are there, methods that are installed."""
    data_folder, home = declared.draw.args[0]  # type: ignore[attr-defined]
    folders: tuple[Path | None, ...] = (data_folder, None) if data_folder else (None,)
    pythons: dict[str, Path] = {}
    needed = [name for name in declared.models if name in ENVIRONMENT_OF]
    if home is None:
        say(f"left out, since --environments names no folder: {', '.join(needed)}")
    else:
        for name in dict.fromkeys(ENVIRONMENT_OF[method] for method in needed):
            try:
                pythons[name] = make(name, home)
            except EnvironmentFailedError as error:
                say(f"left out: {error}")
        try:
            folders = (*folders, fetch_data(home))
        except EnvironmentFailedError as error:
            say(str(error))
    sets = {name: _readable(a, folders, say) for name, a in declared.data.items()}
    sets = {name: found for name, found in sets.items() if found["parts"]}
    if not sets:
        raise ValueError("no set can be read: data_folder must name the folder with their files")
    models = {
        name: tried
        for name, tried in declared.models.items()
        if name not in ENVIRONMENT_OF or ENVIRONMENT_OF[name] in pythons
    }
    draw = partial(_no_draw, folders, pythons)
    seeds = [s for s in declared.seeds if any(s in found["parts"] for found in sets.values())]
    return replace(declared, data=sets, models=models, seeds=seeds, draw=draw)


def _readable(arguments: Any, folders: tuple[Path | None, ...], say: Any) -> dict[str, Any]:
    """Return a set with the parts that can be read."""
    by_subject = arguments["task"] == "features" or (
        arguments["kind"] == "eyes" and arguments["task"] == "states"
    )
    kept: list[Any] = []
    for part in arguments["parts"]:
        try:
            if arguments["kind"] == "eyes":
                find_runs(part if by_subject else arguments["subject"], folders[0])
            elif by_subject:
                load({**arguments, "subject": part}, folders)
            elif not kept:
                load(arguments, folders)
            kept.append(part)
        except (DatasetNotFoundError, RecordingError) as error:
            say(f"left out: {error}")
            if not by_subject:
                break
        except ImportError as error:
            say(f"left out: {error}")
            break
    return {**arguments, "parts": kept}


def _no_draw(*arguments: Any) -> Any:
    raise NotImplementedError("cells of this experiment load their sets themselves")
