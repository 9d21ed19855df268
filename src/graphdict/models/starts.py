"""Where fits begin: coefficients at random or from the signals, atoms from the coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphdict.core import graphs
from graphdict.core.annotations import Floats, Integers
from graphdict.core.problem import Problem
from graphdict.core.protocols import Backend, BlockStates
from graphdict.core.seeding import distances_to, draw, odds
from graphdict.core.terms.base import total_alpha
from graphdict.core.terms.coefficients import window_means
from graphdict.core.terms.constraints import L1, Sum
from graphdict.engine.containers import as_numbers

AT_ONCE = 1 << 16  # rows that are drawn together
FARTHEST = 1e18  # largest ratio of given numbers to the size that fits the signals, either way
LOW, HIGH = 0.1, 0.9  # a hard assignment is softened, so that it can still change


def begin(
    problem: Problem,
    executor: Any,
    *,
    atoms: Floats | None,
    by_sample: Floats | None,
    fix: str | None,
    draw: Callable[[], BlockStates],
) -> tuple[Any, Floats]:
    """Return starting coefficients and atoms: those given, on active nodes, or else drawn.

    ``by_sample`` are coefficients (T, K), of which windows get the means.
    """
    coefficients: Any
    if by_sample is not None:
        coefficients = window_means(by_sample, problem.counts)
    elif atoms is not None:
        coefficients = np.full((problem.rows, len(atoms)), 0.5, dtype=atoms.dtype)
    else:
        coefficients = draw()
    if atoms is None:
        atoms = start_atoms(problem, coefficients, executor)
    check_held(problem, fix, coefficients, atoms)
    return coefficients, atoms


def start_atoms(problem: Problem, coefficients: Any, executor: Any) -> Floats:
    """Return edges in inverse proportion to the mean squared difference where an atom is active.

    The sparsity penalty counts as a difference. Scaled so that a sample that mixes the atoms
    equally has the energy of an optimal graph.
    """
    _, (distances, mass) = executor.map_blocks(_moments, [executor.scatter(coefficients)])
    sparsity = total_alpha(problem.atom_terms, L1, Sum)
    means = (distances + sparsity) / np.maximum(mass[:, None], 1e-12)
    nodes = graphs.n_nodes(means.shape[1])
    typical = means.mean() or 1.0
    means = np.maximum(means, 1e-3 * typical)
    result: Floats = (1 / (means * (nodes - 1) * len(means))).astype(distances.dtype)
    return result


def _moments(backend: Backend, rows: slice, coefficients: Floats) -> Any:
    problem = backend.problem
    weighted = problem.share_weighted(rows, coefficients)
    return None, (problem.signal_term.weighted_distances(weighted, rows), weighted.sum(axis=0))


def check_given(
    name: str, given: Any, shape: tuple[int, int], high: float, dtype: Any
) -> Floats | None:
    """Return a starting array of the user, or None; raise where shape or range are wrong."""
    if given is None:
        return None
    array = as_numbers(name, given, dtype, f" of shape {shape}")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0).all() and (array <= high).all()):
        raise ValueError(
            f"{name} must be finite and lie in [0, {high:g}], got values from {array.min():g} to "
            f"{array.max():g}"
        )
    return array


def check_proportion(name: str, given: Floats | None, unit: float) -> None:
    """Raise where the largest of given numbers is too far from ``unit``, the size expected."""
    largest = 0.0 if given is None else float(given.max(initial=0))
    if largest and not unit / FARTHEST <= largest <= unit * FARTHEST:
        raise ValueError(
            f"the largest of {name} must lie between {unit / FARTHEST:.3g} and "
            f"{unit * FARTHEST:.3g} for these signals, got {largest:.3g}"
        )


def check_held(problem: Problem, fix: str | None, coefficients: Floats, atoms: Floats) -> None:
    """Raise where a fixed variable leaves no finite objective."""
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


def _uniform(
    executor: Any, rows: int, n_atoms: int, rng: np.random.RandomState, dtype: Any
) -> BlockStates:
    """Draw every coefficient uniformly from [0, 1]."""
    drawn = np.empty((rows, n_atoms), dtype=dtype)
    for start in range(0, rows, AT_ONCE):
        some = drawn[start : start + AT_ONCE]
        some[...] = rng.uniform(size=some.shape)
    result: BlockStates = executor.scatter(drawn)
    return result


def _discrete(
    executor: Any, rows: int, n_atoms: int, rng: np.random.RandomState, dtype: Any
) -> BlockStates:
    """Draw one atom for every sample."""
    result: BlockStates = executor.map_blocks(
        _soften, [executor.scatter(rng.randint(n_atoms, size=rows))], n_atoms, dtype
    )[0]
    return result


def _kmeans(
    executor: Any, rows: int, n_atoms: int, rng: np.random.RandomState, dtype: Any
) -> BlockStates:
    """Assign samples to the nearest of K spread-out ones, as in :mod:`graphdict.core.seeding`."""
    states, _ = executor.map_blocks(_unassigned, [])
    for cluster in range(n_atoms):
        masses = executor.gather(executor.map_blocks(_mass, [states])[0])
        uniform = rng.random_sample()
        block = draw(masses[:, 1], uniform)
        before, mass = masses[:block, 1].sum(), masses[block, 1]
        within = float(np.clip((uniform * masses[:, 1].sum() - before) / mass, 0, 1))
        _, (seed,) = executor.map_blocks(_pick, [states], int(masses[block, 0]), within)
        states, _ = executor.map_blocks(_assign, [states], seed, cluster)
    result: BlockStates = executor.map_blocks(
        _soften, [executor.map_blocks(_labels, [states])[0]], n_atoms, dtype
    )[0]
    return result


# Steps ----------------------------------------------------------------------------------------


def _unassigned(backend: Backend, rows: slice) -> Any:
    count = len(range(*rows.indices(backend.problem.rows)))
    return (np.ones(count), np.zeros(count, dtype=np.intp)), ()


def _mass(backend: Backend, rows: slice, state: Any) -> Any:
    """Return where the block begins, and how likely it is to hold the next seed."""
    return np.array([[backend.problem.first + rows.start, odds(state[0]).sum()]]), ()


def _pick(backend: Backend, rows: slice, state: Any, first: int, uniform: float) -> Any:
    """Return the seed, from the block that begins at row ``first``; zeros from all others."""
    if backend.problem.first + rows.start != first:
        return None, (0.0,)
    return None, (_features(backend, rows)[draw(odds(state[0]), uniform)],)


def _assign(backend: Backend, rows: slice, state: Any, seed: Floats, cluster: int) -> Any:
    distance, nearest = state
    to_seed = distances_to(_features(backend, rows), seed)
    return (np.minimum(distance, to_seed), np.where(to_seed < distance, cluster, nearest)), ()


def _features(backend: Backend, rows: slice) -> Floats:
    signal_term: Any = backend.problem.signal_term
    result: Floats = signal_term.features(rows)
    return result


def _labels(backend: Backend, rows: slice, state: Any) -> Any:
    return state[1], ()


def _soften(backend: Backend, rows: slice, labels: Integers, n_atoms: int, dtype: Any) -> Any:
    coefficients = np.full((len(labels), n_atoms), LOW, dtype=dtype)
    coefficients[np.arange(len(labels)), labels] = HIGH
    return coefficients, ()


STARTS = {"uniform": _uniform, "discrete": _discrete, "k-means++": _kmeans}
