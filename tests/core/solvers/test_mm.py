"""MM: every step lowers the objective, zeros at the end are exact, convex optima are reached."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphdict.exceptions import InterruptedFitWarning
from graphdict.solvers import bipds, mm
from graphdict.terms import Interval, LogBarrier, TotalVariation
from kinds import KINDS


@given(
    st.sampled_from(KINDS), st.integers(1, 12), st.integers(2, 6), st.integers(1, 5),
    st.integers(1, 4), st.sampled_from([0.0, 0.3, 30.0]), st.sampled_from([1e-3, 1.0, 1e3]),
    st.integers(0, 10_000),
)  # fmt: skip
def test_every_step_lowers_the_objective(
    make_problem, kind, samples, nodes, atoms, window, alpha_orth, unit, seed
):
    case = make_problem(
        kind, samples=samples, nodes=nodes, atoms=atoms, window=min(window, samples),
        alpha_orth=alpha_orth, unit=unit, seed=seed,
    )  # fmt: skip
    values = [case.problem.objective(case.coefficients, case.atoms)]

    def record(progress):
        here = case.problem.objective(progress.coefficients, progress.atoms)
        assert here == pytest.approx(progress.objective)
        values.append(here)

    solution = mm(case.problem, case.coefficients, case.atoms, max_iter=30, tol=0, callback=record)
    values = np.array(values)
    assert np.isfinite(values).all()
    assert np.all(np.diff(values) <= 1e-9 * np.maximum(1, np.abs(values[:-1])))
    assert solution.objective <= values[-1] + 1e-12 * max(1, abs(values[-1]))
    assert np.isfinite(solution.atoms).all()
    assert np.all(solution.atoms >= 0)
    assert np.all((solution.coefficients >= 0) & (solution.coefficients <= 1))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_end_in_exact_zeros(make_problem, kind):
    case = make_problem(kind, samples=60, nodes=6, atoms=2, alpha_w=0.5)
    solution = mm(case.problem, case.coefficients, case.atoms, max_iter=3000, tol=1e-6)
    assert solution.converged
    assert (solution.atoms == 0).sum() > 3
    smallest = solution.atoms[solution.atoms > 0].min()
    assert smallest > 1e-13 * solution.atoms.max()
    assert solution.objective == pytest.approx(
        case.problem.objective(solution.coefficients, solution.atoms)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fixed", ["atoms", "coefficients"])
@pytest.mark.parametrize("alpha_orth", [0.0, 0.4])
def test_agrees_with_bipds_on_convex_subproblems(make_problem, kind, fixed, alpha_orth):
    if fixed == "coefficients" and alpha_orth:
        pytest.skip("the overlap of atoms is not convex in them")
    case = make_problem(kind, samples=15, nodes=4, atoms=2, alpha_orth=alpha_orth, alpha_c=0.3)
    ours = mm(case.problem, case.coefficients, case.atoms, fixed=fixed, max_iter=20_000, tol=1e-10)
    theirs = bipds(
        case.problem, case.coefficients, case.atoms, fixed=fixed, max_iter=20_000, tol=1e-7
    )
    assert ours.objective == pytest.approx(theirs.objective, abs=1e-4)
    held = "atoms" if fixed == "atoms" else "coefficients"
    assert_array_equal(getattr(ours, held), getattr(case, held))


def test_orthogonality_ends_at_a_stationary_point(make_problem):
    case = make_problem(alpha_orth=0.4, samples=15, nodes=4, atoms=2)
    done = mm(
        case.problem, case.coefficients, case.atoms,
        fixed="coefficients", max_iter=20_000, tol=1e-12,
    )  # fmt: skip
    eps = 1e-6
    for index in np.ndindex(done.atoms.shape):
        step = np.zeros_like(done.atoms)
        step[index] = eps
        forward = case.problem.objective(case.coefficients, done.atoms + step)
        assert forward >= done.objective - 1e-8
        if done.atoms[index] > 1e-3:
            backward = case.problem.objective(case.coefficients, done.atoms - step)
            assert abs(forward - backward) / (2 * eps) < 1e-2


def test_zero_starts_can_leave_zero(make_problem):
    case = make_problem()
    zero = np.zeros_like(case.coefficients)
    solution = mm(case.problem, zero, np.zeros_like(case.atoms), max_iter=200)
    assert np.isfinite(solution.objective)
    assert solution.coefficients.max() > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_flat_samples_and_twin_nodes_overflow_nowhere(make_problem, kind):
    def edit(signals):
        signals[2] = 0  # no energy: its coefficients go to one
        signals[:, 1] = signals[:, 0]  # no difference: their edge pays nothing

    case = make_problem(kind, alpha_w=0.0, alpha_c=0.0, edit=edit)
    solution = mm(case.problem, case.coefficients, case.atoms, max_iter=100)
    assert np.isfinite(solution.atoms).all()
    assert np.isfinite(solution.objective)
    assert_array_equal(solution.coefficients[2], 1)


def test_callback_and_interrupt(make_problem):
    case = make_problem()
    solution = mm(
        case.problem, case.coefficients, case.atoms, tol=0, callback=lambda p: p.iteration == 4
    )
    assert solution.n_iter == len(solution.history.objective) == 4

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.warns(InterruptedFitWarning, match="iteration 1"):
        stopped = mm(case.problem, case.coefficients, case.atoms, callback=interrupt)
    assert stopped.interrupted
    assert np.isfinite(stopped.atoms).all()


def test_single_precision_stays(make_problem):
    case = make_problem(dtype=np.float32)
    single = mm(case.problem, case.coefficients, case.atoms, max_iter=30)
    assert single.atoms.dtype == single.coefficients.dtype == np.float32
    case = make_problem()
    double = mm(case.problem, case.coefficients, case.atoms, max_iter=30)
    assert_allclose(single.objective, double.objective, rtol=1e-4)


class Mystery(LogBarrier):
    slope = property()


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({"atom_terms": [TotalVariation(1.0)]}, "atom prior TotalVariation"),
        ({"coefficient_terms": [TotalVariation(1.0)]}, "coefficient prior TotalVariation"),
        ({"coefficient_terms": [Interval(0.2, 0.8)]}, "coefficient prior Interval"),
    ],
)
def test_an_unsupported_prior_is_named(make_problem, extra, name):
    case = make_problem(**extra)
    with pytest.raises(TypeError, match=rf"{name} .*solver='bipds' can"):
        mm(case.problem, case.coefficients, case.atoms)


def test_a_barrier_without_slope_is_named(make_problem):
    case = make_problem()
    object.__setattr__(case.problem, "barrier", Mystery())
    with pytest.raises(TypeError, match=r"barrier Mystery lacks slope"):
        mm(case.problem, case.coefficients, case.atoms)
