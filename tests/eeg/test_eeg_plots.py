"""Heads: positions from the montage, edges between the right electrodes."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import mne
import numpy as np
import pytest
from matplotlib.collections import LineCollection

from graphdict.core import graphs
from graphdict.eeg import head_positions, plot_atoms_on_head, plot_head


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def edges_of(ax):
    return next(part for part in ax.collections if isinstance(part, LineCollection))


def test_electrodes_are_where_they_are_on_the_head(raw):
    place = dict(zip(raw.ch_names, head_positions(raw.info)))
    assert np.linalg.norm(place["Cz"]) < 0.05
    assert place["Fpz"][1] > 0.8
    assert place["Oz"][1] < -0.8
    assert place["T7"][0] < -0.8 < 0.8 < place["T8"][0]
    assert np.linalg.norm(place["T9"]) > np.linalg.norm(place["T7"])
    for left, right in (("C3", "C4"), ("F7", "F8"), ("O1", "O2")):
        np.testing.assert_allclose(place[left] * [-1, 1], place[right], atol=0.05)


def test_few_electrodes_will_do(raw):
    few = mne.pick_info(raw.info, [raw.ch_names.index(name) for name in ("Fz", "Cz", "Pz")])
    front, centre, back = head_positions(few)
    assert front[1] > centre[1] > back[1]


def test_edges_join_their_electrodes(raw):
    nodes = len(raw.ch_names)
    rows, cols = graphs.edge_index(nodes)
    atoms = np.zeros((2, len(rows)))
    atoms[0, 10], atoms[1, [20, 30]] = 1.0, (1.0, 0.5)
    axes = plot_atoms_on_head(atoms, raw.info)
    assert [ax.get_title() for ax in axes] == ["Atom 1", "Atom 2"]
    positions = head_positions(raw.info)
    lines = edges_of(axes[0])
    np.testing.assert_allclose(lines.get_segments(), [[positions[rows[10]], positions[cols[10]]]])
    thin, thick = edges_of(axes[1]).get_linewidths()
    assert thin < thick


def test_only_the_strongest_edges_are_drawn_and_the_title_says_so(raw):
    weights = np.random.default_rng(0).random(graphs.n_edges(len(raw.ch_names)))
    (ax,) = plot_atoms_on_head(weights, raw.info, strongest=20)
    assert "the 20 shown carry" in ax.get_title()
    lines = edges_of(ax)
    assert len(lines.get_segments()) == 20


def test_names_are_written_where_asked(raw):
    ax = plot_head(raw.info, names=["Cz", "Oz"])
    assert {text.get_text() for text in ax.texts} == {"Cz", "Oz"}
    assert len(plot_head(raw.info, plt.figure().add_subplot(), names=True).texts) == 64


def test_what_cannot_be_drawn_is_refused(raw):
    with pytest.raises(ValueError, match="atoms have 3 edges, but 64 channels have 2016"):
        plot_atoms_on_head(np.ones((1, 3)), raw.info)
    with pytest.raises(ValueError, match=r"the positions of channels \['A', 'B'\] are unknown"):
        head_positions(mne.create_info(["A", "B"], 100.0, "eeg"))
