"""Algorithm 1 from an estimator: with fixed steps its iterates are those of plain NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectralRelaxed
from graphdict.core import graphs
from graphdict.exceptions import ConvergenceWarning
from graphdict.terms import L1

pytestmark = pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning")
T, N, K = 25, 6, 3
RNG = np.random.default_rng(4)
X = 0.2 * RNG.standard_normal((T, N)) @ RNG.standard_normal((N, N))
ATOMS = RNG.uniform(0.2, 1, (K, graphs.n_edges(N)))
COEFFICIENTS = RNG.uniform(0.1, 0.9, (T, K))
STEPS = {"tau_atoms": 0.05, "tau_coefficients": 0.01, "sigma": 1.0}
PRIORS = {"alpha_w": 0.1, "alpha_c": 0.05, "alpha_orth": 0.2}
ROWS, COLS = np.triu_indices(N, 1)
ENDS = np.eye(N)[ROWS] - np.eye(N)[COLS]  # (E, N)
PAIRS = (X @ ENDS.T) ** 2  # Z
DEGREES = np.abs(ENDS)
LAPLACIANS = ENDS[:, :, None] * ENDS[:, None, :]  # of single edges


def prox_of_entries(Y, sigma):
    return (Y - np.sqrt(Y**2 + 4 * sigma)) / 2


def prox_of_eigenvalues(Y, sigma):
    """On signals of zero mean, all that a Laplacian sees."""
    basis = graphs.zero_sum_basis(N)
    values, vectors = np.linalg.eigh(basis.T @ Y @ basis)
    vectors = basis @ vectors
    return (vectors * prox_of_entries(values, sigma)[:, None]) @ np.swapaxes(vectors, 1, 2)


def algorithm_1(
    iterations, tau_atoms, tau_coefficients, sigma, alpha_w, alpha_c, alpha_orth,
    edges=DEGREES, Z=PAIRS, prox=prox_of_entries,
):  # fmt: skip
    """As the paper prints it, in its units: sums over samples, and weights (T, E) of samples.

    ``edges`` (E, ...) is what the barrier sees of single edges: by default their degrees.
    """
    W, C = ATOMS, COEFFICIENTS
    adjoint = lambda Y: np.tensordot(Y, edges, (range(1, Y.ndim),) * 2)  # noqa: E731  dY (T, E)
    Y = prox(sigma * np.tensordot(C @ W, edges, 1), sigma)
    tau_w, alpha_w, alpha_orth = tau_atoms / T, alpha_w * T, alpha_orth * T
    for _ in range(iterations):
        slope = C.T @ Z + alpha_orth * (np.ones((K, K)) - np.eye(K)) @ W
        W_next = np.maximum(W - tau_w * (C.T @ adjoint(Y) + slope) - tau_w * alpha_w, 0)
        slope = adjoint(Y) @ W.T + Z @ W.T
        C_next = np.clip(C - tau_coefficients * slope - tau_coefficients * alpha_c, 0, 1)
        Y = prox(Y + sigma * np.tensordot((2 * C_next - C) @ (2 * W_next - W), edges, 1), sigma)
        W, C = W_next, C_next
    return W, C


def fitted(iterations, model=GraphDictLog, **options):
    return model(
        K, solver="bipds", atoms=ATOMS, coefficients=COEFFICIENTS, max_iter=iterations, tol=0,
        rescale=False, **{**STEPS, **PRIORS, "last_iterate": True, **options},
    ).fit(X)  # fmt: skip


@pytest.mark.parametrize("alpha_orth", [0.0, 0.2])
@pytest.mark.parametrize("iterations", [1, 2, 17, 60])
def test_iterates_are_those_of_numpy(iterations, alpha_orth):
    model = fitted(iterations, alpha_orth=alpha_orth)
    atoms, coefficients = algorithm_1(iterations, **STEPS, **{**PRIORS, "alpha_orth": alpha_orth})
    assert_allclose(model.atoms_, atoms, rtol=1e-10, atol=1e-12)
    assert_allclose(model.coefficients_, coefficients, rtol=1e-10, atol=1e-12)
    assert model.n_iter_ == iterations


def test_the_objective_is_that_of_the_last_iterate(loop_objective):
    model = fitted(300)
    expected = loop_objective(X, model.coefficients_, model.atoms_, **PRIORS)
    assert model.objective_ == pytest.approx(expected)
    assert model.objective_ == model.history_["objective"][-1]
    best = fitted(300, last_iterate=False)
    assert best.objective_ < model.objective_


def test_a_step_of_zero_holds_its_variable():
    assert_array_equal(fitted(20, tau_atoms=0).atoms_, ATOMS)
    assert_array_equal(fitted(20, tau_coefficients=0).coefficients_, COEFFICIENTS)
    for name in STEPS:
        model = fitted(20, **{name: 0.0})
        atoms, coefficients = algorithm_1(20, **{**STEPS, name: 0.0}, **PRIORS)
        assert_allclose(model.atoms_, atoms, rtol=1e-10, atol=1e-12)
        assert_allclose(model.coefficients_, coefficients, rtol=1e-10, atol=1e-12)
        assert np.isfinite(model.history_["residual"]).all()
    still = fitted(20, tau_atoms=0, tau_coefficients=0, atom_priors=[L1(0.1), L1(0.1)])
    assert_array_equal(still.atoms_, ATOMS)


def test_given_steps_are_kept_and_others_found():
    """A given step changes the iterates; without one they are as before."""
    free = {"tau_atoms": None, "tau_coefficients": None, "sigma": None}
    assert not np.allclose(fitted(20, **free).atoms_, fitted(20).atoms_)
    one = fitted(20, **{**free, "sigma": 5.0})
    assert not np.allclose(one.coefficients_, fitted(20, **free).coefficients_)


def test_a_last_iterate_with_no_finite_objective_is_returned_as_it_is():
    """Algorithm 1 passes through such points, at which a node has no edge in some sample."""
    with pytest.warns(ConvergenceWarning, match="some node has no edge in some sample"):
        model = fitted(20, sigma=0.0)
    assert model.objective_ == model.history_["objective"][-1] == np.inf
    assert np.isfinite(model.score(X))


def test_overflow_ends_where_nothing_turns_back():
    with pytest.raises(ValueError, match=r"tau_atoms=1e\+30, .* too long"):
        fitted(200, tau_atoms=1e30, tau_coefficients=1e30, alpha_orth=0.0)


@pytest.mark.parametrize("iterations", [1, 15])
def test_iterates_of_the_exact_model_too(iterations):
    model = fitted(iterations, GraphDictExact)
    atoms, coefficients = algorithm_1(
        iterations, **STEPS, **PRIORS, edges=LAPLACIANS, prox=prox_of_eigenvalues
    )
    assert_allclose(model.atoms_, atoms, rtol=1e-10, atol=1e-11)
    assert_allclose(model.coefficients_, coefficients, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("iterations", [1, 15])
def test_iterates_of_the_relaxed_spectral_model_too(iterations):
    """Which sees of a signal its powers in the modes, and of a graph its energies in them."""
    model = fitted(iterations, GraphDictSpectralRelaxed, alpha_modes=0.0)
    energies = (ENDS @ model.modes_) ** 2
    powers = (X @ model.modes_) ** 2
    atoms, coefficients = algorithm_1(
        iterations, **STEPS, **PRIORS, edges=energies, Z=powers @ energies.T
    )
    assert_allclose(model.atoms_, atoms, rtol=1e-10, atol=1e-12)
    assert_allclose(model.coefficients_, coefficients, rtol=1e-10, atol=1e-12)
