"""The objective against loops over samples, nodes and edges, and refusals by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from graphdict.core.problem import Problem
from graphdict.core.term_group import TermGroup
from graphdict.core.terms.constraints import Interval
from graphdict.operators import Bilinear, Degrees
from graphdict.terms import L1, NonNegative, TotalVariation, UnitBox, smoothness
from kinds import KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [1, 3, 5, 12])
@pytest.mark.parametrize("seed", range(2))
def test_objective_is_the_one_on_paper(make_problem, loop_objective, kind, window, seed):
    alphas = {"alpha_w": 0.3, "alpha_c": 0.2, "alpha_orth": 0.7}
    case = make_problem(
        kind, seed=seed, window=window, coefficient_terms=[TotalVariation(0.4)], **alphas
    )
    found = case.problem.objective(case.coefficients, case.atoms)
    expected = loop_objective(
        case.signals,
        np.repeat(case.coefficients, case.counts, axis=0),
        case.atoms,
        kind,
        modes=getattr(case.problem.operator.linear, "modes", None),
        alpha_diff=0.4,
        **alphas,
    )
    assert_allclose(found, expected, rtol=1e-10)


def test_objective_does_not_depend_on_how_often_the_samples_are_repeated(make_problem):
    case = make_problem(seed=3)
    once = case.problem
    fit = smoothness(np.repeat(case.signals, 4, axis=0), np.ones(48, dtype=int))
    counts = np.ones(48, dtype=int)
    again = Problem(
        fit, once.operator, once.barrier, once.atom_terms, once.coefficient_terms, counts
    )
    four = np.repeat(case.coefficients, 4, axis=0)
    assert again.objective(four, case.atoms) == pytest.approx(
        once.objective(case.coefficients, case.atoms)
    )


def test_objective_is_infinite_outside_the_domain(make_problem):
    case = make_problem()
    assert case.problem.objective(case.coefficients, -case.atoms) == np.inf
    assert case.problem.objective(case.coefficients + 1, case.atoms) == np.inf
    assert case.problem.objective(case.coefficients, 0 * case.atoms) == np.inf


@pytest.mark.parametrize("window", [2, 5])
def test_window_smoothness_is_the_mean_of_sample_energies(make_problem, window):
    case = make_problem(samples=13, window=window)
    alone = smoothness(case.signals, np.ones(13, dtype=int)).energies(case.atoms)
    starts = np.concatenate([[0], np.cumsum(case.counts)[:-1]])
    means = [alone[s : s + c].mean(axis=0) for s, c in zip(starts, case.counts)]
    fit = case.problem.signal_term
    assert_allclose(fit.energies(case.atoms), means)


def test_blocks_of_windows_do_not_change_the_distances(make_problem, monkeypatch):
    signals = np.random.default_rng(0).standard_normal((4001, 30))
    counts = np.full(800, 5)
    counts[-1] = 6
    found = smoothness(signals, counts).distances
    rows, cols = np.triu_indices(30, 1)
    direct = np.square(signals[:, rows] - signals[:, cols])
    assert_allclose(found[:3], direct[:15].reshape(3, 5, -1).mean(axis=1))
    assert_allclose(found[-1], direct[-6:].mean(axis=0))
    assert_allclose(found[400], direct[2000:2005].mean(axis=0))


def test_gradients_of_windowed_terms_are_in_the_metric_that_counts_samples(make_problem):
    class Ridge:
        def value(self, x):
            return 0.5 * float(np.sum(x**2))

        def gradient(self, x):
            return x

        def lipschitz(self, x):
            return float(len(x))  # so that what it is given can be seen

    case = make_problem(samples=7, window=3, coefficient_terms=[Ridge()])
    group = case.problem.coefficient_priors
    x, eps = case.coefficients, 1e-6
    for t in range(3):
        move = np.zeros_like(x)
        move[t, 1] = eps
        slope = (group.value(x + move) - group.value(x - move)) / (2 * eps)
        assert_allclose(slope - 0.05 * case.counts[t], case.counts[t] * group.gradient(x)[t, 1],
                        rtol=1e-5)  # fmt: skip
    assert group.lipschitz(x) == 7


class NoValues:
    def prox(self, rows, step):
        return rows


def test_a_barrier_that_lacks_something_is_refused_by_name(make_problem):
    problem = make_problem().problem
    with pytest.raises(TypeError, match=r"barrier NoValues needs values\(rows\)"):
        Problem(problem.signal_term, problem.operator, NoValues(), [], [], problem.counts)


def test_terms_are_checked_when_their_group_is_asked_for(make_problem):
    class Hollow:
        def value(self, x):
            return 0.0

    problem = make_problem(atom_terms=[Hollow()]).problem
    with pytest.raises(TypeError, match="Hollow lacks prox"):
        problem.objective(np.ones((12, 3)), np.ones((3, 10)))


def test_weights_are_shares_of_samples():
    signals = np.random.default_rng(0).standard_normal((7, 3))
    counts = np.array([3, 3, 1])
    problem = Problem(
        smoothness(signals, counts), Bilinear(Degrees(3)), None or _barrier(),
        [NonNegative(), L1(0.1)], [UnitBox()], counts,
    )  # fmt: skip
    assert_allclose(problem.shares, [3 / 7, 3 / 7, 1 / 7])


def _barrier():
    from graphdict.terms import LogBarrier

    return LogBarrier()


class _OnlyFirst(L1):
    """Like the norm, but of the first atom alone."""

    def value(self, x):
        return super().value(x[:, :1])

    def prox(self, x, step):
        return np.hstack([super().prox(x[:, :1], step), x[:, 1:]])


def test_a_box_is_what_plain_terms_make_and_nothing_else():
    ones = np.ones(4, int)
    box = TermGroup([UnitBox(), L1(0.3)], ones).box
    assert box == (0.0, 1.0, 0.3, 0.0)
    assert TermGroup([UnitBox(), L1(0.3), L1(0.1)], ones).box.slope == pytest.approx(0.4)
    assert TermGroup([NonNegative(), Interval(0.1, 0.5)], ones).box[:2] == (0.1, 0.5)
    for terms in ([], [L1(0.1)], [Interval(-1, 1)], [UnitBox(), _OnlyFirst(0.3)]):
        assert TermGroup(terms, ones).box is None
    assert TermGroup([UnitBox()], 2 * ones).box is None


def test_earlier_names_work_and_warn(make_problem):
    problem = make_problem().problem
    names = {
        "fit": "signal_term",
        "atoms": "atom_priors",
        "coefficients": "coefficient_priors",
        "weights": "shares",
    }
    for old, new in names.items():
        with pytest.warns(FutureWarning, match=f"{old} of Problem is now called {new}"):
            assert getattr(problem, old) is getattr(problem, new)
    with pytest.warns(FutureWarning, match="signal_term"):
        again = Problem(
            fit=problem.signal_term, operator=problem.operator, barrier=problem.barrier,
            atom_terms=[], coefficient_terms=[], counts=problem.counts,
        )  # fmt: skip
    assert again.signal_term is problem.signal_term
