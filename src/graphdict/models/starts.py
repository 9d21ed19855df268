"""Where fits begin: coefficients from chance or from the signals, atoms from the coefficients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphdict.problem import Problem
from graphdict.seeding import spread_labels
from graphdict.terms import L1

__all__ = ["STARTS", "start_atoms", "start_coefficients"]

LOW, HIGH = 0.1, 0.9  # a hard assignment is softened, so that it can still change


def start_coefficients(
    kind: str, features: NDArray, n_atoms: int, rng: np.random.RandomState
) -> NDArray:
    """Starting coefficients (T, K) by the name of the method; ``features`` has T rows."""
    return STARTS[kind](features, n_atoms, rng).astype(features.dtype)


def start_atoms(problem: Problem, coefficients: NDArray, edges: int) -> NDArray:
    """Edges in inverse proportion to the mean squared difference where an atom is active.

    The sparsity penalty counts as a difference. Scaled so that a sample that mixes the atoms
    equally has the energy of an optimal graph.
    """
    count = coefficients.shape[1]
    nodes = (1 + np.sqrt(1 + 8 * edges)) / 2
    weighted = coefficients * problem.weights.astype(coefficients.dtype)[:, None]
    mass = weighted.sum(axis=0)[:, None]
    sparsity = sum(term.alpha for term in problem.atom_terms if isinstance(term, L1))
    distances = (problem.fit.weighted_distances(weighted) + sparsity) / np.maximum(mass, 1e-12)
    typical = distances.mean() or 1.0
    distances = np.maximum(distances, 1e-3 * typical)
    return (1 / (distances * float(nodes - 1) * count)).astype(coefficients.dtype)


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
