"""Graphs that share eigenvectors: the projection on them, quadratic programmes over them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad, minimize

from graphdict import graphs
from graphdict.core.operators import Spectra
from graphdict.core.terms.cone import GraphsOfModes, minimise_quadratic
from graphdict.core.terms.modal import ModeMixing

RNG = np.random.default_rng(7)
NODES = 7
MODES = np.linalg.qr(np.eye(NODES) - 1 / NODES)[0][:, :-1]
MODES = MODES @ np.linalg.qr(RNG.normal(size=(NODES - 1, NODES - 1)))[0]
CONE = GraphsOfModes(Spectra(MODES))


def best(function, start):
    """What SciPy finds over spectra in the cone."""
    shape = (-1, NODES - 1)
    constraints = {"type": "ineq", "fun": lambda x: (x.reshape(shape) @ CONE.matrix.T).ravel()}
    return minimize(
        function, start.ravel(), method="SLSQP", constraints=constraints,
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip


def test_the_matrix_gives_weights_of_spectra_and_back():
    spectra = RNG.uniform(size=(3, NODES - 1))
    matrices = MODES @ (spectra[:, :, None] * MODES.T)
    assert_allclose(graphs.laplacian(spectra @ CONE.matrix.T), matrices, atol=1e-12)


def test_the_projection_is_the_nearest_graph_of_these_modes():
    atoms = RNG.uniform(-0.5, 1, (2, graphs.n_edges(NODES)))
    found = CONE.prox(atoms, 1.0)
    assert CONE.value(found) == 0
    assert CONE.value(atoms) == np.inf
    assert_allclose(CONE.prox(found, 1.0), found, atol=1e-12)
    for atom, projected in zip(atoms, found):
        other = best(lambda x, a=atom: np.square(CONE.matrix @ x - a).sum(), np.ones(NODES - 1))
        assert np.square(projected - atom).sum() == pytest.approx(other.fun, abs=1e-7)


@pytest.mark.parametrize("rank", [12, 5])
def test_quadratic_programmes(rank):
    root = RNG.normal(size=(2 * (NODES - 1), rank))
    hessian = root @ root.T + 1e-9 * np.eye(len(root))
    spectra = CONE.interior(RNG.uniform(size=(2, NODES - 1)))
    gradient = RNG.normal(size=spectra.shape) + 1

    def quadratic(x):
        step = x.ravel() - spectra.ravel()
        return gradient.ravel() @ step + step @ hessian @ step / 2

    found = minimise_quadratic(hessian, gradient, spectra, CONE)
    assert (found @ CONE.matrix.T).min() >= -1e-12
    other = best(quadratic, np.ones_like(spectra))
    assert quadratic(found) <= other.fun + 1e-6 * (1 + abs(other.fun))


def test_the_complete_graph_is_inside_and_modes_must_be_complete():
    assert (CONE.matrix @ np.ones(NODES - 1)).min() == pytest.approx(1 / NODES)
    with pytest.raises(ValueError, match="modes must be all 6"):
        GraphsOfModes(Spectra(MODES[:, :4]))


def test_mixing_of_modes_is_zero_for_their_graphs_and_its_gradient_is_right():
    term = ModeMixing(0.7, Spectra(MODES))
    shape = (2, graphs.n_edges(NODES))
    atoms = CONE.prox(RNG.uniform(size=shape), 1.0)
    assert term.value(atoms) == pytest.approx(0, abs=1e-20)
    start = RNG.uniform(size=shape)
    off = check_grad(
        lambda x: term.value(x.reshape(shape)), lambda x: term.gradient(x.reshape(shape)).ravel(),
        start.ravel(),
    )  # fmt: skip
    assert off < 1e-4
    other = RNG.uniform(size=shape)
    change = np.linalg.norm(term.gradient(start) - term.gradient(other))
    assert change <= term.lipschitz(start) * np.linalg.norm(start - other)
