"""Figures of studies: what is drawn."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from graphdict.selection import Reproducibility
from graphdict.studies import RecordingAtoms, compare_groups
from graphdict.viz import plot_effects, plot_recordings, plot_reproducibility


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_effects_have_intervals_and_p_values():
    values = np.random.default_rng(0).standard_normal((10, 3))
    values[5:, 1] += 4
    found = compare_groups(values, list("aaaaabbbbb"))
    ax = plot_effects(found)
    points = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose([p.get_xdata()[0] for p in points], found.size[::-1])
    assert points[1].get_color() != points[0].get_color() == points[2].get_color()
    assert len(ax.texts) == 3
    assert "b minus a" in ax.get_xlabel()
    many = compare_groups(np.random.default_rng(1).standard_normal((6, 30)), list("aaabbb"))
    assert len(plot_effects(many).texts) == 20


def test_recordings_lie_where_their_positions_are():
    positions = np.arange(8.0).reshape(4, 2)
    empty = np.zeros((4, 1, 1))
    found = RecordingAtoms(
        list("abcd"), empty, empty[0], np.ones(4), np.inf, 0.0, 0.0, np.zeros(4), {},
        np.zeros((4, 4)), positions, ["x", "y"],
    )  # fmt: skip
    ax = plot_recordings(found, groups=[1, 1, 2, 2])
    np.testing.assert_allclose(np.concatenate([line.get_xydata() for line in ax.lines]), positions)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2"]
    with pytest.raises(ValueError, match="groups has 1 entries"):
        plot_recordings(found, groups=[1])


def test_cosines_of_halves_are_written():
    matrix = np.array([[0.9, 0.1], [0.2, 0.8]])
    ax = plot_reproducibility(Reproducibility(np.ones((1, 2)), matrix, []))
    assert [text.get_text() for text in ax.texts] == ["0.90", "0.10", "0.20", "0.80"]
