"""The report in a real browser: opened from disk, moved, searched, thresholded, downloaded."""

import base64
import csv
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from graphdict import GraphDictLog, GraphDictMarginal
from graphdict.core import graphs
from graphdict.results import Recordings, thresholded_atoms
from graphdict.viz.report import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium; where there is none, tests skip, or fail where CI promised one."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        reason = f"no browser: none of {', '.join(NAMES)} is on the PATH"
        if os.environ.get("GRAPHDICT_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    """Open a report from disk; afterwards nothing may have failed or asked for the network."""
    contexts, wrong, asked = [], [], []

    def open_page(path, width=1280, height=800, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("#mix circle")
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
    assert [url for url in asked if not re.match(r"file:///.*\.html$|data:|blob:", url)] == []


def settle(page):
    """Two frames and the timers behind them."""
    page.evaluate(
        """new Promise((done) => requestAnimationFrame(
            () => requestAnimationFrame(() => setTimeout(done, 30))))"""
    )


def in_view(page, place):
    """Scroll to a place, and return its box on the screen."""
    place.evaluate("(element) => element.scrollIntoView({block: 'center'})")
    settle(page)
    return place.bounding_box()


def download(page, label):
    with page.expect_download() as expected:
        page.get_by_label(label, exact=True).click()
    return Path(expected.value.path()), expected.value.suggested_filename


def table(page, label):
    path, _ = download(page, label)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def weights_of(rows, names):
    """Edge weights (E,) from a table of sources, targets and weights."""
    matrix = np.zeros((len(names), len(names)))
    for row in rows:
        matrix[names.index(row["source"]), names.index(row["target"])] = float(row["weight"])
    return graphs.adjacency_to_weights(matrix + matrix.T)


def fitted(atoms, coefficients, names=None):
    """A dictionary as if it had been learned, with exactly these atoms and coefficients."""
    import pandas as pd

    nodes = graphs.n_nodes(atoms.shape[1])
    signals = np.random.default_rng(0).normal(size=(8, nodes))
    frame = signals if names is None else pd.DataFrame(signals, columns=names)
    model = GraphDictLog(len(atoms), max_iter=1, random_state=0).fit(frame)
    model.atoms_, model.coefficients_ = atoms, coefficients
    return model


def random_dictionary(nodes, atoms, samples, seed=0, names=None):
    rng = np.random.default_rng(seed)
    weights = rng.gamma(2, 0.5, (atoms, graphs.n_edges(nodes)))
    kept = rng.random(weights.shape) < min(1, 4 / nodes)
    walk = np.cumsum(rng.normal(size=(samples, atoms)) / 5, axis=0)
    return fitted(weights * kept, 1 / (1 + np.exp(-walk)), names)


@pytest.fixture(scope="module")
def marginal():
    rng = np.random.default_rng(3)
    signals = rng.normal(size=(90, 6)) * np.repeat([[1, 1, 1, 3, 3, 3], [3, 1, 3, 1, 3, 1]], 45, 0)
    model = GraphDictMarginal(3, n_init=2, max_iter=30, random_state=0).fit(signals)
    model.atoms_ = thresholded_atoms(model)  # the edges that the page shows
    return model


@pytest.fixture(scope="module")
def report(marginal, tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "report.html"
    write_report(marginal, path, times=np.arange(90) / 10, time_unit="s", source="numbers.csv")
    return path


# Time ----------------------------------------------------------------------------------------


def test_moving_along_the_timeline_shows_the_graph_of_that_sample(report, marginal, open_page):
    page = open_page(report)
    truth = marginal.instantaneous_graphs()
    names = [str(name) for name in marginal.node_names]
    timeline = page.locator("#timeline")

    def shown():
        settle(page)
        sample = int(timeline.get_attribute("aria-valuenow"))
        assert page.locator("#where").inner_text() == f"sample {sample + 1}"
        assert page.locator("#when").inner_text() == f"{sample / 10:g} s"
        found = weights_of(table(page, "Save this graph as CSV"), names)
        np.testing.assert_allclose(found, truth[sample].weights[0], rtol=1e-5, atol=1e-9)
        drawn = int(page.locator("#mix").get_attribute("data-edges"))
        assert drawn <= np.count_nonzero(found)
        return sample

    assert shown() == 0
    for key, sample in (("ArrowRight", 1), ("End", 89), ("Shift+ArrowLeft", 79)):
        timeline.press(key)
        assert shown() == sample
    page.locator("#title").click()
    page.keyboard.press("ArrowRight")  # arrows work wherever nothing else needs them
    assert shown() == 80
    page.get_by_label("Previous", exact=True).click()
    assert shown() == 79
    box = in_view(page, timeline)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    middle = shown()
    assert 38 <= middle <= 50
    box = in_view(page, timeline)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 13, box["y"] + 20, steps=4)
    page.mouse.up()
    assert shown() == 89


def test_the_mix_is_told_in_coefficients_and_shares(report, marginal, open_page):
    page = open_page(report)
    page.locator("#timeline").focus()
    page.keyboard.press("PageUp")
    settle(page)
    sample = int(page.locator("#timeline").get_attribute("aria-valuenow"))
    coefficients = marginal.coefficients_[sample]
    counted = marginal.instantaneous_graphs()[sample].coefficients[0]
    parts = counted * marginal.atoms_.sum(axis=1)
    values = page.locator("#coefficients .number").all_inner_texts()
    shares = page.locator("#coefficients .share").all_inner_texts()
    np.testing.assert_allclose([float(v) for v in values], coefficients, atol=0.0051)
    for text, share in zip(shares, parts / parts.sum()):
        expected = "< 1 %" if 0 < share < 0.01 else f"{np.floor(100 * share + 0.5):.0f} %"
        assert text == expected


def test_atoms_that_are_left_out_can_be_brought_back(report, marginal, open_page):
    page = open_page(report)
    page.locator("#least").fill("0")
    settle(page)
    names = [str(name) for name in marginal.node_names]
    found = weights_of(table(page, "Save this graph as CSV"), names)
    expected = marginal.instantaneous_graphs(min_probability=0)[0].weights[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


def go_to_the_end(page):
    page.locator("#timeline").press("End")
    settle(page)
    return table(page, "Save this graph as CSV")


def test_only_edges_that_an_averaged_model_holds_for_present_are_shown(tmp_path, open_page):
    rng = np.random.default_rng(3)
    signals = rng.normal(size=(90, 6)) * np.repeat([[1, 1, 1, 3, 3, 3], [3, 1, 3, 1, 3, 1]], 45, 0)
    model = GraphDictMarginal(3, n_init=2, max_iter=30, average=10, random_state=0).fit(signals)
    held = thresholded_atoms(model)
    assert 0 < np.count_nonzero(held) < np.count_nonzero(model.atoms_)
    write_report(model, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    page.locator("#threshold").fill("0")
    settle(page)
    names = [str(name) for name in model.node_names]

    def shown(atoms):
        rows = table(page, "Edges of atoms (CSV)")
        for k, weights in enumerate(atoms):
            drawn = page.locator(f"[data-atom='{k + 1}'] svg").get_attribute("data-edges")
            assert int(drawn) == np.count_nonzero(weights)
            own = [row for row in rows if row["atom"] == str(k + 1)]
            np.testing.assert_allclose(weights_of(own, names), weights, rtol=1e-5)

    shown(held)
    rows = go_to_the_end(page)
    found, last = weights_of(rows, names), model.instantaneous_graphs()[-1]
    np.testing.assert_allclose(found, last.weights[0], rtol=1e-5)
    assert int(page.locator("#mix").get_attribute("data-edges")) == np.count_nonzero(found)
    absent = np.prod(1 - last.coefficients.T * model.edge_probabilities_, axis=0)
    told = weights_of([{**row, "weight": row["probability"]} for row in rows], names)
    np.testing.assert_allclose(told, np.where(found > 0, 1 - absent, 0), rtol=1e-5)

    page.locator("#least").fill("0")
    settle(page)
    shown(model.atoms_)
    found = weights_of(go_to_the_end(page), names)
    every = model.instantaneous_graphs(min_probability=0)[-1]
    np.testing.assert_allclose(found, every.weights[0], rtol=1e-5)


def test_the_probability_of_an_edge_is_told(tmp_path, open_page):
    signals = np.random.default_rng(0).normal(size=(30, 3))
    model = GraphDictMarginal(1, n_init=1, average=2, random_state=0).fit(signals)
    model.atoms_ = np.array([[2.0, 1.0, 3.0]])
    model.edge_probabilities_ = np.array([[0.875, 0.25, 0.0]])
    write_report(model, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    for place, dots in (("#mix", "#mix circle"), ("[data-atom='1'] svg", "[data-atom='1'] circle")):
        page.locator(place).scroll_into_view_if_needed()
        box, circles = page.locator(place).bounding_box(), page.locator(dots)
        ends = [[float(circles.nth(i).get_attribute(a)) for a in ("cx", "cy")] for i in (0, 1)]
        x, y = np.mean(ends, axis=0)
        page.mouse.move(box["x"] + x, box["y"] + y)
        settle(page)
        told = page.locator("#tip").inner_text()
        assert "weight 2" in told
        assert "probability 0.875" in told
        assert page.locator(place).get_attribute("data-edges") == "1"


def test_silent_nodes_have_no_edges_in_their_samples(tmp_path, open_page):
    signals = np.random.default_rng(0).normal(size=(40, 5))
    signals[-1, 2] = np.delete(signals[-1], 2).mean()  # the level that no graph can see
    model = GraphDictMarginal(3, prior="hierarchy", sparsity=0, random_state=0).fit(signals)
    assert np.argwhere(model.silent_).tolist() == [[39, 2]]
    model.atoms_ = thresholded_atoms(model)  # the edges that the page shows
    names = [str(name) for name in model.node_names]
    truth = model.instantaneous_graphs()
    for given in (None, model.instantaneous_graphs(signals)):
        write_report(model, tmp_path / "report.html", coefficients=given)
        page = open_page(tmp_path / "report.html")
        first = weights_of(table(page, "Save this graph as CSV"), names)
        last = weights_of(go_to_the_end(page), names)
        np.testing.assert_allclose([first, last], truth.weights[[0, -1]], rtol=1e-5)
        assert graphs.degrees(first)[2] > 0
        assert graphs.degrees(last)[2] == 0


def test_playing_moves_on_and_pausing_stops(report, open_page):
    from playwright.sync_api import expect

    page = open_page(report)
    timeline = page.locator("#timeline")
    page.get_by_label("Play", exact=True).click()
    expect(timeline).not_to_have_attribute("aria-valuenow", "0")
    page.get_by_label("Pause", exact=True).click()
    settle(page)
    before = timeline.get_attribute("aria-valuenow")
    page.wait_for_timeout(600)
    assert timeline.get_attribute("aria-valuenow") == before


def test_zooming_shows_fewer_samples_and_all_brings_them_back(report, open_page):
    page = open_page(report)
    ticks = page.locator("#timeline .tick text")
    before = ticks.all_inner_texts()
    for _ in range(3):
        page.get_by_label("Zoom in", exact=True).click()
    assert ticks.all_inner_texts() != before
    assert page.locator("#timeline .scroll").count() == 1
    page.locator("#timeline").focus()
    page.keyboard.press("End")  # the view follows the cursor
    settle(page)
    assert page.locator("#timeline .cursor line").count() == 1
    page.get_by_label("Show all", exact=True).click()
    assert ticks.all_inner_texts() == before


def test_a_million_samples_are_windows_and_the_page_says_so(tmp_path, open_page):
    samples = 1_000_000
    rng = np.random.default_rng(0)
    coefficients = np.repeat(rng.random((1000, 2), dtype=np.float32), samples // 1000, axis=0)
    model = random_dictionary(5, 2, 4)
    times = np.datetime64("2020-01-01T00:00:30") + np.arange(samples) * np.timedelta64(1, "m")
    times[600_000:] += np.timedelta64(60, "D")
    path = tmp_path / "report.html"
    write_report(model, path, coefficients=coefficients, times=times)
    page = open_page(path)
    hint = page.locator("#timeline-hint").inner_text()
    assert re.search(r"1,000,000 samples, shown as 10,0\d\d windows of (up to )?100", hint)
    assert "1 gap" in hint
    page.locator("#timeline").focus()
    page.keyboard.press("End")
    settle(page)
    assert page.locator("#where").inner_text() == "samples 999,901 to 1,000,000"
    assert (
        page.locator("#when")
        .inner_text()
        .endswith(np.datetime_as_string(times[-1]).replace("T", " "))
    )
    names = [str(name) for name in model.node_names]
    found = weights_of(table(page, "Save this graph as CSV"), names)
    expected = coefficients[-100:].mean(axis=0) @ model.atoms_
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    rows = table(page, "Coefficients (CSV)")
    assert rows[-1]["last_sample"] == "1000000"
    assert rows[0]["first_time"] == "2020-01-01T00:00:30.000Z"
    assert float(rows[0]["atom_1"]) == pytest.approx(float(coefficients[0, 0]), rel=1e-6)


# Edges and nodes -----------------------------------------------------------------------------


def test_the_threshold_hides_lighter_edges(report, marginal, open_page):
    page = open_page(report)
    for value in (0, 300, 700, 1000):
        page.locator("#threshold").evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }",
            value,
        )
        settle(page)
        for k, atom in enumerate(marginal.atoms_):
            least = (value / 1000) ** 2 * atom.max() * (1 - 1e-6)
            expected = int(np.count_nonzero((atom > 0) & (atom >= least)))
            # Atoms are drawn again when the page has time: they come to the right number, or fail.
            page.wait_for_function(
                "([atom, edges]) => document.querySelector(`[data-atom='${atom}'] svg`)"
                ".dataset.edges === `${edges}`",
                arg=[k + 1, expected],
                timeout=10_000,
            )


def test_too_dense_graphs_start_with_their_strongest_edges(tmp_path, open_page):
    rng = np.random.default_rng(0)
    model = fitted(rng.gamma(0.3, 1, (2, graphs.n_edges(40))), rng.random((20, 2)))
    write_report(model, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    assert float(page.locator("#threshold").input_value()) > 0
    drawn = int(page.locator("[data-atom='1'] svg").get_attribute("data-edges"))
    assert 40 < drawn < 200
    every = np.count_nonzero(thresholded_atoms(model)[0])
    assert f"{drawn} of {every} edges drawn." in page.locator("[data-atom='1']").inner_text()


def test_searching_marks_nodes_and_fades_the_rest(tmp_path, open_page):
    names = ["alpha", "beta", "gamma", "delta", "alphabet"]
    write_report(random_dictionary(5, 2, 20, names=names), tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    marked = page.locator("#mix circle[fill='var(--mark)']")
    assert marked.count() == 0
    for typed, expected in (("et", 2), ("ALPHA", 1), ("omega", 0), ("", 0)):
        page.locator("#search").fill(typed)
        in_view(page, page.locator("[data-atom='2']"))  # what is out of view is drawn later
        assert marked.count() == expected
        assert page.locator("[data-atom='2'] circle[fill='var(--mark)']").count() == expected
    page.locator("#search").fill("omega")
    assert page.locator("#search-text").inner_text() == "none"


def test_pointing_at_a_node_or_an_edge_tells_its_values(tmp_path, open_page):
    atoms = np.array([[2.0, 0, 0], [0, 1.0, 0]])
    names = ["up", "right", "left"]
    write_report(fitted(atoms, np.array([[0.5, 1.0]]), names), tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    box = page.locator("#mix").bounding_box()
    circles = page.locator("#mix circle")

    def centre(i):
        return np.array([float(circles.nth(i).get_attribute(a)) for a in ("cx", "cy")])

    def tip_at(point):
        page.mouse.move(box["x"] + point[0], box["y"] + point[1])
        settle(page)
        return page.locator("#tip").inner_text()

    first, second = centre(0), centre(1)
    assert "up" in tip_at(first)
    assert "degree 2" in tip_at(first)
    told = tip_at((first + second) / 2)
    assert "weight 1" in told
    assert "Atom 1: 100 %" in told


def test_a_community_can_be_marked(tmp_path, open_page):
    matrix = np.zeros((7, 7))
    matrix[:3, :3] = matrix[3:, 3:] = 1
    atoms = graphs.adjacency_to_weights(matrix)[None]
    write_report(fitted(atoms, np.ones((4, 1))), tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    assert "2 communities" in page.locator("[data-atom='1']").inner_text()
    page.get_by_label("(community 2 of Atom 1)").click()
    settle(page)
    assert page.locator("#mix circle[fill='var(--mark)']").count() == 3


def test_an_atom_can_be_enlarged(report, open_page):
    page = open_page(report)
    page.get_by_label("Enlarge Atom 2").click()
    settle(page)
    assert page.locator("#large svg.graph circle").count() == 6
    page.get_by_role("button", name="Close").click()
    assert not page.locator("#large").is_visible()


# Downloads -----------------------------------------------------------------------------------


def test_tables_hold_the_values_of_the_model(report, marginal, open_page):
    page = open_page(report)
    names = [str(name) for name in marginal.node_names]
    rows = table(page, "Edges of atoms (CSV)")
    for k, atom in enumerate(marginal.atoms_):
        own = [row for row in rows if row["atom"] == str(k + 1)]
        np.testing.assert_allclose(weights_of(own, names), atom, rtol=1e-6)
    rows = table(page, "Coefficients (CSV)")
    found = [[float(row[f"atom_{k + 1}"]) for k in range(3)] for row in rows]
    np.testing.assert_allclose(found, marginal.coefficients_, rtol=1e-6)
    np.testing.assert_allclose([float(row["time"]) for row in rows], np.arange(90) / 10)
    rows = table(page, "Degrees and communities (CSV)")
    degrees = np.array([float(row["degree"]) for row in rows]).reshape(3, 6)
    np.testing.assert_allclose(degrees, graphs.degrees(marginal.atoms_), rtol=1e-5)


@pytest.mark.parametrize("what", ["this graph", "the coefficients", "Atom 1"])
def test_figures_are_saved_as_svg_and_png(report, open_page, what):
    from xml.etree import ElementTree

    page = open_page(report)
    path, name = download(page, f"Save {what} as SVG")
    text = path.read_text(encoding="utf-8")
    assert name.endswith(".svg")
    assert "var(--" not in text
    assert ElementTree.fromstring(text).tag.endswith("svg")
    path, name = download(page, f"Save {what} as PNG")
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert name.endswith(".png")
    import matplotlib.image

    pixels = matplotlib.image.imread(path, format="png")
    assert (pixels.std(axis=(0, 1))[:3] > 0.02).all()


HOSTILE = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "=1+1", "-2",
    "quo\"te's, comma", "two\nlines", "שלום עולם", "🧠", "long " * 60, "&lt;b&gt;",
    "\u202eabc", " ",
]  # fmt: skip


def test_hostile_names_are_only_names(tmp_path, open_page):
    model = random_dictionary(len(HOSTILE), 2, 30, names=HOSTILE)
    path = tmp_path / "report.html"
    write_report(model, path, title=HOSTILE[1], source=HOSTILE[0])
    page = open_page(path)
    assert page.title() == HOSTILE[1]
    assert page.locator("#title").inner_text() == HOSTILE[1]
    assert page.locator("img, body script:not([type]) ~ script ~ script").count() == 0
    labels = page.locator("#mix text").all_text_contents()
    assert "=1+1" in labels
    assert "&lt;b&gt;" in labels
    page.locator("#search").fill("onerror")
    settle(page)
    assert page.locator("#search-text").inner_text() == "1 node"

    rows = table(page, "Edges of atoms (CSV)")
    told = {row[end] for row in rows for end in ("source", "target")}
    safe = {name: f"'{name}" if name[0] in "=-" else name for name in HOSTILE}
    assert told <= set(safe.values())
    assert "'=1+1" in told
    found = [row for row in rows if row["atom"] == "1"]
    matrix = weights_of(found, [safe[name] for name in HOSTILE])
    np.testing.assert_allclose(matrix, model.atoms_[0], rtol=1e-6)

    from xml.etree import ElementTree

    svg, _ = download(page, "Save this graph as SVG")
    ElementTree.fromstring(svg.read_text(encoding="utf-8"))


# Screens -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("nodes", "atoms", "samples"), [(2, 1, 1), (5, 2, 10), (12, 32, 100)])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_sticks_out_of_the_screen(tmp_path, open_page, nodes, atoms, samples, width):
    names = [f"a rather long name of node {i}" for i in range(nodes)]
    model = random_dictionary(nodes, atoms, samples, names=names)
    write_report(model, tmp_path / "report.html", source="some/rather/long/path/" * 5)
    page = open_page(tmp_path / "report.html", width=width, has_touch=width < 500)
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    outside = page.evaluate(
        """() => Array.from(document.querySelectorAll('body *:not(.skip)')).filter((e) => {
            const box = e.getBoundingClientRect();
            return !e.closest('svg') && box.width > 0 && box.right > innerWidth + 1;
        }).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    page.get_by_label("Enlarge Atom 1", exact=True).click()
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")


def test_dark_follows_the_system_and_the_button(report, open_page):
    def ground(page):
        colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3

    page = open_page(report, color_scheme="light")
    assert ground(page) > 200
    page.locator("#theme").click()
    assert ground(page) < 60
    page = open_page(report, color_scheme="dark")
    assert ground(page) < 60
    page.locator("#theme").click()
    assert ground(page) > 200


def test_touch_moves_the_timeline(report, open_page):
    page = open_page(report, width=360, height=740, has_touch=True)
    page.locator("#timeline").scroll_into_view_if_needed()
    box = page.locator("#timeline").bounding_box()
    page.touchscreen.tap(box["x"] + 0.75 * box["width"], box["y"] + 20)
    settle(page)
    assert 55 < int(page.locator("#timeline").get_attribute("aria-valuenow")) < 80


def test_empty_atoms_and_unfinished_histories_are_said(tmp_path, open_page):
    model = random_dictionary(6, 3, 15)
    model.atoms_[1] = 0
    model.coefficients_[:, 2] = 0.25
    model.history_ = {"objective": np.array([np.inf, np.nan]), "residual": np.array([np.nan, 1])}
    write_report(model, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    assert "this atom is empty" in page.locator("[data-atom='2']").inner_text()
    assert "2 values of the objective are not finite" in page.locator("#convergence").inner_text()


def test_an_atom_far_weaker_than_another_is_drawn_all_the_same(tmp_path, open_page):
    model = random_dictionary(6, 2, 20)
    model.atoms_ = model.atoms_ * np.array([[1.0], [1e-4]])
    model.coefficients_ = np.eye(2)[np.repeat([0, 1], 10)]
    write_report(model, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    for k in (1, 2):
        card = page.locator(f"[data-atom='{k}'] svg")
        card.scroll_into_view_if_needed()
        page.wait_for_function(
            "k => document.querySelector(`[data-atom='${k}'] svg`).dataset.edges > 0", arg=k
        )
    page.locator("#timeline").press("End")
    settle(page)
    assert int(page.locator("#mix").get_attribute("data-edges")) > 0
    assert "own scale" in page.locator("#mix-hint").inner_text()


def test_years_have_no_commas(tmp_path, open_page):
    model = random_dictionary(4, 2, 60)
    write_report(model, tmp_path / "report.html", times=np.arange(1950, 2010), time_unit="years")
    page = open_page(tmp_path / "report.html")
    ticks = page.locator("#timeline .tick text").all_text_contents()
    assert "1960" in ticks
    assert not any("," in tick for tick in ticks)


@pytest.mark.parametrize("nodes", [64, 200])
def test_many_nodes_begin_with_few_edges_and_sentences_come_first(tmp_path, open_page, nodes):
    model = random_dictionary(nodes, 2, 20)
    write_report(model, tmp_path / "report.html", findings=["One graph."])
    page = open_page(tmp_path / "report.html")
    settle(page)
    assert int(page.locator("#mix").get_attribute("data-edges")) <= 2.5 * nodes
    found, tools, mix = (
        page.locator(place).bounding_box()["y"] for place in ("#found", "#tools", "#mix")
    )
    assert found < tools < mix
    assert page.locator("#settings").bounding_box()["y"] > mix


def study(recordings, samples, atoms=3, nodes=5):
    """A model of several recordings, each with a favourite atom."""
    model = random_dictionary(nodes, atoms, 4)
    favourites = np.arange(recordings) % atoms
    states = np.repeat(favourites, samples).reshape(recordings, samples)
    states[:, : samples // 4] = 0
    model.coefficients_ = np.eye(atoms, dtype=np.float32)[states.ravel()]
    names = tuple(f"subject {r + 1}" for r in range(recordings))
    model.recordings_ = Recordings(names, (samples,) * recordings)
    return model


def test_a_recording_is_chosen_and_two_are_compared(tmp_path, open_page):
    model = study(6, 40)
    write_report(model, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    rows = page.locator("#recordings-table tbody tr")
    assert rows.count() == 6
    means = model.coefficients_.reshape(6, 40, 3).mean(axis=1)
    for r in range(6):
        cells = rows.nth(r).locator("td").all_inner_texts()
        assert cells[:2] == [f"subject {r + 1}", "40"]
        np.testing.assert_allclose([float(c) for c in cells[2:5]], means[r], atol=0.006)
    assert not page.locator("#beside").is_visible()
    page.locator("#recording").select_option(label="subject 5")
    settle(page)
    assert "sample 1 of" in page.locator("#where").inner_text()
    assert "subject 5" in page.locator("#where").inner_text()
    assert page.locator("#timeline").get_attribute("aria-valuenow") == "160"
    assert not page.locator("#strips").is_visible()
    page.locator("#other").select_option(label="subject 6")
    figures = page.locator("#strips figure")
    assert figures.locator("figcaption").all_inner_texts() == ["subject 5", "subject 6"]
    drawn = figures.nth(1).locator("svg")
    size = drawn.bounding_box()
    drawn.click(position={"x": size["width"] * 0.74, "y": 10})  # sample 30 of 40, but for margins
    settle(page)
    point = int(page.locator("#timeline").get_attribute("aria-valuenow"))
    assert abs(point - 230) <= 1
    told = page.locator("#beside tbody tr").all_inner_texts()
    for k in range(3):
        first, second = (f"{means[r, k]:.2f}" for r in (4, 5))
        assert first in told[k]
        assert second in told[k]
        assert told[k].strip().endswith(f"{abs(means[4, k] - means[5, k]):.2f}")
    rows.nth(1).click()
    settle(page)
    assert "subject 2" in page.locator("#where").inner_text()


def test_new_signals_and_single_recordings_have_no_table_of_recordings(tmp_path, open_page):
    model = study(2, 20)
    write_report(model, tmp_path / "new.html", coefficients=model.coefficients_[:10])
    assert not open_page(tmp_path / "new.html").locator("#recordings").is_visible()


def test_a_hundred_long_recordings_stay_small_and_windows_never_cross_them(tmp_path):
    from graphdict.viz.report.content import describe

    model = study(100, 100_000, atoms=4)
    write_report(model, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 8_000_000
    content = describe(model, model.coefficients_)
    starts = np.frombuffer(base64.b64decode(content["time"]["start"]), "<u4")
    assert np.isin(100_000 * np.arange(100), starts).all()
    assert any("10,000,000 samples are shown as" in remark for remark in content["remarks"])
