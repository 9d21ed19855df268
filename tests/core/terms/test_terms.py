"""Every term against its definition: prox, conjugate prox, gradient, bounds."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, minimize

from graphdict import graphs
from graphdict.core.term_group import TermGroup
from graphdict.core.terms.coefficients import window_counts, window_means
from graphdict.terms import (
    L1,
    ConstantOverWindows,
    Interval,
    LogBarrier,
    LogDet,
    NonNegative,
    Orthogonality,
    TotalVariation,
    UnitBox,
    prox,
    prox_conjugate,
)


def symmetric(rng):
    matrix = rng.standard_normal((2, 4, 4))
    return matrix + np.swapaxes(matrix, 1, 2)


def rows(rng):
    return 2 * rng.standard_normal((5, 3))


PROXIMABLE = [
    pytest.param(NonNegative(), rows, id="NonNegative"),
    pytest.param(UnitBox(), rows, id="UnitBox"),
    pytest.param(Interval(-0.5, 2.0), rows, id="Interval"),
    pytest.param(L1(0.7), rows, id="L1"),
    pytest.param(L1(0.0), rows, id="L1-zero"),
    pytest.param(TotalVariation(0.6), rows, id="TotalVariation"),
    pytest.param(TotalVariation(100.0), rows, id="TotalVariation-large"),
    pytest.param(ConstantOverWindows(2), rows, id="ConstantOverWindows"),
    pytest.param(LogBarrier(), rows, id="LogBarrier"),
    pytest.param(LogDet(), symmetric, id="LogDet"),
]
SMOOTH = [
    pytest.param(Orthogonality(0.8), rows, id="Orthogonality"),
    pytest.param(L1(0.8).on_nonnegatives(), rows, id="Sum"),
]
seeds = pytest.mark.parametrize("seed", range(3))


@seeds
@pytest.mark.parametrize("step", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(("term", "draw"), PROXIMABLE)
def test_no_other_point_does_better_than_the_prox(term, draw, step, seed):
    rng = np.random.default_rng(seed)
    x = draw(rng)
    best = prox(term, x, step)

    def cost(u):
        return step * term.value(u) + np.sum((u - x) ** 2) / 2

    lowest = cost(best)
    assert np.isfinite(lowest)
    others = [x, prox(term, x, 2 * step), prox(term, x, step / 2), prox(term, x + 0.1, step)]
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(25):
            noise = size * draw(rng)
            others += [best + noise, prox(term, best + noise, step)]
            sparse = np.zeros_like(best)
            spot = tuple(rng.integers(0, n) for n in best.shape)
            sparse[spot] = np.copysign(size + abs(noise[spot]), noise[spot])
            others.append(best + (sparse if draw is rows else noise))
    assert all(cost(other) >= lowest - 1e-10 for other in others)


@seeds
@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
@pytest.mark.parametrize(("term", "draw"), PROXIMABLE)
def test_moreau_identity_between_prox_and_conjugate_prox(term, draw, step, seed):
    x = draw(np.random.default_rng(seed))
    rebuilt = prox(term, x, step) + step * prox_conjugate(term, x / step, 1 / step)
    assert_allclose(rebuilt, x, atol=1e-10)


@pytest.mark.parametrize(("term", "draw"), PROXIMABLE)
def test_a_term_that_knows_only_its_conjugate_has_the_same_prox(term, draw):
    class Dual:
        value = term.value

        def prox_conjugate(self, y, step):
            return prox_conjugate(term, y, step)

    x = draw(np.random.default_rng(4))
    assert_allclose(prox(Dual(), x, 0.7), prox(term, x, 0.7), atol=1e-10)


@pytest.mark.parametrize(("term", "draw"), PROXIMABLE)
def test_prox_is_firmly_nonexpansive(term, draw):
    rng = np.random.default_rng(8)
    for _ in range(10):
        x, y = draw(rng), draw(rng)
        gap = prox(term, x, 0.9) - prox(term, y, 0.9)
        assert np.sum(gap * gap) <= np.sum(gap * (x - y)) + 1e-10


@pytest.mark.parametrize(("term", "draw"), PROXIMABLE)
def test_prox_keeps_precision_and_its_argument(term, draw):
    x = draw(np.random.default_rng(0)).astype(np.float32)
    before = x.copy()
    found = prox(term, x, 0.5)
    assert found.dtype == np.float32
    assert prox_conjugate(term, x, 0.5).dtype == np.float32
    assert_array_equal(x, before)
    assert_allclose(found, prox(term, x.astype(np.float64), 0.5), atol=1e-5)


@seeds
@pytest.mark.parametrize(("term", "draw"), SMOOTH)
def test_gradient_and_its_lipschitz_bound(term, draw, seed):
    rng = np.random.default_rng(seed)
    x, direction = draw(rng), draw(rng)
    eps = 1e-6
    slope = (term.value(x + eps * direction) - term.value(x - eps * direction)) / (2 * eps)
    assert_allclose(slope, np.sum(term.gradient(x) * direction), rtol=1e-6)
    change = np.linalg.norm(term.gradient(x + direction) - term.gradient(x))
    assert change <= term.lipschitz(x) * np.linalg.norm(direction) * (1 + 1e-12)


def test_orthogonality_bound_is_attained_and_counts_each_pair_once():
    term = Orthogonality(0.5)
    same = np.ones((4, 3))
    assert_allclose(term.gradient(same), term.lipschitz(same) * same)
    assert term.value(same) == pytest.approx(0.5 * 6 * 3)
    assert term.value(np.eye(3)) == 0
    assert term.value(np.ones((1, 3))) == 0


def fused_by_its_dual(v, penalty):
    """min |v - D'u|^2 over |u| <= penalty, by bounded least squares; the prox is v - D'u."""
    differences = np.diff(np.eye(len(v)), axis=0)
    solved = lsq_linear(differences.T, v, bounds=(-penalty, penalty), tol=1e-14, max_iter=1000)
    return v - differences.T @ solved.x


@given(st.integers(2, 25), st.floats(1e-3, 20), st.integers(0, 10_000))
def test_total_variation_prox_solves_its_quadratic_programme(samples, penalty, seed):
    rng = np.random.default_rng(seed)
    v = np.cumsum(rng.standard_normal(samples)) * rng.choice([0.1, 1, 10])
    found = TotalVariation(penalty).prox(v[:, None], 1.0)[:, 0]
    expected = fused_by_its_dual(v, penalty)
    assert_allclose(found, expected, atol=1e-5 * max(1, np.abs(v).max()))


def test_total_variation_prox_on_ties_ramps_and_short_signals():
    term = TotalVariation(1.0)
    assert_array_equal(term.prox(np.full((6, 2), 3.0), 1.0), 3.0)
    assert_array_equal(term.prox(np.array([[1.0, -2.0]]), 5.0), [[1.0, -2.0]])
    assert_allclose(term.prox(np.array([[0.0], [10.0]]), 1.0), [[1.0], [9.0]])
    assert_allclose(term.prox(np.array([[0.0], [1.0]]), 1.0), [[0.5], [0.5]])
    assert term.prox(np.empty((0, 2)), 1.0).shape == (0, 2)


def test_total_variation_prox_of_independent_columns():
    v = np.random.default_rng(0).standard_normal((30, 4))
    together = TotalVariation(0.4).prox(v, 1.0)
    alone = [TotalVariation(0.4).prox(v[:, [k]], 1.0)[:, 0] for k in range(4)]
    assert_array_equal(together, np.stack(alone, axis=1))


def brute_force(terms, x, step):
    """Minimiser of the prox cost of a sum of terms: SLSQP on the epigraph of the moduli."""
    samples = len(x)
    tv = sum(t.alpha for t in terms if isinstance(t, TotalVariation)) * step
    l1 = sum(t.alpha for t in terms if isinstance(t, L1)) * step
    low = max([t.low for t in terms if isinstance(t, Interval)], default=-50)
    high = min([t.high for t in terms if isinstance(t, Interval)], default=50)
    jumps = np.diff(np.eye(samples), axis=0)
    m = samples - 1
    start = np.concatenate([np.clip(x, low, high), np.full(samples, 9.0), np.full(m, 9.0)])
    eye, flat, wide = np.eye(samples), np.zeros((m, samples)), np.zeros((samples, m))
    rows_ = np.vstack(
        [
            np.hstack([-eye, eye, wide]), np.hstack([eye, eye, wide]),
            np.hstack([-jumps, flat, np.eye(m)]), np.hstack([jumps, flat, np.eye(m)]),
        ]
    )  # fmt: skip
    linear = np.concatenate([np.zeros(samples), np.full(samples, l1), np.full(m, tv)])
    target = np.concatenate([x, np.zeros(samples + m)])
    mask = np.concatenate([np.ones(samples), np.zeros(samples + m)])
    found = minimize(
        lambda z: 0.5 * np.sum(mask * (z - target) ** 2) + linear @ z,
        start,
        jac=lambda z: mask * (z - target) + linear,
        bounds=[(low, high)] * samples + [(0, 60)] * (samples + m),
        constraints={"type": "ineq", "fun": lambda z: rows_ @ z, "jac": lambda z: rows_},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.status in (0, 8)  # done, or no further descent in this precision
    return found.x[:samples]


COMPOSITES = [
    pytest.param([UnitBox(), L1(0.3), TotalVariation(0.4)], id="box-l1-tv"),
    pytest.param([NonNegative(), L1(0.5)], id="nonneg-l1"),
    pytest.param([TotalVariation(1.0), UnitBox()], id="tv-box"),
    pytest.param([L1(0.2), TotalVariation(0.3)], id="l1-tv"),
    pytest.param([Interval(-0.3, 0.4), L1(0.2), TotalVariation(0.3)], id="interval-l1-tv"),
]


@seeds
@pytest.mark.parametrize("terms", COMPOSITES)
def test_composed_prox_is_the_prox_of_the_sum(terms, seed):
    x = 1.5 * np.random.default_rng(seed).standard_normal(7)
    group = TermGroup(terms)
    assert group.split == ()
    for order in (terms, terms[::-1]):
        found = TermGroup(order).prox(x[:, None], 0.8)[:, 0]
        assert_allclose(found, brute_force(terms, x, 0.8), atol=2e-5)


@seeds
def test_composed_prox_with_constant_windows(seed):
    """Constancy over windows is a change of variables: its minimiser is found in the windows."""
    x = 1.5 * np.random.default_rng(seed).standard_normal((7, 1))
    group = TermGroup([UnitBox(), L1(0.2), ConstantOverWindows(3)])
    found = group.prox(x, 0.5)[:, 0]

    def cost(u):
        u = np.repeat(u, [3, 3, 1])
        return 0.5 * np.sum((u - x[:, 0]) ** 2) + 0.5 * 0.2 * np.sum(u)

    best = minimize(cost, np.full(3, 0.5), bounds=[(0, 1)] * 3, tol=1e-14)
    assert_allclose(found, np.repeat(best.x, [3, 3, 1]), atol=1e-5)


@seeds
def test_windowed_group_is_the_prox_among_window_constant_signals(seed):
    """In the metric that counts samples, terms of samples act on windows of unequal length."""
    x = np.random.default_rng(seed).uniform(-0.5, 1.5, (3, 1))
    counts = np.array([3, 3, 1])
    group = TermGroup([UnitBox(), L1(0.3), TotalVariation(0.4)], counts)
    found = group.prox(x, 0.9)[:, 0]

    def cost(u):
        jumps = np.abs(np.diff(u)).sum()
        return 0.5 * counts @ (u - x[:, 0]) ** 2 + 0.9 * (0.3 * counts @ u + 0.4 * jumps)

    starts = [np.full(3, 0.5), found, np.clip(x[:, 0], 0, 1)]
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000}
    searches = [
        minimize(cost, s, bounds=[(0, 1)] * 3, method="Nelder-Mead", options=options)
        for s in starts
    ]
    assert cost(found) <= min(search.fun for search in searches) + 1e-9
    assert group.value(found[:, None]) == pytest.approx(
        0.3 * counts @ found + 0.4 * np.abs(np.diff(found)).sum()
    )


def test_zeros_have_no_sign():
    found = TermGroup([NonNegative(), L1(0.5)]).prox(np.array([[-1.0, -0.2, 0.2]]), 1.0)
    assert not np.signbit(found).any()


def test_values_outside_a_constraint_are_infinite():
    outside = np.array([[0.5, 1.5]])
    assert UnitBox().value(outside) == np.inf
    assert NonNegative().value(-outside) == np.inf
    assert NonNegative().value(outside) == 0
    assert ConstantOverWindows(2).value(np.array([[0.0], [1.0]])) == np.inf
    assert ConstantOverWindows(2).value(np.array([[1.0], [1.0], [0.0]])) == 0
    assert LogBarrier().value(np.array([[1.0, 0.0]])) == np.inf
    assert LogBarrier().value(np.array([[1.0, -1.0]])) == np.inf


@given(st.integers(1, 40), st.integers(1, 50))
def test_windows_cover_all_samples(samples, size):
    counts = window_counts(samples, size)
    assert counts.sum() == samples
    assert np.all(counts[:-1] == size)
    assert 1 <= counts[-1] <= size
    x = np.random.default_rng(samples).standard_normal((samples, 2))
    by_hand = [x[i : i + size].mean(axis=0) for i in range(0, samples, size)]
    assert_allclose(window_means(x, counts), by_hand)
    flat = ConstantOverWindows(size).prox(x, 1.0)
    assert_allclose(flat, np.repeat(by_hand, counts, axis=0))


@given(st.integers(2, 8), st.integers(0, 1000))
def test_logdet_is_that_of_the_nonzero_eigenvalues(nodes, seed):
    weights = np.random.default_rng(seed).uniform(0.01, 2, (3, graphs.n_edges(nodes)))
    laplacians = graphs.laplacian(weights)
    expected = -np.log(np.linalg.eigvalsh(laplacians)[:, 1:]).sum(axis=1)
    assert_allclose(LogDet().values(laplacians), expected, rtol=1e-8, atol=1e-8)


def test_logdet_in_single_precision_sees_weak_edges_beside_a_strong_one():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.1, 3, (20, graphs.n_edges(6))).astype(np.float32)
    weights[:, 0] = 1e5
    laplacians = graphs.laplacian(weights)
    assert laplacians.dtype == np.float32
    exact = LogDet().values(graphs.laplacian(weights.astype(np.float64)))
    assert_allclose(LogDet().values(laplacians), exact, rtol=1e-6)


def test_logdet_leaves_its_domain_where_a_graph_falls_apart_or_is_indefinite():
    weights = np.zeros((3, 15))
    weights[0] = 1
    weights[1, 0] = weights[1, -1] = 1  # several components: an even number of zero eigenvalues
    weights[2] = -1  # five negative eigenvalues
    five = graphs.laplacian(weights)
    assert_array_equal(np.isfinite(LogDet().values(five)), [True, False, False])
    negative = -graphs.laplacian(np.ones((1, 10)))  # an even number of negative eigenvalues
    assert LogDet().value(negative) == np.inf


def barrier_case(name, rng):
    atoms = rng.uniform(0.1, 1, (3, 10))
    if name == "log":
        return LogBarrier(), graphs.degrees(atoms)
    return LogDet(), graphs.laplacian(atoms)


@pytest.mark.parametrize("name", ["log", "det"])
def test_slope_and_curvature_against_finite_differences(name):
    rng = np.random.default_rng(1)
    barrier, images = barrier_case(name, rng)
    x = rng.uniform(0.2, 0.8, (2, 3))
    eps = 1e-5

    def image(c):
        return np.tensordot(c, images, axes=1)

    def gradient(c):
        slope = barrier.slope(image(c))
        return -np.tensordot(slope, images, axes=(range(1, slope.ndim), range(1, images.ndim)))

    hessian = barrier.curvature(image(x), images)
    for k, unit in enumerate(np.eye(3)):
        change = barrier.values(image(x + eps * unit)) - barrier.values(image(x - eps * unit))
        assert_allclose(change / (2 * eps), gradient(x)[:, k], rtol=1e-5)
        bend = (gradient(x + eps * unit) - gradient(x - eps * unit)) / (2 * eps)
        assert_allclose(bend, hessian[:, k], rtol=1e-5)


def test_log_barrier_prox_survives_extreme_numbers():
    extreme = np.array([[-1e150, -1e8, -1e-300, 0.0, 1e-300, 1e8, 1e150]])
    for step in (1e-250, 1e-8, 1.0, 1e8):
        found = LogBarrier().prox(extreme, step)
        assert np.all(np.isfinite(found))
        assert np.all(found >= 0)


@dataclass
class Bare:
    def value(self, x):
        return 0.0


class OnlyGradient(Bare):
    def gradient(self, x):
        return x


class OnlyLipschitz(Bare):
    def lipschitz(self, x):
        return 1.0


class NoValue:
    def prox(self, x, step):
        return x


@pytest.mark.parametrize(
    ("term", "lacks"),
    [
        (Bare(), r"Bare lacks prox\(x, step\), prox_conjugate"),
        (OnlyGradient(), r"OnlyGradient lacks lipschitz\(x\)"),
        (OnlyLipschitz(), r"OnlyLipschitz lacks gradient\(x\)"),
        (NoValue(), r"NoValue lacks value\(x\)"),
    ],
)
def test_a_term_that_cannot_be_minimised_is_refused_by_name(term, lacks):
    with pytest.raises(TypeError, match=lacks):
        TermGroup([term])


class Mask:
    """A user's constraint on single entries."""

    elementwise = True

    def value(self, x):
        return 0.0

    def prox(self, x, step):
        return x


def test_sorting_of_terms():
    box, l1, tv, windows = UnitBox(), L1(0.1), TotalVariation(0.1), ConstantOverWindows(2)
    smooth, mask = Orthogonality(1.0), Mask()
    group = TermGroup([box, l1, smooth, tv, windows])
    assert group.direct == (tv, l1, box)
    assert group.smooth == (smooth,)
    assert group.split == (windows,)
    # Of two elementwise terms one is composed; a norm is linear where nothing is negative.
    group = TermGroup([box, l1, mask])
    assert group.direct == (mask, box)
    assert group.smooth == (l1.on_nonnegatives(),)
    assert group.split == ()
    group = TermGroup([Interval(-1, 1), l1, mask])
    assert group.direct == (l1, Interval(-1, 1))
    assert group.split == (mask,)
