"""The report as a file: what it holds, what it refuses, and that names are only names."""

import base64
import json
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    load_model,
)
from graphdict.core import graphs
from graphdict.results import thresholded_atoms
from graphdict.viz.report import write_report
from graphdict.viz.report.communities import communities
from graphdict.viz.report.content import describe
from graphdict.viz.report.encode import windows
from graphdict.viz.report.layout import node_layout
from graphdict.viz.report.page import in_script

NONE = np.empty(0, dtype=int)


class Scripts(HTMLParser):
    """The scripts of a page, as a browser would find them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.found.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script" and self.found:
            self.found[-1] += data


def unpack(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def dense_atoms(content):
    atoms = np.zeros((len(content["atoms"]), content["pairs"]))
    for row, atom in zip(atoms, content["atoms"]):
        row[unpack(atom["edges"], "<u4")] = unpack(atom["weights"], "<f4")
    return atoms


@pytest.fixture(scope="module")
def signals():
    return np.random.default_rng(0).normal(size=(60, 6))


@pytest.fixture(scope="module")
def model(signals):
    return GraphDictLog(n_atoms=2, max_iter=50, random_state=0).fit(signals)


MODELS = [
    GraphDictLog(2, max_iter=30, random_state=0),
    GraphDictSpectral(2, max_iter=30, random_state=0),
    GraphDictExact(2, max_iter=30, random_state=0),
    GraphDictHier(depth=1, max_iter=30),
    GraphDictMarginal(2, n_init=2, max_iter=20, random_state=0),
]


@pytest.mark.parametrize("estimator", MODELS, ids=lambda model: type(model).__name__)
def test_every_dictionary_has_a_report_fresh_or_loaded(estimator, signals, tmp_path):
    estimator.fit(signals)
    write_report(estimator, tmp_path / "fresh.html")
    estimator.save(tmp_path / "model")
    write_report(load_model(tmp_path / "model"), tmp_path / "loaded.html")
    text = (tmp_path / "fresh.html").read_text()
    assert text == (tmp_path / "loaded.html").read_text()

    content = json.loads(Scripts(text).found[0])
    np.testing.assert_allclose(dense_atoms(content), thresholded_atoms(estimator), rtol=1e-6)
    mean = unpack(content["time"]["mean"], "<f4").reshape(estimator.coefficients_.shape)
    np.testing.assert_allclose(mean, estimator.coefficients_, rtol=1e-6)
    assert dict(content["settings"]).keys() == estimator.get_params().keys()


def test_the_page_is_small_and_refers_to_nothing_outside_itself(model, tmp_path):
    write_report(model, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 0.5e6
    page = Scripts((tmp_path / "report.html").read_text())
    assert len(page.found) == 3
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    policies = [a["content"] for t, a in page.tags if a.get("http-equiv")]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'")


HOSTILE = ["</script><script>alert(1)</script>", "<!--", "%%title%%", "quo\"te's", "a\nb", "🧠"]


def test_names_stay_what_they_are_and_add_no_markup(signals, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(signals, columns=HOSTILE)
    model = GraphDictLog(2, max_iter=5, random_state=0).fit(frame)
    for name in ("title", "source"):
        write_report(model, tmp_path / "report.html", **{name: HOSTILE[0]})
        page = Scripts((tmp_path / "report.html").read_text())
        content = json.loads(page.found[0])
        assert content["nodes"]["names"] == HOSTILE
        assert content[name] == HOSTILE[0]
        assert len(page.found) == 3


@given(st.text())
def test_json_in_a_page_holds_no_markup_and_reads_back(text):
    written = in_script({"name": text})
    assert not set("<>&") & set(written)
    assert json.loads(written)["name"] == text


# Coefficients in time ------------------------------------------------------------------------


def test_few_samples_are_kept_one_by_one():
    coefficients = np.random.default_rng(0).random((50, 3))
    shown = windows(coefficients, NONE)
    assert shown.size == 1
    assert shown.low is None
    assert shown.mean is coefficients


def test_many_samples_are_merged_and_the_remark_says_so(model):
    coefficients = np.random.default_rng(1).random((1003, 2))
    shown = windows(coefficients, np.array([500]), most=120)
    assert 3 * shown.mean.size <= 120 + 6
    assert 500 in shown.start
    ends = [*shown.start[1:], len(coefficients)]
    for n, (first, end) in enumerate(zip(shown.start, ends)):
        block = coefficients[first:end]
        np.testing.assert_allclose(shown.mean[n], block.mean(axis=0))
        np.testing.assert_array_equal(shown.low[n], block.min(axis=0))
        np.testing.assert_array_equal(shown.high[n], block.max(axis=0))

    content = describe(model, np.tile(coefficients, (200, 1)))
    assert content["samples"] == 200_600
    assert any("200,600 samples are shown as" in remark for remark in content["remarks"])


def test_a_million_samples_make_a_small_file(model, tmp_path):
    coefficients = np.random.default_rng(2).random((1_000_000, 2), dtype=np.float32)
    write_report(model, tmp_path / "report.html", coefficients=coefficients)
    assert (tmp_path / "report.html").stat().st_size < 2e6


def test_windows_end_where_there_is_a_gap_in_time(model):
    times = np.datetime64("2024-03-01") + np.arange(200_000) * np.timedelta64(1, "m")
    times[77_777:] += np.timedelta64(90, "D")
    content = describe(model, np.ones((200_000, 2)), times=times)["time"]
    first, last = (unpack(content[name], "<f8") for name in ("first", "last"))
    assert content["kind"] == "date"
    assert content["step"] == 60_000
    assert np.count_nonzero(first[1:] - last[:-1] > content["gap"]) == 1
    assert 77_777 in unpack(content["start"], "<u4")


def test_weekends_and_chance_are_no_gaps(model):
    rng = np.random.default_rng(0)
    for steps in (np.tile([1, 1, 1, 1, 3], 40), rng.exponential(size=200)):
        times = np.cumsum(steps).astype(float)
        content = describe(model, np.ones((200, 2)), times=times)["time"]
        assert steps.max() < content["gap"]


def test_times_out_of_order_are_counted_instead(model):
    content = describe(model, np.ones((3, 2)), times=np.array([2.0, 1.0, 3.0]))
    assert content["time"]["kind"] == "index"
    assert any("not in order" in remark for remark in content["remarks"])


def test_datetimes_with_a_zone_are_shown_in_utc(model, tmp_path):
    zone = timezone(timedelta(hours=2))
    times = [datetime(2024, 1, 1, 2 + i, tzinfo=zone) for i in range(3)]
    path = tmp_path / "report.html"
    write_report(model, path, coefficients=np.ones((3, 2)), times=times)
    first = unpack(json.loads(Scripts(path.read_text()).found[0])["time"]["first"], "<f8")
    assert first[0] == datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coefficients": np.ones((5, 3))}, r"coefficients have shape \(5, 3\).*2 atoms"),
        ({"coefficients": np.ones((0, 2))}, "one row or more"),
        ({"coefficients": [[0.5, np.nan], [0, 1]]}, "coefficients of sample 0"),
        ({"coefficients": [[0.5, 0], [0, -1]]}, "coefficients of sample 1"),
        ({"coefficients": [["a", "b"]]}, "need to be numbers"),
        ({"times": np.arange(7)}, r"times have shape \(7,\); there are 60 samples"),
        ({"times": [*range(59), np.nan]}, r"times\[59\] is missing"),
        ({"times": ["noon"] * 60}, "numbers or datetimes"),
        ({"positions": np.ones((3, 2))}, r"positions have shape \(3, 2\).*\(6, 2\)"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(model, tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        write_report(model, tmp_path / "report.html", **given)
    assert list(tmp_path.iterdir()) == []


def test_a_history_that_is_not_finite_can_be_shown(model):
    content = describe(model, model.coefficients_)
    assert content["history"]["objective"]
    model.history_ = {"objective": np.array([np.inf, np.nan, 1.0])}
    history = describe(model, model.coefficients_)["history"]
    assert history["objective"] == [None, None, 1.0]
    assert history["iteration"] == [1.0, 2.0, 3.0]
    in_script(history)


def test_the_marginal_model_says_from_which_probability_atoms_count(signals):
    for prior, least in (("independent", 1 / 3), ("hierarchy", 0)):
        model = GraphDictMarginal(3, prior=prior, n_init=1, max_iter=5, random_state=0)
        model.fit(signals)
        assert describe(model, model.coefficients_)["least"] == pytest.approx(least)


def test_very_large_dictionaries_are_cut_to_their_strongest_edges(model, monkeypatch):
    monkeypatch.setattr("graphdict.viz.report.content.MOST_EDGES", 6)
    content = describe(model, model.coefficients_)
    for row, true in zip(dense_atoms(content), model.atoms_):
        assert np.count_nonzero(row) == 3
        assert set(np.flatnonzero(row)) == set(np.argsort(-true)[:3])
    assert any("strongest 3 of each" in remark for remark in content["remarks"])


# Where nodes are drawn -----------------------------------------------------------------------


def sparse_atoms(nodes, rng, count=2):
    weights = rng.random((count, graphs.n_edges(nodes)))
    return weights * (weights > 1 - 3 / nodes)


@pytest.mark.parametrize("nodes", [2, 3, 5, 32, 33, 90])
def test_layouts_are_stable_and_keep_nodes_apart(nodes):
    atoms = sparse_atoms(nodes, np.random.default_rng(nodes))
    names = [f"x{i}" for i in range(nodes)]
    points, kind, _ = node_layout(atoms, names)
    again, _, _ = node_layout(atoms.copy(), names)
    np.testing.assert_array_equal(points, again)
    assert kind == ("circle" if nodes <= 32 else "stress")
    assert np.abs(points).max() <= 1 + 1e-9
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1) + 9 * np.eye(nodes)
    assert apart.min() > 0.3 / np.sqrt(nodes)


def test_graphs_too_large_for_all_distances_are_laid_out_by_their_modes(monkeypatch):
    monkeypatch.setattr("graphdict.viz.report.layout.LARGEST_STRESS", 50)
    ring = np.roll(np.eye(90), 1, axis=0)
    weights = graphs.adjacency_to_weights(ring + ring.T)
    points, _, _ = node_layout(weights[None], [str(i) for i in range(90)])
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert (apart + 9 * np.eye(90)).min() > 0.03
    step = apart[np.arange(90), (np.arange(90) + 1) % 90].mean()
    assert step < 0.2 * apart.mean()


@pytest.mark.parametrize("nodes", [6, 50])
def test_graphs_without_edges_have_a_layout_too(nodes):
    points, _, _ = node_layout(np.zeros((1, graphs.n_edges(nodes))), [str(i) for i in range(nodes)])
    assert np.isfinite(points).all()
    assert len(np.unique(points.round(6), axis=0)) == nodes


def test_a_computed_layout_draws_a_long_ring_as_one():
    ring = np.roll(np.eye(60), 1, axis=0)
    weights = graphs.adjacency_to_weights(ring + ring.T)
    points, _, _ = node_layout(weights[None], [str(i) for i in range(60)])
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    opposite = apart[np.arange(60), (np.arange(60) + 30) % 60]
    assert opposite.min() > 5 * apart[np.arange(60), (np.arange(60) + 1) % 60].max()


def test_given_positions_keep_their_shape():
    atoms = np.ones((1, 3))
    points, kind, remarks = node_layout(atoms, list("abc"), np.array([[0, 0], [4, 0], [0, 2.0]]))
    assert kind == "given"
    assert remarks == []
    np.testing.assert_allclose(points, [[-1, -0.5], [1, -0.5], [-1, 0.5]])


def test_nodes_without_a_position_stand_below_and_are_named():
    positions = {"a": (0, 0), "c": (1, 1)}
    points, _, remarks = node_layout(np.ones((1, 3)), list("abc"), positions)
    assert points[1, 1] < points[[0, 2], 1].min()
    assert remarks == ["Drawn below the others, without a position: b"]


def test_positions_that_all_coincide_are_not_used():
    _, kind, remarks = node_layout(np.ones((1, 3)), list("abc"), np.zeros((3, 2)))
    assert kind == "circle"
    assert "same given position" in remarks[0]


# Communities ---------------------------------------------------------------------------------


def test_two_cliques_are_two_communities_and_single_nodes_none():
    matrix = np.zeros((9, 9))
    matrix[:3, :3] = 1
    matrix[3:8, 3:8] = 1
    matrix[0, 3] = matrix[3, 0] = 0.1
    weights = graphs.adjacency_to_weights(matrix)
    assert communities(weights).tolist() == [1, 1, 1, 0, 0, 0, 0, 0, -1]
    assert communities(np.zeros(36)).tolist() == [-1] * 9


def test_communities_are_as_modular_as_those_of_networkx():
    for seed in range(3):
        graph = nx.relaxed_caveman_graph(6, 7, 0.2, seed=seed)
        weights = graphs.adjacency_to_weights(nx.to_numpy_array(graph))
        found = communities(weights)
        groups = [set(np.flatnonzero(found == g)) for g in range(found.max() + 1)]
        reference = nx.community.louvain_communities(graph, seed=0)
        value = nx.community.modularity(graph, groups)
        assert value > 0.97 * nx.community.modularity(graph, reference)


def test_the_page_on_the_explorer_shows_code_that_runs(tmp_path, monkeypatch):
    import re
    from pathlib import Path

    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(block, {})
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "new.html"}
