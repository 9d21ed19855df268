"""Starting points: in range, seeded, and informed by the signals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict.core.graphs import n_edges
from graphdict.core.problem import Problem
from graphdict.core.seeding import spread_labels
from graphdict.engine import executor as blocks
from graphdict.engine.executor import open_executor
from graphdict.models import starts
from graphdict.models.starts import STARTS
from graphdict.operators import Bilinear, Degrees
from graphdict.terms import LogBarrier, Smoothness


def start_coefficients(kind, features, n_atoms, rng):
    samples, nodes = features.shape
    ones = np.ones(samples, dtype=int)
    problem = Problem(Smoothness(features), Bilinear(Degrees(nodes)), LogBarrier(), [], [], ones)
    atoms = np.ones((n_atoms, nodes * (nodes - 1) // 2))
    with open_executor(problem, atoms) as executor:
        return executor.gather(starts.STARTS[kind](executor, samples, n_atoms, rng, features.dtype))


def start_atoms(problem, coefficients):
    atoms = np.ones((3, n_edges(problem.operator.linear.nodes)))
    with open_executor(problem, atoms) as executor:
        return starts.start_atoms(problem, coefficients, executor)


def test_seeds_do_not_depend_on_blocks(monkeypatch):
    features = np.random.default_rng(0).standard_normal((300, 4))
    whole = spread_labels(features, 5, np.random.RandomState(3))
    for size in (2**21, 4096, 700):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
        found = start_coefficients("k-means++", features, 5, np.random.RandomState(3))
        assert_array_equal(found.argmax(axis=1), whole)


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coefficients_are_in_range_and_seeded(kind, dtype):
    features = np.random.default_rng(0).standard_normal((30, 4)).astype(dtype)
    draws = [start_coefficients(kind, features, 3, np.random.RandomState(s)) for s in (0, 0, 1)]
    assert draws[0].shape == (30, 3)
    assert draws[0].dtype == dtype
    assert np.all((draws[0] > 0) & (draws[0] < 1))
    assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_discrete_starts_favour_one_atom_for_each_sample():
    found = start_coefficients("discrete", np.zeros((50, 2)), 4, np.random.RandomState(0))
    assert_array_equal((found > 0.5).sum(axis=1), 1)
    assert len(np.unique(found.argmax(axis=1))) == 4


def test_kmeans_groups_signals_whatever_their_sign_and_size():
    rng = np.random.default_rng(0)
    directions = np.eye(3)
    labels = rng.integers(3, size=90)
    size = rng.choice([-1, 1], 90) * 10 ** rng.uniform(-2, 2, 90)
    features = size[:, None] * directions[labels]
    found = start_coefficients("k-means++", features, 3, np.random.RandomState(0)).argmax(axis=1)
    assert len({(a, b) for a, b in zip(labels, found)}) == 3


@pytest.mark.parametrize("kind", STARTS)
def test_more_atoms_than_samples_and_flat_signals(kind):
    for features in (np.zeros((3, 4)), np.ones((3, 4))):
        found = start_coefficients(kind, features, 7, np.random.RandomState(0))
        assert found.shape == (3, 7)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("alpha_w", [0.0, 1e6])
def test_atoms_start_positive_with_the_energy_of_an_optimal_graph(make_problem, alpha_w):
    case = make_problem(samples=50, nodes=6, alpha_w=alpha_w)
    atoms = start_atoms(case.problem, case.coefficients)
    assert atoms.shape == (3, 15)
    assert np.all(atoms > 0)
    # Multiplying all atoms by a number is a one-dimensional convex problem; ours is near its end.
    values = [case.problem.objective(case.coefficients, c * atoms) for c in (0.1, 1.0, 10.0)]
    assert values[1] < min(values[0], values[2])


def test_atoms_start_where_differences_are_small(make_problem):
    def edit(signals):
        signals[:, 1] = signals[:, 0] + 0.01 * signals[:, 1]

    case = make_problem(samples=50, edit=edit)
    atoms = start_atoms(case.problem, case.coefficients)
    assert_array_equal(atoms.argmax(axis=1), 0)
    assert_allclose(atoms.std(axis=0)[0], 0, atol=atoms.max())
