"""What a fitted model consists of: attributes whose shapes and ranges fit each other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.marginal.filters import FILTERS

__all__ = ["check_fitted_values"]

ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")

SHAPES = {
    "atoms_": "KE",
    "coefficients_": "TK",
    "active_nodes_": "N",
    "modes_": "NM",
    "patterns_": "CK",
    "pattern_probabilities_": "C",
    "parents_": "K",
    "feature_names_in_": "N",
    "pair_weights_": "E",
    "pair_means_": "E",
    "silent_": "TN",
    "edge_probabilities_": "KE",
    "gains_": "T",
}
RANGES = {
    "atoms_": (0, np.inf),
    "coefficients_": (0, 1),
    "modes_": (-np.inf, np.inf),
    "patterns_": (0, 1),
    "pattern_probabilities_": (0, 1),
    "scale_": (0, np.inf),
    "noise_": (0, np.inf),
    "stay_probability_": (0, 1),
    "pair_weights_": (0, np.inf),
    "pair_means_": (0, np.inf),
    "silent_": (0, 1),
    "edge_probabilities_": (0, 1),
    "gains_": (0, np.inf),
    "filter_power_": (0, np.inf),
}
POSITIVE = ("scale_", "noise_", "filter_power_")
COUNTS = ("n_features_in_", "n_iter_", "n_samples_seen_")
NUMBERS = ("objective_", "log_likelihood_", "beta_")
NEEDED = ("atoms_", "active_nodes_", "scale_", "n_features_in_")
NEEDED_BY = {
    "GraphDictSpectral": ("modes_",),
    "GraphDictHier": ("parents_",),
    "GraphDictMarginal": ("patterns_", "pattern_probabilities_", "stay_probability_", "noise_"),
}


def check_fitted_values(kind: type, fitted: Mapping[str, Any]) -> None:
    """Refuse fitted attributes by name that no fit of ``kind`` could have left."""
    for name in (*NEEDED, *NEEDED_BY.get(kind.__name__, ())):
        if name not in fitted:
            raise ValueError(f"it lacks {name}, which every fitted {kind.__name__} has")
    for name, value in fitted.items():
        if not ATTRIBUTE.fullmatch(name) or hasattr(kind, name):
            raise ValueError(f"{name!r} is no attribute that a fit of {kind.__name__} sets")
        if name in COUNTS and (type(value) is not int or value < 0):
            raise ValueError(f"{name} must be a count, got {_short(value)}")
        if name in NUMBERS and type(value) not in (int, float):
            raise ValueError(f"{name} must be a number, got {_short(value)}")
        if name == "filter_" and value not in FILTERS:
            raise ValueError(f"filter_ must be one of {sorted(FILTERS)}, got {_short(value)}")
        if name == "tails_" and not (type(value) in (int, float) and value > 2):
            raise ValueError(f"tails_ must be a number above 2, got {_short(value)}")
        if name in RANGES:
            _check_range(name, value)
    nodes = fitted["n_features_in_"]
    sizes = {"N": nodes, "E": graphs.n_edges(nodes)}
    for name, letters in SHAPES.items():
        if name in fitted:
            _check_shape(name, np.shape(fitted[name]), letters, sizes)
    active = fitted["active_nodes_"]
    if np.asarray(active).dtype != bool or np.count_nonzero(active) < 2:
        raise ValueError("active_nodes_ must be true for two nodes or more")
    shares = fitted.get("pattern_probabilities_")
    if shares is not None and abs(float(np.sum(shares)) - 1) > 1e-3:
        raise ValueError("pattern_probabilities_ must sum to one")
    history = fitted.get("history_", {})
    lengths = {np.shape(entry) for entry in history.values()} if isinstance(history, dict) else {()}
    if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
        raise ValueError("history_ must have entries of one length")


def _check_range(name: str, value: Any) -> None:
    low, high = RANGES[name]
    numbers = np.asarray(value)
    scalar = name not in SHAPES
    if numbers.dtype.kind not in ("fiu" if scalar else "fb") or (scalar and numbers.ndim):
        raise ValueError(f"{name} must be {'a number' if scalar else 'an array of numbers'}")
    inside = np.isfinite(numbers) & (numbers >= low) & (numbers <= high)
    if not inside.all() or (name in POSITIVE and not numbers > 0):
        raise ValueError(f"{name} must be finite and lie in [{low}, {high}]")


def _check_shape(name: str, shape: tuple[int, ...], letters: str, sizes: dict[str, int]) -> None:
    wanted = tuple(sizes.get(letter, letter) for letter in letters)
    if len(shape) != len(letters) or any(
        sizes.setdefault(letter, length) != length for letter, length in zip(letters, shape)
    ):
        raise ValueError(f"{name} has shape {shape}, which should be {wanted}")


def _short(value: Any) -> str:
    return repr(value)[:40]
