"""The brain experiment: classify imagined movement of the left or right fist from EEG.

The paper's third experiment on its recordings (EEGBCI, runs 4, 8 and 12), scored on held-out
subjects. It compares three pipelines and two references:

paper      broad-band GFP peaks, states, their features, random forests, as the paper has it
adapted    the same on mu and beta rhythms, whitened for each subject, with mean coefficients
guided     atoms of hands, learned with the coefficients that labels of training subjects give
reference  common spatial patterns and Riemannian tangent spaces
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from graphdict.app.experiments.grids import Cell, Grid, settings

PIPELINES = {"paper": "Paper", "adapted": "Adapted", "guided": "Guided", "reference": "Reference"}
SUBJECTS = {"quick": (1, 2, 3), "full": tuple(range(1, 16)), "paper": tuple(range(1, 16))}
SEEDS = {"quick": (0,), "full": (0, 1, 2), "paper": (0, 1, 2)}
DETERMINISTIC = ("guided", "reference")  # pipelines for which a seed decides nothing
AFTER_CUE = 1.0  # seconds after which the response to the cue itself has faded

# Models of states, strongly orthogonal where they are dictionaries, as in the paper. Each is tried
# on peaks as they are, and on peaks divided by the root mean square of their subject's.
STATES: dict[str, dict[str, Any]] = {
    "KMeans": {},
    "GraphDictLog": {"alpha_w": 0.0, "alpha_orth": 1.0, "max_iter": 100, "tol": 1e-3},
    "GaussianMixture": {"reg_covar": 1e-2},
    "GraphDictMarginal": {"max_active": 1, "n_init": 2, "max_iter": 40, "tol": 1e-4},
    "GLMM": {"n_init": 1, "max_iter": 60, "avg_degree": 5},
}
GUIDED: dict[str, dict[str, Any]] = {
    "GraphDictExact": {},
    "GraphDictLog": {"ridge": 10.0},
    "GaussianMixture": {},
}
REFERENCES = ("CSP", "Riemann")
# The paper's claim with every term that it names: Algorithm 1, a grid of orthogonality, all peaks,
# several forests; beside it KMeans, and a dictionary with filter and tails.
ORTHOGONALITY = (0.01, 0.1, 1.0, 10.0)
ALL_PEAKS: dict[str, Any] = {"peaks": None, "leaves": (5, 20)}
FILTERED: dict[str, Any] = {
    "filter_power": "auto", "tails": "auto", "alpha_w": "auto", "max_active": 1, "n_init": 2,
    "max_iter": 40, "tol": 1e-4,
}  # fmt: skip


def _models(scale: str) -> dict[str, list[dict[str, Any]]]:
    """Return the settings of each model; they include its "pipeline", "start" and "n_states".

    Within a pipeline, start and size, all models have the same number of settings.
    """
    if scale == "paper":
        return _as_published()
    quick = scale == "quick"
    sizes = [3] if quick else [3, 4, 8, 16]
    phases = [1] if quick else [1, 8]
    declared: list[tuple[str, list[dict[str, Any]]]] = [
        *_guided(GUIDED, 0.0, sizes),
        *_references(0.0, phases),
        *_states("paper", STATES, sizes, [None] if quick else [None, "recording"]),
    ]
    if quick:  # for comparison with the paper's three atoms
        declared += _states("paper", ["KMeans"], [16], [None])
    else:
        declared += _states("adapted", STATES, sizes, ["recording"])
        declared += _guided(["GraphDictExact", "GaussianMixture"], AFTER_CUE, sizes)
        declared += _references(AFTER_CUE, phases)
        declared += _states("paper", ["KMeans"], [16], [None, "recording"], AFTER_CUE)
    models: dict[str, list[dict[str, Any]]] = {}
    for name, tried in declared:
        models.setdefault(name, []).extend(tried)
    return models


def _as_published() -> dict[str, list[dict[str, Any]]]:
    """Return the settings of the paper's claim, and of the test whether eyes or hands are read."""
    place: dict[str, Any] = {"pipeline": "paper", "start": 0.0}
    algorithm = {"alpha_w": 0.0, "solver": "bipds", "max_iter": 100, "tol": 1e-3}
    log = [
        {**place, "n_states": 3, "normalise": None, **ALL_PEAKS, **algorithm, "alpha_orth": alpha}
        for alpha in ORTHOGONALITY
    ]
    kmeans = [
        {**place, "n_states": size, "normalise": scale, **ALL_PEAKS}
        for size in (3, 16)
        for scale in (None, "recording")
    ]
    # A filter is learned from a share of the peaks: what it takes grows with their number.
    filtered = [{**place, "n_states": 3, "normalise": None, **ALL_PEAKS, **FILTERED, "peaks": 4000}]
    models: dict[str, list[dict[str, Any]]] = {
        "GraphDictLog": log,
        "KMeans": kmeans,
        "GraphDictMarginal": filtered,
        "GraphDictExact": [],
        "CSP": [],
        "Riemann": [],
    }
    for channels, start in product(("all", "eyes", "motor"), (0.0, AFTER_CUE)):
        where = {"start": start} if channels == "all" else {"start": start, "channels": channels}
        models["GraphDictExact"].append({"pipeline": "guided", "n_states": 3, **where})
        models["CSP"].append({"pipeline": "reference", "phases": 1, **where})
        models["Riemann"].append({"pipeline": "reference", "phases": 1, **where})
    return models


def _guided(names: Iterable[str], start: float, sizes: list[int]) -> list[Any]:
    """Return (model, settings) of the guided pipeline."""
    values: dict[str, list[Any]] = {"pipeline": ["guided"], "start": [start], "n_states": sizes}
    return [(name, [{**s, **GUIDED[name]} for s in settings(**values)]) for name in names]


def _references(start: float, phases: list[int]) -> list[Any]:
    """Return (model, settings) of the references."""
    values: dict[str, list[Any]] = {"pipeline": ["reference"], "start": [start], "phases": phases}
    return [(name, settings(**values)) for name in REFERENCES]


def _states(
    pipeline: str, names: Iterable[str], sizes: list[int], scales: list[Any], start: float = 0.0
) -> list[Any]:
    """Return (model, settings) of a pipeline of states."""
    values: dict[str, list[Any]] = {
        "pipeline": [pipeline],
        "start": [start],
        "n_states": sizes,
        "normalise": scales,
    }
    return [(name, [{**s, **STATES[name]} for s in settings(**values)]) for name in names]


def grid(scale: str, data_dir: Path | None = None, subjects: Sequence[int] | None = None) -> Grid:
    """Return the grid of the "quick" (three subjects, few sizes), "full" or "paper" experiment."""
    chosen = list(subjects or SUBJECTS[scale])
    if len(set(chosen)) < 3:
        raise ValueError(
            f"at least 3 subjects are needed, got {chosen}: one is held out, settings are chosen "
            "on another, and the rest are training subjects"
        )
    return Grid(
        experiment="brain",
        scale=scale,
        data={"eegbci": {"subjects": sorted(set(chosen))}},
        models=_models(scale),
        seeds=SEEDS[scale],
        draw=partial(_load, data_dir),
        build=_no_estimator,
        thresholds=(),
        measure=measure,
    )


def drop_unreadable_subjects(declared: Grid, say: Any) -> Grid:
    """Return the grid with the readable recordings; call ``say`` for each of the others."""
    from graphdict.datasets.eegbci import RecordingError, load_eegbci

    data_dir = declared.draw.args[0]  # type: ignore[attr-defined]
    asked = declared.data["eegbci"]["subjects"]
    readable = []
    for subject in asked:
        try:
            load_eegbci(subject, data_dir=data_dir, band=None)
        except RecordingError as error:
            say(f"left out: {error}")
        else:
            readable.append(subject)
    if len(readable) < 3:
        raise ValueError(
            f"at least 3 subjects are needed, and of {asked} only {readable} can be read"
        )
    return replace(declared, data={"eegbci": {"subjects": readable}})


def measure(grid: Grid, cell: Cell) -> dict[str, Any]:
    """Return the row of a cell: AUROC of each held-out subject, and scores to choose settings.

    Where the seed decides nothing, the row of another one than the first says so, and no more.
    """
    # Imported here, so that a grid can be made without MNE.
    from graphdict.app.experiments.brain_data import BROAD, IMAGERY, pick_region
    from graphdict.app.experiments.brain_guided import score_guided
    from graphdict.app.experiments.brain_references import score_reference
    from graphdict.app.experiments.brain_states import score_states

    setting = dict(cell.setting)
    pipeline, start = setting.pop("pipeline"), setting.pop("start")
    region = setting.pop("channels", "all")
    if pipeline in DETERMINISTIC and cell.seed != grid.seeds[0]:
        return {"as_seed": grid.seeds[0]}
    band = BROAD if pipeline == "paper" else IMAGERY
    events = grid.draw({**grid.data[cell.data], "band": band, "start": start}, cell.seed)
    events = {subject: pick_region(given, region) for subject, given in events.items()}
    three = setting.get("n_states") == 3 and start == 0 and region == "all"
    if pipeline == "guided":
        return score_guided(
            events, cell.model, setting, portrait=three and cell.model == "GraphDictExact"
        )
    if pipeline == "reference":
        return score_reference(events, cell.model, setting)
    return score_states(
        events, cell.model, setting, cell.seed, adapted=pipeline == "adapted",
        choose=pipeline == "paper",
        portrait=three and cell.model == "GraphDictLog",
    )  # fmt: skip


def _load(data_dir: Path | None, arguments: Mapping[str, Any], seed: int) -> Any:
    from graphdict.app.experiments.brain_data import load_events

    subjects = tuple(arguments["subjects"])
    return load_events(subjects, data_dir, arguments["band"], arguments["start"])


def _no_estimator(*arguments: Any) -> Any:
    raise NotImplementedError("pipelines of the brain experiment build their own estimators")
