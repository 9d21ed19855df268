"""The log model in a stream: one majorise-minimise step on averages for each batch.

The bound of :mod:`graphdict.core.solvers.mm` on what atoms cost is

    <C + alpha_w, W> - <S, log W>      C = mean_t delta_t z_t',  S = mean_t W * A**(delta_t, B_t)

(and the orthogonality term), where ``delta_t`` are the coefficients of sample t under the atoms of
its time and ``B_t`` the slope of the barrier there. ``C`` (moments) and ``S`` (gains) are running
averages; their atoms are ``S / (C + alpha_w)``. No weight falls below a small share of its atom's
mean, so that every edge can return; those are left out of ``atoms_``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.operators import Bilinear
from graphdict.core.solvers.mm import at_least, atom_factors
from graphdict.core.terms.base import ALL, entrywise, name_of
from graphdict.engine.estimator_protocols import StreamedSoft
from graphdict.engine.executor import open_executor
from graphdict.engine.online.stream import Batch, Statistics, StreamRules
from graphdict.engine.penalties import effective_penalty

LEAST = 1e-3  # of the mean weight of an atom: what a weight never falls below
SHOWN = 1e-2  # of the largest weight of an atom: what is an edge


def check(model: StreamedSoft) -> None:
    """Raise where a parameter of the model cannot be used in a stream."""
    for name in ("coefficients", "fix"):
        if getattr(model, name) is not None:
            raise ValueError(
                f"{name}= belongs to one array of samples; partial_fit needs {name}=None"
            )
    if model.atom_priors:
        raise ValueError(
            f"partial_fit has no update for the atom prior {name_of(model.atom_priors[0])}: it "
            "needs atom_priors=None (alpha_w and alpha_orth work)"
        )
    for term in model.coefficient_priors or ():
        if entrywise(term):
            raise ValueError(
                f"the coefficient prior {name_of(term)} has a function of its own for every entry "
                "(entrywise = True), and partial_fit cannot tell it the rows: each batch counts "
                "from zero. Use fit; one that does not depend on the sample leaves entrywise out, "
                "and takes no rows"
            )


def statistics_of_fit(model: StreamedSoft) -> Statistics:
    """Return the statistics at which an update would leave the atoms of a fitted model as they are.

    There ``S = W (C + alpha_w + O)`` for every edge; of one that is zero only ``<=`` is known, and
    it is taken to be about to appear. Samples in which some node has no edge say nothing: the last
    iterate of Algorithm 1 may have some.
    """
    shown = model._active_atoms
    likelihood = model._likelihood()
    operator = Bilinear(likelihood.linear_map(graphs.n_nodes(shown.shape[1])))
    coefficients = np.asarray(model.coefficients_)
    barrier: Any = likelihood.barrier
    slope = barrier.slope(operator.forward(coefficients, shown))
    known = np.isfinite(slope).all(axis=1, keepdims=True)
    shares = coefficients / max(int(known.sum()), 1)
    slopes = operator.adjoint_atoms(shares, np.where(known, slope, 0)).astype(np.float64)
    atoms = _dense(shown.astype(np.float64))
    others = effective_penalty(model, "alpha_orth") * (atoms.sum(axis=0) - atoms)
    moments = np.maximum(slopes - effective_penalty(model, "alpha_w") - others, 0)
    return {"atoms": atoms, "moments": moments, "gains": atoms * slopes}


def update(
    model: StreamedSoft, statistics: Statistics, batch: Batch
) -> tuple[Statistics, dict[str, Any]]:
    """Code the batch, average its statistics in, and take the atoms that are best for them.

    Return the new statistics and the fitted attributes.
    """
    old = statistics["atoms"]
    problem = model._problem(batch.signals, batch.recordings)
    atoms = old.astype(batch.signals.dtype)
    with open_executor(problem, atoms) as executor:
        coefficients, value, *_ = model._code(problem, atoms, executor)
    rows = coefficients[np.cumsum(problem.counts) - problem.counts]
    barrier: Any = problem.barrier
    slope = barrier.slope(problem.operator.forward(rows, atoms))
    slopes = problem.operator.adjoint_atoms(problem.share_weighted(ALL, rows), slope)
    new = {"moments": problem.weighted_distances(ALL, rows), "gains": old * slopes}
    for name in new:
        new[name] = statistics[name] + batch.of_edges * (new[name] - statistics[name])
    costs = at_least(new["moments"] + effective_penalty(model, "alpha_w"), atoms.dtype)
    others = effective_penalty(model, "alpha_orth") * (old.sum(axis=0) - old)
    new["atoms"] = _dense(old * atom_factors(costs, others, new["gains"] / old))
    return {**statistics, **new}, {
        "atoms_": _shown(new["atoms"]),
        "coefficients_": coefficients,
        "objective_": value + problem.atom_priors.value(atoms),
    }


def _dense(atoms: NDArray[Any]) -> NDArray[Any]:
    """Return atoms (K, E) with no weight below a share of the atom's mean; empty ones get some."""
    means = atoms.mean(axis=1, keepdims=True)
    means = np.where(means > 0, means, LEAST * float(means.mean()) or 1.0)
    return np.maximum(atoms, LEAST * means)


def _shown(atoms: NDArray[Any]) -> NDArray[Any]:
    """Return atoms (K, E) without weak edges, but for the strongest of a node without others."""
    keep = atoms >= SHOWN * atoms.max(axis=1, keepdims=True)
    matrices = graphs.adjacency(np.where(keep, atoms, 0).max(axis=0))
    for node in np.flatnonzero(~matrices.any(axis=1)):
        rows, cols = graphs.edge_index(len(matrices))
        edges = np.flatnonzero((rows == node) | (cols == node))
        atom, edge = np.unravel_index(atoms[:, edges].argmax(), (len(atoms), len(edges)))
        keep[atom, edges[edge]] = True
    return np.where(keep, atoms, 0)


# Which of many optima a fit ends in is decided early: more samples then pay.
LOG_RULES = StreamRules(check, statistics_of_fit, update, first_samples=1000, starts=2)
