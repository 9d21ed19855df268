"""Coding: optimal for every sample, whatever its company and however many atoms there are."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import graphs, native
from graphdict.core.problem import Problem
from graphdict.core.solvers.coding import codes_samples_alone
from graphdict.core.solvers.interior_point import InteriorPoint
from graphdict.engine.backends.compiled_coding import CompiledCodingBackend
from graphdict.solvers import bipds, code
from graphdict.terms import LogBarrier, LogDet, TotalVariation, smoothness
from kinds import KINDS


def projected_gradient(case, coefficients, alpha_c):
    """How far a projected gradient step of the scale of each cost would move."""
    problem, atoms = case.problem, case.atoms
    costs = problem.signal_term.energies(atoms) + alpha_c
    slope = problem.barrier.slope(problem.operator.forward(coefficients, atoms))
    gradient = costs - problem.operator.adjoint_coefficients(slope, atoms)
    return np.abs(coefficients - np.clip(coefficients - gradient / costs, 0, 1))


@given(
    st.sampled_from(KINDS), st.integers(1, 8), st.integers(2, 6), st.integers(1, 12),
    st.sampled_from([0.03, 1.0, 30.0]), st.sampled_from([0.0, 0.5]), st.integers(0, 10_000),
)  # fmt: skip
def test_optimality_conditions_hold(make_problem, kind, samples, nodes, atoms, unit, alpha_c, seed):
    case = make_problem(
        kind, samples=samples, nodes=nodes, atoms=atoms, unit=unit, alpha_c=alpha_c, seed=seed
    )
    found = code(case.problem, case.atoms)
    assert np.all((found >= 0) & (found <= 1))
    assert projected_gradient(case, found, alpha_c).max() < 5e-6


def barrier_and_images(kind, atoms, nodes, rng):
    """What the barrier of a kind sees of sparse random atoms."""
    if kind == "log":
        present = rng.random((atoms, nodes)) < 0.7
        return LogBarrier(), rng.exponential(size=(atoms, nodes)) * present + 1e-3
    shape = (atoms, graphs.n_edges(nodes))
    weights = rng.exponential(size=shape) * (rng.random(shape) < 0.7) + 1e-3
    return LogDet(), graphs.laplacian(weights)


def solve(barrier, costs, images, max_iter=100, tol=1e-12):
    backend = CompiledCodingBackend(SimpleNamespace(barrier=barrier))
    return backend.solve_coefficients(costs, images, max_iter, tol)


compiled_kinds = pytest.mark.parametrize("kind", ["log", "exact"])


@compiled_kinds
@given(
    st.integers(1, 300), st.integers(2, 14), st.integers(1, 9), st.sampled_from([0.1, 1.0, 10.0]),
    st.integers(0, 10_000),
)  # fmt: skip
def test_compiled_steps_are_the_plain_ones(kind, samples, nodes, atoms, unit, seed):
    rng = np.random.default_rng(seed)
    barrier, images = barrier_and_images(kind, atoms, nodes, rng)
    costs = unit * nodes * rng.gamma(2, size=(samples, atoms))
    found = solve(barrier, costs, images)
    plain = InteriorPoint(barrier, costs, images).solve(100, 1e-12)
    assert_allclose(found, plain, atol=1e-9)
    assert_array_equal(found == 0, plain == 0)
    assert_array_equal(found == 1, plain == 1)


@compiled_kinds
@pytest.mark.parametrize("atoms", [40, 90, 130])  # so many pairs leave room for fewer samples
def test_compiled_steps_of_many_atoms(kind, atoms):
    rng = np.random.default_rng(atoms)
    barrier, images = barrier_and_images(kind, atoms, 6, rng)
    costs = rng.gamma(2, size=(40, atoms))
    found = solve(barrier, costs, images)
    assert_allclose(found, InteriorPoint(barrier, costs, images).solve(100, 1e-12), atol=1e-6)


@compiled_kinds
def test_what_is_no_number_stays_none(kind):
    rng = np.random.default_rng(0)
    barrier, images = barrier_and_images(kind, 3, 6, rng)
    costs = rng.gamma(2, size=(9, 3))
    whole = solve(barrier, costs, images)
    costs[2, 1] = np.nan
    found = solve(barrier, costs, images)
    assert np.isnan(found[2]).any()
    assert_array_equal(np.delete(found, 2, axis=0), np.delete(whole, 2, axis=0))


def test_a_node_that_no_atom_joins_to_another_has_no_codes():
    images = np.ones((3, 6))
    images[:, 2] = 0
    assert np.isnan(solve(LogBarrier(), np.ones((9, 3)), images)).all()


@compiled_kinds
@pytest.mark.parametrize("shape", [(1, 2, 1), (3, 2, 1), (230, 9, 4)], ids=str)
def test_both_builds_code_alike(monkeypatch, kind, shape):
    samples, nodes, atoms = shape
    rng = np.random.default_rng(samples)
    barrier, images = barrier_and_images(kind, atoms, nodes, rng)
    costs = rng.gamma(2, size=(samples, atoms))
    found = solve(barrier, costs, images)
    monkeypatch.setattr(native, "compiled", import_module("graphdict.native._portable"))
    assert_allclose(solve(barrier, costs, images), found, atol=1e-12)


@compiled_kinds
def test_compiled_steps_end_where_they_are_told_to(kind):
    rng = np.random.default_rng(0)
    barrier, images = barrier_and_images(kind, 3, 6, rng)
    costs = rng.gamma(2, size=(300, 3))
    for count in (0, 1, 5):
        found = solve(barrier, costs, images, max_iter=count)
        plain = InteriorPoint(barrier, costs, images).solve(count, 1e-12)
        assert_allclose(found, plain, rtol=1e-9)


def test_sparse_atoms_that_outnumber_the_nodes_do_not_stall():
    """Coefficients a hair from their bound once cut every Newton step short."""
    from graphdict.operators import Bilinear, Degrees
    from graphdict.terms import LogBarrier, NonNegative, UnitBox

    for seed in range(30):
        rng = np.random.default_rng(seed)
        atoms = rng.exponential(size=(20, 3)) * (rng.random((20, 3)) < 0.5)
        signals = rng.standard_normal((4, 3)) * 10 ** rng.uniform(-1, 1, (4, 1))
        counts = np.ones(4, dtype=int)
        problem = Problem(
            smoothness(signals, counts), Bilinear(Degrees(3)), LogBarrier(),
            [NonNegative()], [UnitBox()], counts,
        )  # fmt: skip
        case = SimpleNamespace(problem=problem, atoms=atoms[atoms.any(axis=1)])
        found = code(problem, case.atoms)
        slope = problem.barrier.slope(problem.operator.forward(found, case.atoms))
        gradient = problem.signal_term.energies(case.atoms)
        gradient -= problem.operator.adjoint_coefficients(slope, case.atoms)
        # By convexity, how much lower any other point of the box could be.
        gap = np.maximum(gradient * found, gradient * (found - 1)).sum(axis=1)
        costs = problem.signal_term.energies(case.atoms).sum(axis=1)
        assert np.all(gap <= 1e-5 * (1 + costs))


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_bipds(make_problem, kind):
    case = make_problem(kind, window=3, samples=13, alpha_c=0.2)
    found = code(case.problem, case.atoms)
    slow = bipds(
        case.problem, case.coefficients, case.atoms, fixed="atoms", max_iter=20_000, tol=1e-8
    )
    assert case.problem.objective(found, case.atoms) <= slow.objective + 1e-8
    assert_allclose(found, slow.coefficients, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_alone_gets_what_it_gets_in_company(make_problem, kind):
    case = make_problem(kind, atoms=4)
    together = code(case.problem, case.atoms)
    for t in (0, 5, 11):
        one = np.ones(1, dtype=int)
        alone = Problem(
            smoothness(case.signals[[t]], one), case.problem.operator, case.problem.barrier,
            case.problem.atom_terms, case.problem.coefficient_terms, one,
        )  # fmt: skip
        assert_allclose(code(alone, case.atoms)[0], together[t], atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_dead_atoms_get_zero_and_change_nothing(make_problem, kind):
    case = make_problem(kind, atoms=2)
    alone = code(case.problem, case.atoms)
    padded = np.insert(case.atoms, 1, 0, axis=0)
    found = code(case.problem, padded)
    assert_array_equal(found[:, 1], 0)
    assert_allclose(found[:, [0, 2]], alone, atol=1e-9)
    assert_array_equal(code(case.problem, np.zeros_like(padded)), 0)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_atoms_share_and_flat_samples_switch_everything_on(make_problem, kind):
    def edit(signals):
        signals[4] = 0

    case = make_problem(kind, atoms=1, alpha_c=0.0, edit=edit)
    alone = code(case.problem, case.atoms)
    twins = code(case.problem, np.repeat(case.atoms, 4, axis=0))
    assert_allclose(twins, twins[:, :1] * np.ones(4), atol=1e-6)
    assert_allclose(alone[4], 1)
    assert_allclose(twins[4], 1)
    total = np.clip(twins.sum(axis=1), 0, 1)
    inside = alone[:, 0] < 1 - 1e-6
    assert_allclose(total[inside], alone[inside, 0], atol=1e-5)


def test_a_likelier_graph_for_a_rougher_signal_is_a_weaker_one(make_problem):
    case = make_problem(atoms=1, alpha_c=0.0, unit=2.0)
    found = code(case.problem, 10 * case.atoms)[:, 0]
    energies = case.problem.signal_term.energies(10 * case.atoms)[:, 0]
    assert_allclose(found, np.minimum(1, 5 / energies), rtol=1e-5)  # N / e, by hand


def test_blocks_do_not_change_codes(make_problem, monkeypatch):
    case = make_problem("exact", samples=30)
    whole = code(case.problem, case.atoms)
    monkeypatch.setattr("graphdict.core.solvers.coding.BLOCK_BYTES", 4000)
    assert_allclose(code(case.problem, case.atoms), whole, atol=1e-8)


def test_single_precision_in_and_out(make_problem):
    case = make_problem(dtype=np.float32)
    assert code(case.problem, case.atoms).dtype == np.float32


def test_coupled_samples_are_not_for_this_solver(make_problem):
    assert codes_samples_alone(make_problem().problem)
    coupled = make_problem(coefficient_terms=[TotalVariation(0.1)]).problem
    assert not codes_samples_alone(coupled)
