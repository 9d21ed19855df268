"""What the page on convergence says: descent, and where Algorithm 1 fails."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from graphdict import GraphDictLog, GraphDictSpectral
from graphdict.core.operators import Bilinear, Degrees
from graphdict.core.solvers.base import History
from graphdict.core.terms.barriers import LogBarrier, log_determinants
from graphdict.core.terms.signal_terms import smoothness
from graphdict.solvers import Problem, bipds
from graphdict.terms import NonNegative, UnitBox

pytestmark = pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning")
RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 6)) @ RNG.standard_normal((6, 6))


@pytest.fixture
def two_nodes():
    """One sample whose squared difference is 10."""
    signals = np.array([[1.0, -1.0]]) * np.sqrt(10) / 2
    counts = np.ones(1, dtype=int)
    operator = Bilinear(Degrees(2))
    fit = smoothness(signals, counts)
    return Problem(fit, operator, LogBarrier(), [NonNegative()], [UnitBox()], counts)


HALF = np.full((1, 1), 0.5)
STEPS = {"tau_atoms": 0.99, "tau_coefficients": 0.99, "sigma": 1.0}


def test_algorithm_1_can_reach_zero_and_stays_there(two_nodes):
    norm = two_nodes.operator.norm_atoms(HALF)
    assert STEPS["tau_atoms"] <= 1 / (2 * STEPS["sigma"] * norm**2)
    for iterations in (1, 2, 50):
        found = bipds(two_nodes, HALF, HALF, max_iter=iterations, tol=0, last_iterate=True, **STEPS)
        assert_array_equal(found.atoms, 0)
        assert_array_equal(found.coefficients, 0)
        assert found.objective == np.inf


def test_what_is_done_about_it_finds_the_optimum(two_nodes):
    found = bipds(two_nodes, HALF, HALF, max_iter=2000, tol=1e-8, sigma=1.0)
    assert found.objective == pytest.approx(2 - 2 * np.log(0.2), abs=1e-6)


def test_it_collapses_with_several_samples_and_atoms_too():
    start = RNG.uniform(0.2, 1, (3, 15)), RNG.uniform(0.1, 0.9, (40, 3))
    model = GraphDictLog(
        3, solver="bipds", atoms=start[0], coefficients=start[1], rescale=False, tol=0,
        sigma=0.1, max_iter=50, last_iterate=True,
    )  # fmt: skip
    with pytest.raises(
        ValueError, match=r"last_iterate=True ends at .* where the objective is inf"
    ):
        model.fit(X)
    assert np.isfinite(model.set_params(last_iterate=False, max_iter=1000).fit(X).objective_)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (GraphDictLog, {}),
        (GraphDictLog, {"alpha_diff": 0.3, "window_size": 2}),
        (GraphDictLog, {"alpha_orth": 0.3, "alpha_c": 0.1}),
        (GraphDictSpectral, {"max_iter": 4}),
    ],
)
def test_alternating_halves_never_rise(model, settings):
    settings = {"solver": "alternating", "max_iter": 10, "random_state": 0, **settings}
    found = model(3, **settings).fit(X)
    history = found.history_["objective"]
    assert np.all(np.diff(history) <= 0)
    assert found.objective_ <= history[-1] + 1e-9
    assert history[-1] < history[0]


def test_alternating_with_one_variable_held_is_that_half():
    known = RNG.uniform(0.1, 1, (40, 3))
    settings = {"coefficients": known, "fix": "coefficients", "tol": 1e-6, "max_iter": 2000}
    one, other = (GraphDictLog(3, solver=s, **settings).fit(X) for s in ("alternating", "bipds"))
    assert one.objective_ == pytest.approx(other.objective_, abs=1e-3)


def test_the_bound_of_the_first_lemma():
    """``log det`` of a sum lies above its tangent in the logarithms of the summands."""
    factors = RNG.normal(size=(5, 4, 3))
    matrices = factors @ np.swapaxes(factors, 1, 2)
    start = RNG.uniform(0.2, 2, 5)
    whole = np.tensordot(start, matrices, 1)
    gains = np.einsum("ij,kji->k", np.linalg.inv(whole), matrices)
    for x in start * RNG.lognormal(0, 1.5, (200, 5)):
        value = -log_determinants(np.tensordot(x, matrices, 1)[None])[0]
        bound = -log_determinants(whole[None])[0] - gains * start @ np.log(x / start)
        assert value <= bound + 1e-9


def test_an_objective_that_is_no_number_counts_as_infinite():
    history = History()
    history.add(float("nan"), {"atoms": 1.0})
    history.add(2.0, {"atoms": 0.5})
    assert history.objective == [np.inf, 2.0]
