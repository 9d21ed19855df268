"""Grids with every term of the paper, and its variants of the methods beside ours.

Each model of an experiment has the same number of settings. Dictionaries are fitted by Algorithm 1,
with sparsity of weights and of coefficients, orthogonality and, in time, total variation; windows
are the same for all methods that have any.
"""

from __future__ import annotations

from graphdict.app.experiments.grids import settings
from graphdict.app.experiments.methods import Settings

_DICTIONARY = settings(
    solver=["bipds"], max_iter=[50, 200], alpha_w=[0.1, 0.3, 1.0], alpha_c=[0.0, 1.0],
    alpha_orth=[0.0, 0.1],
)  # fmt: skip
_CLUSTERS = settings(avg_degree=[2, 4, 6, 8, 12, 16], alpha_w=[0.0, 0.01, 0.03, 0.1])
_GAUSSIAN = settings(
    n_init=[1, 3], reg_covar=[1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3, 0.6, 1.0],
)  # fmt: skip

SUPERPOSITION: dict[str, Settings] = {
    "GraphDictLog": _DICTIONARY,
    "GraphDictSpectral": _DICTIONARY,
    "GraphDictSpectralRelaxed": _DICTIONARY,
    "KGraphs": _CLUSTERS,
    "GLMM": _CLUSTERS,
    "GLMM-log-det": _CLUSTERS,
    "GaussianMixtureGraphs": _GAUSSIAN,
    "GaussianMixtureGraphs-correlation": _GAUSSIAN,
}

WINDOWS = [10, 20, 40, 80]
_IN_TIME = settings(
    solver=["bipds"], max_iter=[100], n_atoms=[6], alpha_w=[0.01, 0.1], alpha_c=[0.0, 1.0],
    alpha_orth=[0.0, 0.1], alpha_diff=[0.0, 10.0], window_size=WINDOWS,
)  # fmt: skip
_WINDOWS = settings(window_size=WINDOWS, avg_degree=[1, 2, 3, 4, 5, 6, 8, 10], alpha_w=[0.0, 0.1])

TIME_VARYING: dict[str, Settings] = {
    "GraphDictLog": _IN_TIME,
    "GraphDictSpectral": _IN_TIME,
    "GraphDictSpectralRelaxed": _IN_TIME,
    "GraphDictHier": settings(
        depth=[2, 3, 4, 5],
        beta=[0.0, 0.1],
        alpha_w=[0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3],
    ),
    "GraphDictHier-log-degree": settings(
        depth=[2, 3, 4, 5], alpha_w=[0.01, 0.03, 0.1, 0.3], avg_degree=[2, 3, 5, 8]
    ),
    "WindowLogModel": _WINDOWS,
    "WindowLogModel-sliding": _WINDOWS,
    "TGFA": settings(
        window_size=WINDOWS,
        avg_degree=[2, 5],
        alpha_diff=[0.1, 0.3, 1.0, 3.0],
        penalty=["l1", "l2"],
    ),
}
