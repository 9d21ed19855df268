"""What README and docs show is run as it stands there."""

import ast
import importlib
import inspect
import re
import shlex
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from scipy.io import savemat

from invoking import invoke

mpl.use("Agg")
import matplotlib.pyplot as plt

from graphdict import GraphDictLog, load_model
from graphdict.app.cli import main
from graphdict.app.files import formats
from graphdict.core import graphs
from graphdict.files import InputError, read_signals
from public_types import public_names

ROOT = Path(__file__).parents[1]
RECORDINGS = "graphdict.core.recordings"


def python_blocks(page):
    text = (ROOT / page).read_text()
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_readme_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    for block in python_blocks("README.md"):
        exec(block, space)
    assert space["coefficients"].shape[1] == space["model"].n_atoms
    assert load_model("model.graphdict").atoms_.shape == space["model"].atoms_.shape


def console_commands(page):
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    return re.findall(r"^\$ graphdict (.*)$", "\n".join(blocks), flags=re.MULTILINE)


def test_the_front_page():
    space = {}
    for block in python_blocks("docs/index.md"):
        exec(block, space)
    assert space["model"].atoms_.shape == (3, 91)
    assert space["model"].coefficients_.shape == (1500, 3)


def test_the_first_page_works_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in console_commands("docs/start.md"):
        done = invoke(main, *shlex.split(command))
        assert done.exit_code == 0, f"{command}: {done.output}"
    written = {path.name for path in Path("signals-graphdict").iterdir()}
    assert {"report.html", "coefficients.csv", "atoms.csv", "model.graphdict"} <= written
    assert Path("later-mix.csv").exists()
    space = {}
    for block in python_blocks("docs/start.md"):
        exec(block, space)
    assert space["model"].atoms_.shape == (3, 91)
    assert space["network"].number_of_edges() > 0
    plt.close("all")


def test_the_page_on_studies():
    space = {}
    for block in python_blocks("docs/studies.md"):
        exec(block, space)
    assert space["found"].p_corrected[space["found"].effect.argmax()] <= 0.05
    assert space["own"].atoms.shape == (24, 3, 28)
    assert space["choice"].value == 3
    assert space["again"].again.all()
    plt.close("all")


@pytest.fixture(scope="module")
def prior_page():
    rng = np.random.default_rng(0)
    allowed = rng.random(graphs.n_edges(8)) < 0.6
    space = {"X": rng.standard_normal((60, 8)), "allowed": allowed}
    for block in python_blocks("docs/add-a-prior.md"):
        exec(block, space)
    return space


def test_the_edge_constraint_of_the_page_on_priors_holds(prior_page):
    atoms = prior_page["model"].atoms_
    assert not atoms[:, ~prior_page["allowed"]].any()
    assert atoms[:, prior_page["allowed"]].any()


def test_what_is_unlikely_on_the_page_on_priors_is_avoided(prior_page):
    marked, costs = prior_page["marked"].coefficients_, prior_page["costs"]
    assert marked[:10, 2].mean() < 0.5 * marked[10:, 2].mean()
    assert costs.shape == marked.shape


def test_the_page_on_many_recordings():
    space = {}
    for block in python_blocks("docs/recordings.md"):
        exec(block, space)
    assert space["model"].recordings_.lengths == (300, 180, 240)
    assert [len(part) for part in space["again"]] == [240, 180]
    assert space["table"].index.names == ["recording", "sample"]
    assert len(space["bob"]) == 180


def test_the_page_on_likelihoods(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    space = {"X": rng.standard_normal((60, 8)) @ rng.standard_normal((8, 8))}
    for block in python_blocks("docs/add-a-likelihood.md"):
        exec(block, space)
    assert space["model"].backend_ == "plain"
    np.testing.assert_allclose(space["coefficients"], space["model"].coefficients_, atol=1e-6)
    assert np.isfinite(space["score"])
    assert space["again"].score(space["X"]) == pytest.approx(space["score"])


def test_the_page_on_formats_and_commands(tmp_path, monkeypatch):
    space = {}
    for block in python_blocks("docs/add-a-format.md"):
        exec(block, space)
    signals = np.random.default_rng(0).standard_normal((40, 5))
    savemat(tmp_path / "signals.mat", {"EEG": signals, "rate": 250.0})
    monkeypatch.setattr(formats, "FORMATS", (*space["lines"], *formats.FORMATS))
    found = read_signals(tmp_path / "signals.mat")
    np.testing.assert_array_equal(found.values, signals)
    (tmp_path / "damaged.mat").write_bytes((tmp_path / "signals.mat").read_bytes()[:150])
    with pytest.raises(InputError, match="cannot be read as a MATLAB file"):
        read_signals(tmp_path / "damaged.mat")
    header = b'SIGF1\n{"names": ["a", "b", "c", "d", "e"], "rate": 100}\n'
    (tmp_path / "signals.sig").write_bytes(header + signals.astype("<f4").tobytes())
    found = read_signals(tmp_path / "signals.sig")
    np.testing.assert_array_equal(found.values, signals.astype("<f4"))
    assert found.step == pytest.approx(0.01)
    for damaged in (header, header[:-5], header + b"odd"):
        (tmp_path / "damaged.sig").write_bytes(damaged)
        with pytest.raises(InputError, match=r"sig (has a header|cannot be read)"):
            read_signals(tmp_path / "damaged.sig")
    (tmp_path / "damaged.sig").write_bytes(header.replace(b"rate", b"pace"))
    with pytest.raises(InputError, match="cannot be read as a SIG file: it lacks 'rate'"):
        read_signals(tmp_path / "damaged.sig")
    model = GraphDictLog(2, max_iter=20, tol=0.1, random_state=0).fit(signals)
    model.save(tmp_path / "model.graphdict")
    done = invoke(space["degrees"], str(tmp_path / "model.graphdict"))
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()] == model.node_names
    assert invoke(space["degrees"], str(tmp_path / "signals.mat")).exit_code == 3


def test_the_page_on_graphs_views_and_nodes_that_do_not_match():
    space, models = {}, []
    for block in python_blocks("docs/related.md"):
        exec(block, space)
        models.append(space["model"])
    _, consensus, transport, heat = models
    hidden = np.isnan(space["seen"])
    errors = (space["completed"] - space["network"])[hidden]
    assert np.sqrt(np.mean(errors**2)) < 0.5 * np.std(space["network"][hidden])
    assert consensus.deviations_.shape == (4, 105)
    coefficients = transport.coefficients_
    assert np.abs(coefficients[0] - coefficients[2]).max() < 0.1
    assert np.abs(coefficients[0] - coefficients[1]).max() > 0.5
    assert np.unique(space["clusters"][:300], return_counts=True)[1].max() > 270
    assert heat.filter_ == "heat"


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.SilentNodeWarning")
def test_priors_speak_of_all_nodes_even_where_one_is_silent(prior_page):
    signals = prior_page["X"].copy()
    signals[:, 3] = 1.0
    allowed = prior_page["allowed"]
    reference = np.ones((2, graphs.n_edges(8)))
    priors = [prior_page["OnlyTheseEdges"](allowed), prior_page["NearReference"](reference, 0.1)]
    model = GraphDictLog(2, atom_priors=priors, max_iter=100, random_state=0).fit(signals)
    assert model.atoms_.shape == (2, graphs.n_edges(8))
    assert not model.atoms_[:, ~allowed].any()
    assert not graphs.degrees(model.atoms_)[:, 3].any()


def test_the_smooth_pull_of_the_page_on_priors_pulls(prior_page):
    signals = prior_page["X"]
    reference = np.random.default_rng(1).random((2, graphs.n_edges(8)))

    def distance(strength):
        priors = [prior_page["NearReference"](reference, strength)]
        model = GraphDictLog(2, atom_priors=priors, atoms=reference, max_iter=300, random_state=0)
        return np.linalg.norm(model.fit(signals).atoms_ - reference)

    assert distance(100.0) < 0.2 * distance(0.01)


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_tables_of_contents_list_pages_once():
    """Pages that are in none are found by Sphinx."""
    pages = {page.stem: page.read_text() for page in (ROOT / "docs").glob("*.md")}
    tables = re.findall(r"```{toctree}\n(.*?)```", "".join(pages.values()), flags=re.DOTALL)
    listed = re.findall(r"^([a-z][\w-]*)$", "".join(tables), flags=re.MULTILINE)
    assert set(listed) <= set(pages)
    assert len(listed) == len(set(listed))


def test_tables_on_pages_are_those_of_the_results():
    """`python results/pages.py` writes them."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "results" / "pages.py"), "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


LISTED = {module: {n for m, n in public_names() if m == module} for module, _ in public_names()}


@pytest.mark.parametrize("name", sorted(LISTED))
def test_a_public_module_has_and_shows_what_the_api_lists(name):
    module, listed = importlib.import_module(name), LISTED[name]
    elsewhere = set().union(*LISTED.values()) - listed  # an error, with what raises it
    assert set(module.__all__) - {"__version__"} - elsewhere == listed
    beside = module._MODULES if name == "graphdict" else ()
    assert set(dir(module)) == {*module.__all__, *beside}


def test_models_show_what_the_package_has():
    assert set(dir(importlib.import_module("graphdict.models"))) == LISTED["graphdict"]


EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_are_pages_with_a_title(path):
    """They are run when the pages are built; here, that the gallery can read them."""
    title, line, *_ = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    assert line == "=" * len(title)


def test_links_out_of_the_docs_are_followed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "extensions")
    follow = importlib.import_module("repository_links").follow
    assert follow("[a](../CONTRIBUTING.md)") == "[a](layout.md)"
    assert follow("[a](../results/x/table.md)") == "[a](path:../results/x/table.md)"
    assert follow("[a](../examples/plot_1.py)") == "[a](gallery/plot_1.rst)"
    assert (
        follow("[a](models.md), ![b](../results/x.png)") == "[a](models.md), ![b](../results/x.png)"
    )


def test_formulas_in_docstrings_are_literal_blocks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "extensions")
    mark = importlib.import_module("docstrings").mark_formulas
    head = ["Minimises", "", "    |x|_1", "      + |y|_1", "", "over x.", ""]
    sections = ["Parameters", "----------", "x : array", "    Which.", "", "    More."]
    marked = mark(head + sections)
    assert marked == [*head[:2], "::", "", *head[2:], *sections]
    assert mark(["So::", "", "    code"]) == ["So::", "", "    code"]


def test_paths_named_on_pages_exist():
    """Of the sources and the tests: pages would else lead nowhere after a move."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for path in re.findall(r"`((?:src|tests|benchmarks)/[\w/]+\.\w+)", page.read_text()):
            assert (ROOT / path).exists(), f"{page.name} names {path}"


def functions_of(public):
    """Yield a function; or the methods of a class that has ``fit``, or that is given back."""
    if inspect.isfunction(public):
        yield public
    elif callable(getattr(public, "fit", None)) or getattr(public, "__module__", "") in (
        "graphdict.results",
        RECORDINGS,
    ):
        for name, method in inspect.getmembers(public, inspect.isfunction):
            if not name.startswith("_") and method.__module__.startswith("graphdict"):
                yield method


@pytest.mark.parametrize(("module", "name"), public_names())
def test_public_functions_say_what_they_take_and_return(module, name):
    for function in functions_of(getattr(importlib.import_module(module), name)):
        text, signature = inspect.getdoc(function) or "", inspect.signature(function)
        if text.startswith("Not offered"):
            continue
        taken = [name for name in signature.parameters if name not in ("self", "cls")]
        section = text.partition("Parameters\n---")[2]
        assert not [name for name in taken if not re.search(rf"\b{name}\b", section)], function
        if signature.return_annotation not in (None, "None", inspect.Signature.empty):
            assert re.search(r"^(Returns|Yields)\n---", text, flags=re.MULTILINE), function


@pytest.mark.parametrize(("module", "name"), public_names())
def test_public_docstrings_name_no_private_module(module, name):
    public = getattr(importlib.import_module(module), name)
    for own in (public, *(vars(public).values() if inspect.isclass(public) else ())):
        text = inspect.getdoc(own) or ""
        assert not re.search(r"graphdict\.(core|engine|native)\.", text), f"{name}: {text[:80]}"


@pytest.mark.parametrize(("module", "name"), public_names())
def test_public_methods_and_properties_are_documented(module, name):
    public = getattr(importlib.import_module(module), name)
    for own in public.__mro__ if inspect.isclass(public) else ():
        if own.__module__.startswith("graphdict"):
            for attribute, value in vars(own).items():
                what = (property, cached_property, classmethod)
                if not attribute.startswith("_") and (callable(value) or isinstance(value, what)):
                    assert inspect.getdoc(getattr(own, attribute, value)), f"{own}.{attribute}"
