"""GraphDictSpectral: the constraint holds, the optimum is the constrained one, K never hurts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from graphdict import GraphDictExact, GraphDictSpectral, GraphDictSpectralRelaxed
from graphdict.core import graphs

RNG = np.random.default_rng(2)
NODES = 8
EDGES = graphs.n_edges(NODES)
X = RNG.standard_normal((120, NODES)) @ RNG.standard_normal((NODES, NODES))


def one_graph():
    return np.where(RNG.random(EDGES) < 0.5, RNG.uniform(0.2, 1, EDGES), 0) + 0.05


def commutator(atoms):
    matrices = graphs.laplacian(atoms)
    return max(np.abs(a @ b - b @ a).max() for a in matrices for b in matrices)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "bipds", "max_iter": 60},
        {"alpha_diff": 0.5, "max_iter": 20},
        {"window_size": 5, "alpha_c": 0.2, "alpha_orth": 0.5},
        {"modes": "graph"},
        {"solver": "bipds", "max_iter": 60, "last_iterate": True},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning")
def test_all_graphs_share_the_modes_and_have_no_negative_weight(options):
    model = GraphDictSpectral(3, random_state=0, **options).fit(X)
    assert commutator(model.atoms_) < 1e-8
    assert model.atoms_.min() >= 0
    modes = model.modes_
    spectra = modes.T @ graphs.laplacian(model.atoms_) @ modes
    assert_allclose(spectra, spectra * np.eye(NODES - 1), atol=1e-8)
    assert_allclose(modes.T @ modes, np.eye(NODES - 1), atol=1e-10)


def test_objective_and_score_are_those_of_the_returned_graphs(loop_objective):
    """Which share their modes: so both are the exact ones."""
    model = GraphDictSpectral(3, random_state=0, alpha_c=0.1, alpha_orth=0.2).fit(X)
    arrays = X / model.scale_, model.coefficients_, model.atoms_
    expected = loop_objective(*arrays, "exact", alpha_w=0.1, alpha_c=0.1, alpha_orth=0.2)
    assert model.objective_ == pytest.approx(expected, abs=1e-9)
    held = GraphDictExact(3, atoms=model.atoms_ / model.scale_**2, fix="atoms", alpha_c=0.1)
    shift = (NODES - 1) * np.log(model.scale_)
    assert model.score(X) == pytest.approx(held.fit(X).score(X) + shift, abs=1e-6)


def test_the_objective_never_rises():
    history = GraphDictSpectral(3, random_state=0, alpha_orth=0.3).fit(X).history_["objective"]
    assert np.all(np.diff(history) <= 1e-12)


@pytest.mark.parametrize("modes", ["covariance", "graph"])
def test_more_atoms_never_hurt_from_nested_starts(modes):
    before, start = np.inf, {}
    for count in range(1, 6):
        model = GraphDictSpectral(count, modes=modes, random_state=0, **start).fit(X)
        assert model.objective_ <= before + 1e-9
        before = model.objective_
        start = {
            "atoms": np.vstack([model.atoms_, np.zeros((1, EDGES))]),
            "coefficients": np.hstack([model.coefficients_, np.zeros((len(X), 1))]),
        }


@pytest.mark.parametrize("solver", ["auto", "bipds"])
def test_known_coefficients_give_the_constrained_optimum(solver):
    coefficients = RNG.uniform(0.1, 1, (len(X), 2))
    model = GraphDictSpectral(
        2, coefficients=coefficients, fix="coefficients", solver=solver, tol=1e-7, max_iter=20_000
    ).fit(X)
    rows, cols = np.triu_indices(NODES, 1)
    matrix = -model.modes_[rows] * model.modes_[cols]  # weights of spectra
    powers = (X / model.scale_ @ model.modes_) ** 2

    def objective(flat):
        spectra = flat.reshape(2, -1)
        image = np.maximum(coefficients @ spectra, 1e-12)
        value = (image * powers - np.log(image)).sum() / len(X) + 0.1 * (spectra @ matrix.T).sum()
        gradient = coefficients.T @ (powers - 1 / image) / len(X) + 0.1 * matrix.sum(axis=0)
        return value, gradient.ravel()

    constraints = {
        "type": "ineq",
        "fun": lambda x: (x.reshape(2, -1) @ matrix.T).ravel(),
        "jac": lambda x: np.kron(np.eye(2), matrix),
    }
    found = minimize(
        objective, np.ones(2 * (NODES - 1)), jac=True, method="SLSQP", constraints=constraints,
        options={"ftol": 1e-13, "maxiter": 500},
    )  # fmt: skip
    assert model.objective_ == pytest.approx(found.fun, abs=1e-6 if solver == "auto" else 1e-4)
    assert model.objective_ >= found.fun - 1e-8


def test_learned_modes_are_those_of_the_best_single_graph():
    """So that with one atom nothing is lost to the constraint."""
    ones = {"coefficients": np.ones((len(X), 1)), "fix": "coefficients"}
    shared = GraphDictSpectral(1, modes="graph", **ones).fit(X)
    free = GraphDictExact(1, tol=1e-7, max_iter=5000, **ones).fit(X)
    assert shared.objective_ == pytest.approx(free.objective_, abs=1e-4)
    covariance = GraphDictSpectral(1, **ones).fit(X)
    assert covariance.objective_ > shared.objective_


def test_atoms_that_are_held_bring_their_modes():
    graph = one_graph()
    matrix = graphs.laplacian(graph)
    other = graphs.laplacian_to_weights(3 * np.trace(matrix) * matrix - matrix @ matrix)
    model = GraphDictSpectral(2, atoms=[graph, other], fix="atoms").fit(X)
    assert_array_equal(model.atoms_, [graph, other])
    assert_allclose(matrix @ model.modes_[:, 0], (model.modes_[:, 0] @ matrix @ model.modes_[:, 0])
                    * model.modes_[:, 0], atol=1e-10)  # fmt: skip
    with pytest.raises(ValueError, match="must share their eigenvectors"):
        GraphDictSpectral(2, atoms=[graph, one_graph()], fix="atoms").fit(X)


def test_the_penalty_on_mixed_modes_leads_from_the_relaxed_model_to_the_exact_one():
    off = []
    for alpha in (0.01, 1.0, 100.0):
        model = GraphDictSpectralRelaxed(2, alpha_modes=alpha, random_state=0, max_iter=3000).fit(X)
        spectra = model.modes_.T @ graphs.laplacian(model.atoms_) @ model.modes_
        off.append(np.linalg.norm(spectra - spectra * np.eye(NODES - 1)) / np.linalg.norm(spectra))
    assert off[2] < off[1] < off[0]
    assert off[2] < 0.05
    free = GraphDictSpectralRelaxed(2, alpha_modes=0, random_state=0).fit(X)
    assert free.objective_ < GraphDictSpectral(2, random_state=0).fit(X).objective_
