"""Where fits begin: coefficients from chance or from the signals, atoms from the coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict import graphs
from graphdict.problem import Problem
from graphdict.seeding import spread_labels
from graphdict.terms import L1

__all__ = ["STARTS", "check_given", "check_held", "start_atoms", "start_coefficients"]

LOW, HIGH = 0.1, 0.9  # a hard assignment is softened, so that it can still change


def start_coefficients(
    kind: str, features: NDArray, n_atoms: int, rng: np.random.RandomState
) -> NDArray:
    """Starting coefficients (T, K) by the name of the method; ``features`` has T rows."""
    return STARTS[kind](features, n_atoms, rng).astype(features.dtype)


def start_atoms(problem: Problem, coefficients: NDArray) -> NDArray:
    """Edges in inverse proportion to the mean squared difference where an atom is active.

    The sparsity penalty counts as a difference. Scaled so that a sample that mixes the atoms
    equally has the energy of an optimal graph.
    """
    count = coefficients.shape[1]
    weighted = coefficients * problem.weights.astype(coefficients.dtype)[:, None]
    mass = weighted.sum(axis=0)[:, None]
    sparsity = sum(term.alpha for term in problem.atom_terms if isinstance(term, L1))
    distances = (problem.fit.weighted_distances(weighted) + sparsity) / np.maximum(mass, 1e-12)
    nodes = graphs.n_nodes(distances.shape[1])
    typical = distances.mean() or 1.0
    distances = np.maximum(distances, 1e-3 * typical)
    return (1 / (distances * (nodes - 1) * count)).astype(coefficients.dtype)


def check_given(
    name: str, given: Any, shape: tuple[int, int], high: float, dtype: Any
) -> NDArray | None:
    """A starting array of a user, or None; its shape and range are what they should be."""
    if given is None:
        return None
    array = np.array(given, dtype=dtype)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0).all() and (array <= high).all()):
        raise ValueError(
            f"{name} must be finite and lie in [0, {high:g}], got values from {array.min():g} to "
            f"{array.max():g}"
        )
    return array


def check_held(problem: Problem, fix: str | None, coefficients: NDArray, atoms: NDArray) -> None:
    """Refuse to hold what leaves the other variable no finite objective."""
    if fix == "coefficients" and not coefficients.any(axis=1).all():
        row = int(np.flatnonzero(~coefficients.any(axis=1))[0])
        raise ValueError(
            f"coefficients held by fix='coefficients' are all zero in row {row} of the samples (or "
            "windows), whose graph then has no edges; use some atom in every row"
        )
    if fix == "atoms":
        full = problem.operator.forward(np.ones_like(coefficients[:1]), atoms)
        if not np.isfinite(problem.barrier.values(full)).all():
            raise ValueError(
                "atoms held by fix='atoms' do not connect all nodes that vary, even all together: "
                "no coefficients explain these signals; leave out the nodes without edges, or give "
                "them some"
            )


def _uniform(features: NDArray, n_atoms: int, rng: np.random.RandomState) -> NDArray:
    """Every coefficient uniform on [0, 1]."""
    return rng.uniform(size=(len(features), n_atoms))


def _discrete(features: NDArray, n_atoms: int, rng: np.random.RandomState) -> NDArray:
    """Every sample uses one atom, drawn at random."""
    return _soften(rng.randint(n_atoms, size=len(features)), n_atoms)


def _kmeans(features: NDArray, n_atoms: int, rng: np.random.RandomState) -> NDArray:
    """Samples go to the nearest of K spread-out samples, whatever their sign and size."""
    return _soften(spread_labels(features, n_atoms, rng), n_atoms)


def _soften(labels: NDArray, n_atoms: int) -> NDArray:
    coefficients = np.full((len(labels), n_atoms), LOW)
    coefficients[np.arange(len(labels)), labels] = HIGH
    return coefficients


STARTS = {"uniform": _uniform, "discrete": _discrete, "k-means++": _kmeans}
