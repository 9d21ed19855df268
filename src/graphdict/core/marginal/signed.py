"""The likelihood of signals under graphs whose weights may be negative, one graph at a time.

On signals that sum to zero over nodes, weights of either sign and symmetric matrices are the same
thing: as many pairs of nodes as entries. A graph whose weights are free is any positive definite
precision ``Theta = L(w)``, and given the second moments ``S`` of ``n`` samples the best one is
``n S^-1``. Where some pairs have no edge, the weights of the others minimise

    tr(S L(w)) - n log det L(w)

which is convex and has the second derivatives ``n (b_e' Theta^-1 b_f)^2``: Newton's method, whose
equations conjugate gradients solve by products of (d, d) matrices alone.

What steadies an atom are samples that it has beside its own, of what all atoms have in common. How
many, the evidence says, which is closed: with ``m`` of them a precision has a Wishart prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar
from scipy.special import multigammaln

from graphdict.core import graphs
from graphdict.core.annotations import Booleans
from graphdict.core.graphs import zero_sum_basis
from graphdict.core.marginal.filtered import FilteredLikelihood
from graphdict.core.marginal.filtered_loss import Targets
from graphdict.core.marginal.filters import GraphFilter
from graphdict.core.marginal.protocols import AtomPenalty
from graphdict.core.marginal.spectra import adjoint

ENOUGH, SHORTEST = 1e-4, 1e-6  # of the promised fall; step worth trying
SETTLED = 1e-12  # of the loss: a Newton step that promises less is the last
ROUGHLY, PRODUCTS = 1e-3, 30  # how well Newton's equations are solved, and products for it
MIXTURES = 0.0, 0.1, 0.3, 0.6, 1.0  # of absolute values, by which weights are made definite
POOLS = 1e-2, 1e3  # pooled samples for each dimension, at least and at most
LEAST = 1e-12  # eigenvalue of a definite graph, relative to the largest


@dataclass
class SignedLikelihood(FilteredLikelihood):
    """A :class:`FilteredLikelihood` of power 1 whose atoms are active one at a time, of any sign.

    Weights are free where atoms are not zero. Their graphs are positive definite on signals that
    sum to zero, so that none is flat anywhere.
    """

    @staticmethod
    def flat_dimensions(patterns: NDArray, atoms: NDArray) -> NDArray:
        """Return zeros (C,): a definite graph sees all dimensions."""
        return np.zeros(len(patterns), dtype=np.intp)

    def minimise(
        self,
        atoms: NDArray,
        targets: Targets,
        steps: int,
        penalty: AtomPenalty | None = None,
        settled: float = -np.inf,
    ) -> tuple[GraphFilter, NDArray]:
        """Return the filter and the atoms (K, E) of least loss, after up to ``steps`` Newton steps.

        Where an atom has all pairs it is the least at once. There is no ``penalty``, and the steps
        end by themselves, whatever counts as ``settled`` elsewhere.
        """
        found = atoms.astype(np.float64)
        for pattern, moments, usage in zip(self.activations, *targets, strict=True):
            atom = int(pattern.argmax())
            if usage <= 0:
                continue
            on = found[atom] != 0
            if on.all():
                found[atom] = precision_weights(usage * _inverse(moments))
            else:
                found[atom] = _newton(found[atom], on, moments / usage, steps)
        return self.filter, found

    def weight_scales(self, targets: Targets) -> NDArray:
        """Return ones (K, E): what is zero is no edge, and everything else is."""
        return np.ones((self.activations.shape[1], graphs.n_edges(self.nodes)))

    def draw_atoms(self, *given: Any, **prior: Any) -> Any:
        raise NotImplementedError("atoms of either sign cannot be drawn")


def precision_weights(precision: NDArray) -> NDArray:
    """Return the weights (..., E) of the graph with this precision (..., d, d) in the basis."""
    basis = zero_sum_basis(precision.shape[-1] + 1)
    return graphs.laplacian_to_weights(basis @ precision @ basis.T)


def is_definite(weights: NDArray) -> bool:
    """Return whether the graph of weights (E,) is positive definite where signals sum to zero."""
    values = np.linalg.eigvalsh(_reduced(weights))
    return not len(values) or bool(values[0] > LEAST * values[-1] and values[-1] > 0)


def make_definite(atoms: NDArray) -> NDArray:
    """Return atoms (K, E) of the same support whose graphs are positive definite.

    Weights that are not are mixed with their absolute values, which are definite where the graph
    is connected.
    """
    found = np.array(atoms, dtype=np.float64)
    for atom, weights in enumerate(found):
        mixed = ((1 - share) * weights + share * np.abs(weights) for share in MIXTURES)
        found[atom] = next((each for each in mixed if is_definite(each)), np.abs(weights))
    return found


def best_pool_size(moments: NDArray, counts: NDArray, pooled: NDArray) -> float:
    """Return how many samples of pooled moments (d, d) each atom is to have beside its own.

    It is the number of greatest evidence, given the mean moments (K, d, d) of the atoms' ``counts``
    (K,) samples.
    """
    size = len(pooled)
    log_pooled = np.linalg.slogdet(pooled)[1]

    def loss(log_number: float) -> float:
        number = np.exp(log_number)
        freedom = number + size + 1
        total = 0.0
        for own, count in zip(moments, counts, strict=True):
            mixed = np.linalg.slogdet(number * pooled + count * own)[1]
            total += multigammaln((freedom + count) / 2, size) - multigammaln(freedom / 2, size)
            total += freedom / 2 * (size * log_number + log_pooled) - (freedom + count) / 2 * mixed
        return -total

    bounds = np.log(POOLS[0] * size), np.log(POOLS[1] * size)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def _reduced(weights: NDArray) -> NDArray:
    """Return the Laplacian (d, d) of weights (E,) in the basis of signals that sum to zero."""
    basis = zero_sum_basis(graphs.n_nodes(len(weights)))
    return basis.T @ graphs.laplacian(weights) @ basis


def _inverse(matrix: NDArray) -> NDArray:
    inverse = np.linalg.inv(matrix)
    return (inverse + inverse.T) / 2


def _factor(weights: NDArray) -> Any:
    """Return the Cholesky factor of a graph's Laplacian; None where it is not definite."""
    try:
        factor = cho_factor(_reduced(weights), lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return factor if np.isfinite(factor[0]).all() else None


def _newton(weights: NDArray, on: Booleans, moments: NDArray, steps: int) -> NDArray:
    """Return weights (E,) of lower ``tr(S L) - log det L``, after ``steps`` Newton steps.

    Only weights ``on`` (E,) move. Those to start from are definite.
    """
    distances = adjoint(moments)
    factor = _factor(weights)
    if factor is None:
        return weights
    value = _value(weights, factor, distances)
    for _ in range(steps):
        covariance = cho_solve(factor, np.eye(len(moments)), check_finite=False)
        resistances = adjoint(covariance)
        slope = np.where(on, distances - resistances, 0.0)
        step = _solve(covariance, -slope, on, resistances)
        promised = float(slope @ step)
        if promised >= -SETTLED * max(abs(value), 1.0):
            break
        length = 1.0
        while length > SHORTEST:
            moved = weights + length * step
            new_factor = _factor(moved)
            if new_factor is not None:
                new_value = _value(moved, new_factor, distances)
                if new_value <= value + ENOUGH * length * promised:
                    break
            length /= 2
        else:
            break
        weights, factor, value = moved, new_factor, new_value
    return weights


def _value(weights: NDArray, factor: Any, distances: NDArray) -> float:
    return float(weights @ distances - 2 * np.log(np.diagonal(factor[0])).sum())


def _solve(covariance: NDArray, right: NDArray, on: NDArray, resistances: NDArray) -> NDArray:
    """Return the solution (E,) of Newton's equations on weights ``on``, by conjugate gradients.

    The second derivatives are those at a graph of this ``covariance`` (d, d); their diagonal are
    squared ``resistances`` (E,).
    """
    scale = np.where(on, resistances**-2, 0.0)
    solution, left = np.zeros_like(right), right.copy()
    conditioned = scale * left
    direction, size = conditioned, float(left @ conditioned)
    first = size
    for _ in range(PRODUCTS):
        if size <= ROUGHLY**2 * first or size == 0:
            break
        change = covariance @ _reduced(direction) @ covariance
        image = np.where(on, adjoint(change), 0.0)
        length = size / float(direction @ image)
        solution = solution + length * direction
        left = left - length * image
        conditioned = scale * left
        size, before = float(left @ conditioned), size
        direction = conditioned + size / before * direction
    return solution
