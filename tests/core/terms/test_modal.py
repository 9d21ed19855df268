"""Smoothness in shared modes: formulas, every kind of samples, and graphs that do share them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import GraphDictSpectral, GraphDictSpectralRelaxed, graphs
from graphdict.core.terms.missing import Gaps
from graphdict.core.terms.modal import modal_smoothness
from graphdict.core.terms.signal_terms import smoothness
from graphdict.datasets import sample_lgmrf
from graphdict.exceptions import SilentNodeWarning
from graphdict.operators import Spectra

RNG = np.random.default_rng(1)
SIGNALS = RNG.normal(size=(40, 7))
MODES = np.linalg.qr(np.eye(7) - 1 / 7)[0][:, :6] @ np.linalg.qr(RNG.normal(size=(6, 6)))[0]
SPECTRA = Spectra(MODES)
ATOMS = RNG.uniform(size=(3, graphs.n_edges(7)))
SINGLE, WINDOWS = np.ones(40, dtype=int), np.full(8, 5)


def test_energies_are_those_of_graphs_with_these_eigenvectors():
    term = modal_smoothness(SIGNALS, SINGLE, spectra=SPECTRA)
    for k, spectrum in enumerate(SPECTRA.apply(ATOMS)):
        matrix = MODES @ np.diag(spectrum) @ MODES.T
        expected = np.einsum("ti,ij,tj->t", SIGNALS, matrix, SIGNALS)
        assert_allclose(term.energies(ATOMS)[:, k], expected)
    common = modal_smoothness(SIGNALS + 3, SINGLE, spectra=SPECTRA)
    assert_allclose(common.energies(ATOMS), term.energies(ATOMS))


@pytest.mark.parametrize("counts", [SINGLE, WINDOWS], ids=["single", "windows"])
def test_products_are_adjoint_and_parts_are_rows(counts):
    term = modal_smoothness(SIGNALS, counts, spectra=SPECTRA)
    coefficients = RNG.uniform(size=(len(counts), 3))
    distances = term.weighted_distances(coefficients)
    assert np.vdot(distances, ATOMS) == pytest.approx(np.vdot(coefficients, term.energies(ATOMS)))
    part = term.part(slice(2, 7))
    assert_allclose(part.energies(ATOMS), term.energies(ATOMS)[2:7])
    assert_array_equal(part.features(), term.features(slice(2, 7)))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("counts", [SINGLE, WINDOWS], ids=["single", "windows"])
def test_gaps_where_there_are_none(counts, keep):
    """With every value observed, what stands for missing ones changes nothing."""
    gaps = Gaps.learn(SIGNALS, counts)
    coefficients = RNG.uniform(size=(len(counts), 3))
    complete = modal_smoothness(SIGNALS, counts, spectra=SPECTRA)
    gappy = modal_smoothness(SIGNALS, counts, keep, gaps, spectra=SPECTRA)
    assert_allclose(gappy.energies(ATOMS), complete.energies(ATOMS))
    assert_allclose(
        gappy.weighted_distances(coefficients), complete.weighted_distances(coefficients)
    )


def test_missing_values_leave_powers_that_some_graph_can_balance():
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(400, 9)) @ rng.normal(size=(9, 9))
    gappy = np.where(rng.random(signals.shape) < 0.3, np.nan, signals)
    assert modal_smoothness(gappy[:, :7], np.ones(400, dtype=int), gaps=Gaps.learn(
        gappy[:, :7], np.ones(400, dtype=int)), spectra=SPECTRA).powers.min() >= 0  # fmt: skip
    fits = [
        GraphDictSpectral(2, random_state=0, max_iter=200, tol=1e-3).fit(x)
        for x in (signals, gappy)
    ]
    scores = [model.score(signals) for model in fits]
    assert fits[1].atoms_.max() < 10 * fits[0].atoms_.max()
    assert scores[1] > scores[0] - 1


def test_the_map_is_that_of_its_matrix():
    matrix = graphs.squared_differences(MODES.T)  # (modes, edges)
    values, other = RNG.uniform(size=(2, 3, 6)), RNG.normal(size=(2, graphs.n_edges(7)))
    assert_allclose(SPECTRA.apply(ATOMS), ATOMS @ matrix.T)
    assert_allclose(SPECTRA.apply(other), other @ matrix.T)
    assert_allclose(SPECTRA.adjoint(values), values @ matrix)
    assert SPECTRA.norm == pytest.approx(np.linalg.norm(matrix, 2))


def test_given_modes_where_a_node_is_silent():
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    signals[:, 3] = 0
    basis = np.linalg.qr(np.eye(5) - 0.2)[0][:, :4]
    alone = np.linalg.qr(np.column_stack([[1, 1, 1, 0, 1], rng.normal(size=(5, 2))]))[0]
    for modes in (basis, alone):
        model = GraphDictSpectralRelaxed(2, modes=modes, max_iter=20, tol=1, random_state=0)
        with pytest.warns(SilentNodeWarning):
            model.fit(signals)
        assert np.isfinite(model.score(signals))
        assert not model.modes_[3].any()
        gram = model.modes_.T @ model.modes_
        assert_allclose(gram, np.eye(len(gram)), atol=1e-8)


def test_weights_of_spectra():
    spectra = RNG.uniform(size=(2, 6))
    weights = SPECTRA.weights(spectra)
    for spectrum, weight in zip(spectra, weights):
        matrix = MODES @ np.diag(spectrum) @ MODES.T
        assert_allclose(graphs.laplacian(weight), matrix, atol=1e-12)
    assert_allclose(SPECTRA.apply(weights), spectra)
    other = RNG.normal(size=weights.shape)
    assert np.vdot(weights, other) == pytest.approx(
        np.vdot(spectra, SPECTRA.weights_adjoint(other))
    )


def test_all_edges_agree_where_graphs_have_these_eigenvectors():
    rings = _rings(7)
    spectra = Spectra(np.linalg.eigh(graphs.laplacian(rings[0] + 0.3 * rings[1]))[1][:, 1:])
    modal = modal_smoothness(SIGNALS, SINGLE, spectra=spectra)
    assert_allclose(modal.energies(rings), smoothness(SIGNALS, SINGLE).energies(rings))


@pytest.mark.parametrize(
    ("kind", "given", "solver"),
    [
        (GraphDictSpectral, True, "auto"),
        (GraphDictSpectral, True, "bipds"),
        (GraphDictSpectralRelaxed, False, "auto"),  # by BiPDS
    ],
)
def test_rings_are_found_again(kind, given, solver):
    """Rings that join neighbours at distance one, two and three share their eigenvectors.

    Neither signals nor modes depend on the eigenvectors that LAPACK picks where eigenvalues repeat.
    """
    nodes, rng = 12, np.random.default_rng(1)
    rings = _rings(nodes) + 0.02
    signals = sample_lgmrf(rings[rng.integers(3, size=600)], 10, random_state=rng)
    model = kind(
        3, window_size=10, alpha_w=0, solver=solver, max_iter=500, n_init=3, random_state=0,
        modes=_waves(nodes) if given else None,
    ).fit(signals)  # fmt: skip
    alike = np.corrcoef(model.atoms_, rings)[:3, 3:]
    assert_array_equal(np.sort(alike.argmax(axis=1)), [0, 1, 2])
    assert alike.max(axis=1).min() > 0.9


def _rings(nodes):
    rows, cols = graphs.edge_index(nodes)
    apart = np.minimum(cols - rows, nodes - cols + rows)
    return np.array([(apart == step).astype(float) for step in (1, 2, 3)])


def _waves(nodes):
    """Eigenvectors of every ring, in closed form: they come in pairs, of which LAPACK picks any."""
    angles = 2 * np.pi * np.outer(np.arange(nodes), np.arange(1, (nodes + 1) // 2)) / nodes
    waves = np.hstack(([[1.0]] * nodes, np.cos(angles), np.sin(angles)))
    if nodes % 2 == 0:
        waves = np.hstack((waves, (-1.0) ** np.arange(nodes)[:, None]))
    return waves / np.linalg.norm(waves, axis=0)
