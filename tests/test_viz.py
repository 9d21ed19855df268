"""Figures: drawn on the axes given, with as many marks as there are edges and atoms."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from graphdict import graphs, viz


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def atoms():
    rng = np.random.default_rng(0)
    return rng.random((3, graphs.n_edges(6))) * (rng.random((3, graphs.n_edges(6))) < 0.4)


def test_a_graph_has_a_line_for_each_edge_and_a_dot_for_each_node(atoms):
    ax = plt.figure().add_subplot()
    assert viz.plot_graph(atoms[0], ax, names=list("abcdef"), title="One") is ax
    lines, dots = ax.collections
    assert len(lines.get_segments()) == np.count_nonzero(atoms[0])
    assert len(dots.get_offsets()) == 6
    assert [text.get_text() for text in ax.texts] == list("abcdef")


def test_wider_lines_are_stronger_edges(atoms):
    ax = viz.plot_graph(atoms[0], positions=np.random.default_rng(0).normal(size=(6, 2)))
    widths = ax.collections[0].get_linewidths()
    assert (np.diff(widths) >= 0).all()
    assert widths[-1] > widths[0]


def test_an_empty_graph_is_drawn_without_edges():
    ax = viz.plot_graph(np.zeros(15))
    assert len(ax.collections[0].get_segments()) == 0


def test_atoms_share_one_scale_and_get_titles(atoms):
    axes = viz.plot_atoms(atoms)
    assert [ax.get_title() for ax in axes[:3]] == ["Atom 1", "Atom 2", "Atom 3"]
    given = plt.figure().subplots(1, 3)
    assert list(viz.plot_atoms(atoms, given)) == list(given)


def test_coefficients_run_from_white_to_black():
    ax = viz.plot_coefficients(np.eye(3)[[0, 1, 2, 2]], times=np.arange(4) / 10)
    image = ax.images[0]
    assert image.get_array().shape == (3, 4)
    assert image.get_clim() == (0, 1)


def test_convergence_skips_infinite_objectives():
    history = {
        "iteration": np.array([10, 20, 30]),
        "objective": np.array([np.inf, 2.0, 1.0]),
        "residual": np.array([1.0, 0.1, 0.01]),
    }
    ax = viz.plot_convergence(history)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [20, 30])


def test_recovery_shows_both_dictionaries_and_both_coefficient_series(atoms):
    coefficients = np.random.default_rng(0).random((40, 3))
    figure = viz.plot_recovery(atoms, atoms, coefficients, coefficients, scores=[1, 0.5, 0])
    assert len(figure.axes) == 8
    assert "MCC 0.50" in figure.axes[4].get_title()
