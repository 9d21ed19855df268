"""BiPDS: optimal where the problem is convex, honest about where it stops, never a NaN."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from graphdict.core.problem import Problem
from graphdict.core.solvers.step_sizes import EARLIER_NAMES, StepSizes
from graphdict.exceptions import InterruptedFitWarning
from graphdict.solvers import bipds
from graphdict.terms import L1, ConstantOverWindows, NonNegative, TotalVariation, UnitBox
from kinds import KINDS


def scipy_optimum(case, variable):
    """Lowest objective over one variable, the other at its start, by L-BFGS-B."""
    problem, c, w = case.problem, case.coefficients, case.atoms
    if variable == "atoms":
        start, high = w, None

        def value(v):
            return problem.objective(c, v.reshape(w.shape))
    else:
        start, high = c, 1

        def value(v):
            return problem.objective(v.reshape(c.shape), w)

    found = minimize(
        value, start.ravel(), bounds=[(1e-9, high)] * start.size, method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-14, "gtol": 1e-9},
    )  # fmt: skip
    return found.fun, found.x.reshape(start.shape)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("variable", ["atoms", "coefficients"])
def test_convex_subproblems_reach_the_optimum_of_scipy(make_problem, kind, window, variable):
    case = make_problem(kind, samples=8, nodes=4, atoms=2, window=window, alpha_c=0.3)
    fixed = "coefficients" if variable == "atoms" else "atoms"
    solution = bipds(
        case.problem, case.coefficients, case.atoms, fixed=fixed, max_iter=20_000, tol=1e-7
    )
    best, _ = scipy_optimum(case, variable)
    assert solution.converged
    assert solution.objective == pytest.approx(best, abs=2e-5)
    assert solution.objective == pytest.approx(
        case.problem.objective(solution.coefficients, solution.atoms)
    )
    held = solution.coefficients if variable == "atoms" else solution.atoms
    assert_array_equal(held, case.coefficients if variable == "atoms" else case.atoms)


@pytest.mark.parametrize("kind", KINDS)
def test_residuals_go_to_zero_and_mean_stationarity(make_problem, kind):
    case = make_problem(kind, seed=1, samples=6, nodes=4, atoms=2)
    solution = bipds(case.problem, case.coefficients, case.atoms, max_iter=6000, tol=1e-5)
    assert solution.converged
    last = solution.history.residuals[-1]
    assert set(last) == {"atoms", "coefficients", "dual"}
    assert max(last.values()) <= 1e-5
    # A stationary point: neither variable alone can be improved.
    for fixed in ("atoms", "coefficients"):
        again = bipds(
            case.problem, solution.coefficients, solution.atoms,
            fixed=fixed, max_iter=3000, tol=1e-6,
        )  # fmt: skip
        assert again.objective >= solution.objective - 1e-4


def test_history_has_an_entry_for_every_iteration(make_problem):
    case = make_problem(nodes=6)
    seen = []
    solution = bipds(
        case.problem,
        case.coefficients,
        case.atoms,
        fixed="coefficients",
        max_iter=17,
        tol=0,
        check_every=1,
        callback=seen.append,
    )
    table = solution.history.as_dict()
    assert solution.n_iter == 17
    assert not solution.converged
    assert {len(column) for column in table.values()} == {17}
    assert set(table) >= {"objective", "residual", "residual_atoms", "residual_dual", "seconds"}
    assert [p.iteration for p in seen] == list(range(1, 18))
    assert_array_equal([p.objective for p in seen], table["objective"])
    assert np.all(np.diff(table["seconds"]) >= 0)
    assert_array_equal(
        table["residual"],
        np.max([v for k, v in table.items() if k.startswith("residual_")], axis=0),
    )


def test_checks_come_every_so_often_and_at_the_end(make_problem):
    case = make_problem(nodes=6)
    solution = bipds(
        case.problem,
        case.coefficients,
        case.atoms,
        fixed="coefficients",
        max_iter=17,
        tol=0,
        check_every=5,
    )
    assert_array_equal(solution.history.as_dict()["iteration"], [5, 10, 15, 17])


def test_the_lowest_objective_is_returned_and_never_above_the_start(make_problem):
    for seed in range(5):
        case = make_problem(seed=seed)
        start = case.problem.objective(case.coefficients, case.atoms)
        solution = bipds(
            case.problem, case.coefficients, case.atoms, max_iter=25, tol=0, check_every=1
        )
        assert solution.objective == pytest.approx(min(start, *solution.history.objective))
        here = case.problem.objective(solution.coefficients, solution.atoms)
        assert solution.objective == pytest.approx(here)


def test_a_good_start_is_not_spoilt(make_problem):
    case = make_problem()
    done = bipds(case.problem, case.coefficients, case.atoms, max_iter=5000, tol=1e-6)
    once = bipds(case.problem, done.coefficients, done.atoms, max_iter=1, tol=0)
    # At its start, the objective is summed in another order.
    assert once.objective <= done.objective + 1e-12 * abs(done.objective)


def test_warm_start_continues_where_it_stopped(make_problem):
    case = make_problem(seed=2)
    kwargs = {"fixed": "coefficients", "tol": 1e-6, "max_iter": 20_000}
    done = bipds(case.problem, case.coefficients, case.atoms, **kwargs)
    again = bipds(case.problem, done.coefficients, done.atoms, dual=done.dual, **kwargs)
    cold = bipds(case.problem, done.coefficients, done.atoms, **kwargs)
    assert again.converged
    assert again.n_iter <= 10
    assert again.n_iter < cold.n_iter < done.n_iter


def test_start_is_not_modified(make_problem):
    case = make_problem()
    before = case.coefficients.copy(), case.atoms.copy()
    bipds(case.problem, case.coefficients, case.atoms, max_iter=5)
    assert_array_equal(before[0], case.coefficients)
    assert_array_equal(before[1], case.atoms)


def test_step_sizes_can_be_given(make_problem):
    case = make_problem()
    tiny = bipds(
        case.problem, case.coefficients, case.atoms,
        tau_atoms=1e-12, tau_coefficients=1e-12, sigma=1.0, max_iter=20, tol=0,
    )  # fmt: skip
    assert_allclose(tiny.atoms, case.atoms, atol=1e-9)
    assert_allclose(tiny.coefficients, case.coefficients, atol=1e-9)
    ends = []
    bipds(case.problem, case.coefficients, case.atoms, max_iter=20, callback=ends.append)
    assert np.abs(ends[-1].atoms - case.atoms).max() > 1e-2


def test_steps_that_are_far_too_long_still_give_numbers(make_problem):
    case = make_problem()
    start = case.problem.objective(case.coefficients, case.atoms)
    with np.errstate(all="ignore"):
        wild = bipds(
            case.problem, case.coefficients, case.atoms, tau_atoms=1e6, sigma=1e6, max_iter=100
        )
    assert np.isfinite(wild.atoms).all()
    assert wild.objective <= start


def test_callback_stops(make_problem):
    case = make_problem()
    solution = bipds(
        case.problem,
        case.coefficients,
        case.atoms,
        tol=0,
        check_every=1,
        callback=lambda p: p.iteration == 7,
    )
    assert solution.n_iter == 7
    assert not solution.converged
    assert not solution.interrupted


@pytest.mark.parametrize("at", [1, 9])
def test_interrupt_returns_the_best_iterate_with_a_warning(make_problem, at):
    case = make_problem()

    def interrupt(progress):
        if progress.iteration == at:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedFitWarning, match=f"interrupted at iteration {at}"):
        solution = bipds(
            case.problem, case.coefficients, case.atoms, check_every=1, callback=interrupt
        )
    assert solution.interrupted
    assert solution.n_iter == at
    assert solution.objective == pytest.approx(
        case.problem.objective(solution.coefficients, solution.atoms)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_stays_and_agrees(make_problem, kind):
    case = make_problem(kind, dtype=np.float32)
    single = bipds(case.problem, case.coefficients, case.atoms, max_iter=50, tol=0)
    assert single.atoms.dtype == single.coefficients.dtype == single.dual.dtype == np.float32
    case = make_problem(kind)
    double = bipds(case.problem, case.coefficients, case.atoms, max_iter=50, tol=0)
    assert_allclose(single.atoms, double.atoms, atol=2e-3)


@given(
    st.sampled_from(KINDS), st.integers(1, 15), st.integers(2, 7), st.integers(1, 6),
    st.integers(1, 4), st.sampled_from([1e-4, 1.0, 1e4]), st.integers(0, 10_000),
)  # fmt: skip
def test_never_a_nan(make_problem, kind, samples, nodes, atoms, window, unit, seed):
    window = min(window, samples)
    case = make_problem(
        kind, samples=samples, nodes=nodes, atoms=atoms, window=window, unit=unit, seed=seed
    )
    start = case.problem.objective(case.coefficients, case.atoms)
    solution = bipds(case.problem, case.coefficients, case.atoms, max_iter=60)
    for array in (solution.atoms, solution.coefficients, solution.dual):
        assert np.isfinite(array).all()
    assert np.isfinite(solution.objective)
    assert solution.objective <= start + 1e-12 * max(1, abs(start))
    assert not np.isnan(solution.history.objective).any()
    assert np.isfinite(solution.history.residual).all()
    assert np.all(solution.atoms >= 0)
    assert np.all((solution.coefficients >= 0) & (solution.coefficients <= 1))


class Stubborn:
    """The same function as another term, without what would let it be composed."""

    def __init__(self, term):
        self.value, self.prox = term.value, term.prox


@pytest.mark.parametrize("window", [1, 3])
def test_a_split_off_term_gives_the_optimum_of_the_composed_one(make_problem, window):
    tv = TotalVariation(0.5)
    optima, groups = [], []
    for term in (tv, Stubborn(tv)):
        case = make_problem(samples=10, seed=1, window=window, coefficient_terms=[term])
        solution = bipds(
            case.problem, case.coefficients, case.atoms,
            fixed="atoms", max_iter=30_000, tol=1e-7,
        )  # fmt: skip
        assert solution.converged
        optima.append(solution)
        groups.append(case.problem.coefficient_priors)
    assert groups[0].split == ()
    assert len(groups[1].split) == 1
    assert_allclose(optima[0].coefficients, optima[1].coefficients, atol=1e-4)
    assert "split_coefficients" in optima[1].history.residuals[-1]


def test_split_off_terms_of_atoms_beside_a_steep_smooth_one(make_problem):
    """The smooth bound must count even where half the step belongs to a split-off dual."""

    class Ridge:
        def value(self, w):
            return 200 * float(np.sum(w**2))

        def gradient(self, w):
            return 400 * w

        def lipschitz(self, w):
            return 400.0

    extra = [Ridge(), Stubborn(L1(0.5)), Stubborn(L1(0.5))]
    case = make_problem(samples=10, atom_terms=extra, alpha_w=0.1)
    split = bipds(
        case.problem, case.coefficients, case.atoms, fixed="coefficients", max_iter=30_000, tol=1e-7
    )
    assert split.converged
    plain = make_problem(samples=10, atom_terms=[Ridge()], alpha_w=1.1)
    joined = bipds(
        plain.problem, plain.coefficients, plain.atoms,
        fixed="coefficients", max_iter=30_000, tol=1e-7,
    )  # fmt: skip
    assert split.objective == pytest.approx(joined.objective, abs=1e-5)
    assert_allclose(split.atoms, joined.atoms, atol=1e-5)


def test_constancy_over_windows_agrees_with_windows_as_variables(make_problem):
    windows = make_problem(samples=11, window=4, alpha_c=0.4)
    samples = make_problem(
        samples=11, window=1, alpha_c=0.4, coefficient_terms=[ConstantOverWindows(4)]
    )
    assert_array_equal(windows.signals, samples.signals)
    kwargs = {"fixed": "atoms", "max_iter": 20_000, "tol": 1e-8}
    atoms = windows.atoms
    by_window = bipds(windows.problem, windows.coefficients, atoms, **kwargs)
    start = np.repeat(windows.coefficients, windows.counts, axis=0)
    by_sample = bipds(samples.problem, start, atoms, **kwargs)
    assert by_window.objective == pytest.approx(by_sample.objective, abs=1e-6)
    expanded = np.repeat(by_window.coefficients, windows.counts, axis=0)
    assert_allclose(expanded, by_sample.coefficients, atol=1e-5)


def test_unknown_variable_to_fix_is_refused(make_problem):
    case = make_problem()
    with pytest.raises(ValueError, match=r"fixed must be .* got 'weights'"):
        bipds(case.problem, case.coefficients, case.atoms, fixed="weights")


def test_an_operator_of_ones_own_is_enough(make_problem):
    """Nothing is asked of an operator beyond the five methods of its protocol."""
    case = make_problem()
    inner = case.problem.operator

    class Mine:
        forward = staticmethod(inner.forward)
        adjoint_atoms = staticmethod(inner.adjoint_atoms)
        adjoint_coefficients = staticmethod(inner.adjoint_coefficients)
        norm_atoms = staticmethod(inner.norm_atoms)
        norm_coefficients = staticmethod(inner.norm_coefficients)

    problem = Problem(
        case.problem.signal_term, Mine(), case.problem.barrier,
        [NonNegative(), L1(0.1)], [UnitBox(), L1(0.05)], case.counts,
    )  # fmt: skip
    mine = bipds(problem, case.coefficients, case.atoms, max_iter=20)
    theirs = bipds(case.problem, case.coefficients, case.atoms, max_iter=20)
    assert_array_equal(mine.atoms, theirs.atoms)


def test_without_a_tolerance_it_ends_where_nothing_moves_any_more(make_problem):
    case = make_problem(samples=6, nodes=4, atoms=2)
    solution = bipds(
        case.problem, case.coefficients, case.atoms, fixed="atoms", tol=0, max_iter=20_000
    )
    assert solution.converged
    assert solution.history.residual[-1] == 0


def test_step_sizes_are_restored_from_checkpoints_with_earlier_names(make_problem):
    case = make_problem()
    gram = np.eye(len(case.atoms))
    steps, again = (StepSizes(case.problem, case.atoms, gram, sigma=sigma) for sigma in (0.3, 1.0))
    steps.balance({"dual": 1.0, "atoms": 0.1}, 0.0)
    steps.primal_factor = 0.25
    again.restore({EARLIER_NAMES.get(name, name): kept for name, kept in steps.save().items()})
    assert again.save() == steps.save()
    assert steps.sigma == 0.6
