"""Compiled proximal operators: definitions, limits, and the dual step of the exact model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphdict.core.terms import barriers
from graphdict.native import proxes
from graphdict.native.proxes import positive_root
from graphdict.terms import LogDet

sizes = st.integers(2, 40)
spreads = st.floats(-3, 2)  # powers of ten: eigenvalues in units of 2 sigma^{1/2}
steps = st.floats(-4, 4)
seeds = st.integers(0, 10_000)


def matrices(samples, nodes, largest, seed, dtype=np.float64):
    """Symmetric, with eigenvalues of either sign up to ``largest``."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((samples, nodes, nodes)))[0]
    values = largest * rng.uniform(-1, 1, (samples, 1, nodes))
    return ((vectors * values) @ np.swapaxes(vectors, 1, 2)).astype(dtype)


def by_eigenvectors(dual, step):
    return dual - step * LogDet().prox(dual / step, 1 / step)


@given(sizes, spreads, steps, seeds)
def test_equals_the_step_by_eigenvectors(nodes, spread, step, seed):
    step = 10**step
    dual = matrices(3, nodes, 10**spread * 2 * step**0.5, seed)
    raised, hard = proxes.log_det_prox_conjugate(dual, step)
    assert not hard.any()
    scale = max(np.abs(dual).max(), step**0.5)
    assert_allclose(raised, by_eigenvectors(dual, step), rtol=0, atol=1e-11 * scale)


@given(sizes, seeds)
def test_is_minus_the_gradient_of_the_conjugate_there(nodes, seed):
    """``L = (Y - Y+) / sigma`` and ``Y+`` belong together: ``Y+ = -L^+`` off the constants."""
    dual, step = matrices(2, nodes, 3.0, seed), 0.7
    raised, _ = proxes.log_det_prox_conjugate(dual, step)
    off_constants = np.eye(nodes) - 1 / nodes
    primal = off_constants @ (dual - raised) @ off_constants / step
    assert_allclose(primal @ raised, -np.broadcast_to(off_constants, dual.shape), atol=1e-9)
    assert_allclose(raised.sum(axis=1), 0, atol=1e-12)


def test_single_precision_stays_single():
    dual = matrices(20, 30, 2.0, 0)
    raised, hard = proxes.log_det_prox_conjugate(dual.astype(np.float32), 0.3)
    assert raised.dtype == np.float32
    assert not hard.any()
    assert_allclose(raised, by_eigenvectors(dual, 0.3), atol=2e-5)


def test_matrices_far_from_well_conditioned_are_named():
    dual = np.concatenate([matrices(2, 6, size, 1) for size in (1.0, 1e5, 1e-5)])
    _, hard = proxes.log_det_prox_conjugate(dual, 0.3)
    assert_array_equal(hard, [False, False, True, True, False, False])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e200])
def test_what_overflows_is_not_finite_and_leaves_the_others_alone(wrong):
    dual = matrices(3, 5, 1.0, 2)
    expected, _ = proxes.log_det_prox_conjugate(dual, 0.3)
    dual[1, 2, 3] = dual[1, 3, 2] = wrong
    raised, hard = proxes.log_det_prox_conjugate(dual, 0.3)
    assert not hard.any()
    assert np.isnan(raised[1]).all()
    assert_array_equal(raised[[0, 2]], expected[[0, 2]])


def test_the_term_takes_eigenvectors_where_they_serve_better(monkeypatch):
    dual = np.concatenate([matrices(30, 12, size, 3) for size in (1.0, 1e7)])
    mixed = LogDet().prox_conjugate(dual, 0.3)
    monkeypatch.setattr(barriers, "LARGE_MATRIX", 11)
    plain = LogDet().prox_conjugate(dual, 0.3)
    assert_array_equal(mixed[30:], plain[30:])
    assert_allclose(mixed[:30], plain[:30], atol=1e-12)
    assert (mixed[:30] != plain[:30]).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_positive_root_solves_its_equation_at_every_magnitude(dtype):
    x = np.concatenate([-(10.0 ** np.arange(-6, 7)), [0.0], 10.0 ** np.arange(-6, 7)]).astype(dtype)
    for step in (1e-3, 1.0, 50.0):
        root = positive_root(x, step)
        assert root.dtype == dtype
        # u solves u - x - step / u = 0; compared relative to its parts.
        exact = root.astype(np.float64)
        gap = exact - x - step / exact
        scale = np.maximum(exact, np.maximum(np.abs(x), step / exact))
        assert (root > 0).all()
        assert (np.abs(gap) <= 50 * np.finfo(dtype).eps * scale).all()


def test_positive_root_takes_any_layout():
    x = np.random.default_rng(0).normal(size=(6, 8))
    expected = (x + np.sqrt(x**2 + 4)) / 2
    for view in (np.asfortranarray(x), x[:, ::2], x[::-1]):
        reference = (view + np.sqrt(view**2 + 4)) / 2
        np.testing.assert_allclose(positive_root(view, 1.0), reference)
    np.testing.assert_allclose(positive_root(x, 1.0), expected)
