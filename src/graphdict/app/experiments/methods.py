"""Build estimators by the name of their class, and grids that recover simulated graphs by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from graphdict import baselines, models
from graphdict.app.experiments.grids import Grid, unknown_name

Settings = Sequence[Mapping[str, Any]]
# Ranges of settings were tuned on seeds 0 and 1, so the full experiments do not use these.
SEEDS = {"quick": (0,), "full": (2, 3, 4, 5, 6), "paper": (2, 3, 4, 5, 6)}

METHODS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        models.GraphDictLog,
        models.GraphDictSpectral,
        models.GraphDictSpectralRelaxed,
        models.GraphDictHier,
        models.GraphDictMarginal,
        baselines.LogModel,
        baselines.WindowLogModel,
        baselines.TGFA,
        baselines.KGraphs,
        baselines.GLMM,
        baselines.GaussianMixtureGraphs,
    )
}
# As the paper has them, beside ours; names are those of files, too.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "GLMM-log-det": ("GLMM", {"responsibilities": "log-det"}),
    "GaussianMixtureGraphs-correlation": ("GaussianMixtureGraphs", {"matrix": "correlation"}),
    "WindowLogModel-sliding": ("WindowLogModel", {"stride": 5}),
    "GraphDictHier-log-degree": ("GraphDictHier", {"likelihood": "log-degree"}),
}
# Simulated signals follow the paper's model, and what is learned from them is held to it.
PAPERS_MODEL = {"GraphDictMarginal": {"filter_power": 1, "tails": "gaussian", "alpha_w": 0.04}}


def build(name: str, setting: Mapping[str, Any], seed: int) -> Any:
    """Return an unfitted estimator; the seed is its ``random_state`` where it has one."""
    name, fixed = VARIANTS.get(name, (name, {}))
    if name not in METHODS:
        raise ValueError(unknown_name("model", name, [*METHODS, *VARIANTS]))
    cls = METHODS[name]
    random = {"random_state": seed} if "random_state" in signature(cls).parameters else {}
    return cls(**{**PAPERS_MODEL.get(name, {}), **fixed, **setting, **random})


def recovery_grid(
    experiment: str,
    scale: str,
    data: Mapping[str, Mapping[str, Any]],
    models: Mapping[str, Mapping[str, Settings]],
    as_published: Mapping[str, Settings],
    draw: Callable[[Mapping[str, Any], int], Any],
) -> Grid:
    """Return the "quick", the "full" or the "paper" grid of an experiment on simulated graphs.

    ``models`` has the settings by model and scale, ``as_published`` those of the "paper" grid.
    """
    tried = as_published if scale == "paper" else {n: found[scale] for n, found in models.items()}
    return Grid(experiment, scale, data, tried, SEEDS[scale], draw, build)
