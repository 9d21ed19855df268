"""Build estimators by the name of their class."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from graphdict import baselines, models
from graphdict.app.experiments.grids import unknown_name

__all__ = ["METHODS", "build"]

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
