"""Figures: drawn on the axes given, with marks that stand for the numbers they were given."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb

from graphdict import GraphDictLog, GraphDictMarginal, viz
from graphdict.core import graphs
from graphdict.results import InstantaneousGraphs
from graphdict.viz.drawing import COLOURS, COLUMN

NODES = 6


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def atoms():
    rng = np.random.default_rng(0)
    shape = (3, graphs.n_edges(NODES))
    return rng.random(shape) * (rng.random(shape) < 0.4)


@pytest.fixture(scope="module")
def model():
    signals = np.random.default_rng(1).standard_normal((30, NODES))
    return GraphDictLog(3, max_iter=20, tol=0, random_state=0).fit(signals)


def image_of(ax):
    return ax.collections[0].get_array()


def test_a_graph_has_a_line_for_each_edge_and_a_dot_for_each_node(atoms):
    ax = plt.figure().add_subplot()
    assert viz.plot_graph(atoms[0], ax, names=list("abcdef"), title="One") is ax
    lines, dots = ax.collections
    rows, cols = graphs.edge_index(NODES)
    where = dots.get_offsets()
    drawn = {
        frozenset(int(np.argmin(np.linalg.norm(where - end, axis=1))) for end in segment)
        for segment in lines.get_segments()
    }
    assert drawn == {frozenset((int(rows[e]), int(cols[e]))) for e in np.flatnonzero(atoms[0])}
    assert len(where) == NODES
    assert [text.get_text() for text in ax.texts] == list("abcdef")
    assert ax.get_title() == "One"


def test_wider_and_darker_lines_are_stronger_edges(atoms):
    ax = viz.plot_graph(atoms[0], positions=np.random.default_rng(0).normal(size=(NODES, 2)))
    lines = ax.collections[0]
    assert (np.diff(lines.get_linewidths()) > 0).all()
    assert (np.diff(lines.get_colors()[:, 3]) > 0).all()


def test_edges_up_to_the_threshold_are_left_out(atoms):
    level = np.sort(atoms[0][atoms[0] > 0])[2]
    ax = viz.plot_graph(atoms[0], threshold=level)
    assert len(ax.collections[0].get_segments()) == np.count_nonzero(atoms[0] > level)


def test_an_empty_graph_is_drawn_without_edges():
    ax = viz.plot_graph(np.zeros(15))
    assert len(ax.collections[0].get_segments()) == 0


def test_positions_may_be_given_by_name(atoms):
    places = {name: (i, i**2) for i, name in enumerate("fedcba")}
    ax = viz.plot_graph(atoms[0], names=list("abcdef"), positions=places)
    np.testing.assert_array_equal(ax.collections[1].get_offsets()[0], (5, 25))


def test_names_are_written_as_they_are(atoms):
    ax = viz.plot_graph(atoms[0], names=["$x^{", "b_1", "<b>", "%", "\\", "f"])
    ax.figure.canvas.draw()
    assert ax.texts[0].get_text() == "$x^{"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": np.zeros((5, 2))}, r"positions must have shape \(6, 2\), got \(5, 2\)"),
        ({"names": ["a"]}, "names: 6 are needed"),
        ({"positions": {"a": (0, 0)}}, "positions by name need names="),
        ({"positions": {"a": (0, 0)}, "names": list("abcdef")}, "positions lack the nodes"),
    ],
)
def test_positions_and_names_that_do_not_fit_are_refused(atoms, options, message):
    with pytest.raises(ValueError, match=message):
        viz.plot_graph(atoms[0], **options)


def test_atoms_share_one_scale_keep_their_colours_and_get_titles(atoms):
    axes = viz.plot_atoms(atoms)
    assert [ax.get_title() for ax in axes] == ["Atom 1", "Atom 2", "Atom 3"]
    assert axes[0].figure.get_figwidth() == COLUMN
    for ax, colour, weights in zip(axes, COLOURS, atoms):
        lines = ax.collections[0]
        np.testing.assert_allclose(
            lines.get_colors()[:, :3], [to_rgb(colour)] * len(lines.get_colors())
        )
        alone = viz.plot_graph(weights, plt.figure().add_subplot(), strongest=atoms.max())
        np.testing.assert_array_equal(lines.get_linewidths(), alone.collections[0].get_linewidths())


def test_atoms_are_drawn_on_the_axes_given_or_refused(atoms):
    given = plt.figure().subplots(1, 3)
    assert list(viz.plot_atoms(atoms, given)) == list(given)
    assert all(len(ax.collections) == 2 for ax in given)
    with pytest.raises(ValueError, match="axes: 3 are needed, got 2"):
        viz.plot_atoms(atoms, given[:2])


def test_a_fitted_model_stands_for_its_arrays(model):
    assert len(viz.plot_atoms(model)) == 3
    assert image_of(viz.plot_coefficients(model)).shape == (3, 30)
    line = viz.plot_convergence(model).lines[0]
    np.testing.assert_array_equal(line.get_ydata(), model.history_["objective"])


def test_averaged_atoms_are_drawn_without_improbable_edges():
    signals = np.random.default_rng(1).standard_normal((40, NODES))
    model = GraphDictMarginal(2, n_init=1, average=4, max_iter=20, random_state=0).fit(signals)
    chances = np.random.default_rng(0).random(model.atoms_.shape)
    model.edge_probabilities_, model.sparsity = chances, 3.0
    model.atoms_ = np.ones_like(chances)
    drawn = [len(ax.collections[0].get_segments()) for ax in viz.plot_atoms(model)]
    assert drawn == (chances >= 0.75).sum(axis=1).tolist()
    ax = viz.plot_instantaneous(model, [3])[0]
    expected = model.instantaneous_graphs()[3].weights
    assert len(ax.collections[0].get_segments()) == np.count_nonzero(expected)


def test_an_instantaneous_graph_shows_its_mix(atoms):
    coefficients = np.array([[1, 0, 0], [0.25, 0, 1], [0, 0, 0]], dtype=float)
    mixtures = InstantaneousGraphs(coefficients, atoms)
    axes = viz.plot_instantaneous(mixtures, [1, 0], times=np.array(["mon", "tue", "wed"]))
    assert [ax.get_title() for ax in axes] == ["tue", "mon"]
    heights = [[bar.get_height() for bar in ax.child_axes[0].patches] for ax in axes]
    np.testing.assert_array_equal(heights, coefficients[[1, 0]])
    lines = axes[0].collections[0]
    shares = coefficients[1][:, None] * atoms
    shown = np.argsort(shares.sum(axis=0), kind="stable")[-len(lines.get_segments()) :]
    expected = [to_rgb(COLOURS[k]) for k in shares[:, shown].argmax(axis=0)]
    np.testing.assert_allclose(lines.get_colors()[:, :3], expected)
    assert len(lines.get_segments()) == np.count_nonzero(shares.sum(axis=0))


def test_instantaneous_graphs_share_one_scale(atoms):
    mixtures = InstantaneousGraphs(np.array([[1, 0, 0], [0.5, 0, 0]]), atoms)
    axes = viz.plot_instantaneous(mixtures, [0, 1])
    full, half = (np.array(ax.collections[0].get_linewidths()) for ax in axes)
    np.testing.assert_allclose(half - 0.3, (full - 0.3) / 2)


def test_instantaneous_graphs_of_a_model_and_of_samples_it_lacks(model):
    given = plt.figure().subplots(1, 2)
    assert list(viz.plot_instantaneous(model, [3, -1], given, names=list("abcdef"))) == list(given)
    with pytest.raises(IndexError, match=r"samples: \[30\] are not among the 30"):
        viz.plot_instantaneous(model, [30])


def test_coefficients_run_from_white_to_black_in_time():
    coefficients = np.eye(3)[[0, 1, 2, 2]]
    ax = viz.plot_coefficients(coefficients, times=np.array([0.0, 1.0, 2.0, 4.0]), title="C")
    mesh = ax.collections[0]
    np.testing.assert_array_equal(mesh.get_array(), coefficients.T)
    assert mesh.get_clim() == (0, 1)
    np.testing.assert_array_equal(mesh.cmap([0.0, 1.0])[:, :3], [[1, 1, 1], [0, 0, 0]])
    np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], [-0.5, 0.5, 1.5, 3.0, 5.0])
    assert ax.get_ylim() == (3.5, 0.5)
    assert ax.get_xlabel() == "time"


def test_many_samples_are_averaged_and_it_is_said():
    coefficients = np.random.default_rng(0).random((10_001, 2))
    ax = viz.plot_coefficients(coefficients)
    image = image_of(ax)
    np.testing.assert_allclose(image[:, 0], coefficients[:6].mean(axis=0))
    np.testing.assert_allclose(image[:, -1], coefficients[9996:].mean(axis=0))
    assert ax.get_xlabel() == "sample (means of 6 samples)"
    assert ax.collections[0].get_coordinates()[0, -1, 0] == 10_001


def test_dates_are_shown_as_dates():
    days = np.datetime64("2020-02-28") + np.arange(4)
    ax = viz.plot_coefficients(np.eye(2)[[0, 1, 0, 1]], times=days)
    ax.figure.canvas.draw()
    assert any("02-29" in label.get_text() for label in ax.get_xticklabels())


def test_times_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"times must have shape \(4,\), got \(3,\)"):
        viz.plot_coefficients(np.ones((4, 2)), times=np.arange(3))
    with pytest.raises(ValueError, match="times must ascend"):
        viz.plot_coefficients(np.ones((3, 2)), times=[0, 2, 1])


def test_convergence_skips_what_has_no_place_on_its_scale():
    history = {
        "iteration": np.array([10, 20, 30]),
        "objective": np.array([np.inf, 2.0, 1.0]),
        "residual": np.array([1.0, 0.1, 0.0]),
    }
    given = plt.figure().add_subplot()
    ax = viz.plot_convergence(history, given)
    assert ax is given
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [20, 30])
    twin = next(other for other in ax.figure.axes if other is not ax)
    np.testing.assert_array_equal(twin.lines[0].get_ydata(), [1.0, 0.1])
    assert twin.get_yscale() == "log"


def test_a_comparison_has_the_truth_above_the_diagonal(atoms):
    ax = viz.plot_comparison(atoms[0], 7 * atoms[1])
    image = ax.images[0].get_array()
    upper, lower = np.triu_indices(NODES, 1), np.tril_indices(NODES, -1)
    np.testing.assert_allclose(image[upper], atoms[0] / atoms[0].max())
    np.testing.assert_allclose(image[lower], graphs.adjacency(atoms[1] / atoms[1].max())[lower])
    right = viz.plot_comparison(atoms[0], 2 * atoms[0], plt.figure().add_subplot())
    np.testing.assert_allclose(right.images[0].get_array(), right.images[0].get_array().T)


def test_recovery_puts_learned_atoms_beside_the_true_ones_they_resemble(atoms):
    true = np.eye(3)[np.random.default_rng(0).integers(3, size=40)]
    order = [2, 0, 1]
    axes = viz.plot_recovery(atoms, 2 * atoms[order], true, true[:, order])
    assert len(axes) == 8
    assert [ax.get_title() for ax in axes[3:6]] == [f"Learned {k}\nMCC 1.00" for k in (1, 2, 3)]
    for above, below in zip(axes[:3], axes[3:6]):
        np.testing.assert_array_equal(
            above.collections[0].get_segments(), below.collections[0].get_segments()
        )
    np.testing.assert_array_equal(image_of(axes[6]), image_of(axes[7]))


def test_recovery_of_fewer_atoms_shows_the_pairs_there_are(atoms):
    coefficients = np.random.default_rng(0).random((10, 3))
    given = list(plt.figure().subplots(2, 3).flat)
    axes = viz.plot_recovery(atoms, atoms[1:], coefficients, coefficients[:, 1:], given)
    assert axes == given
    assert [ax.get_title() for ax in axes[2:4]] == ["Learned 1\nMCC 1.00", "Learned 2\nMCC 1.00"]
    np.testing.assert_array_equal(image_of(axes[4]), coefficients[:, 1:].T)
