"""What README and docs show is run as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

from graphdict import GraphDictLog, graphs, load_model

ROOT = Path(__file__).parents[1]


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
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
