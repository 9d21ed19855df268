"""GraphDictMarginal(signed=True): edges that may be negative, and everything that shows them."""

import csv
import json

import networkx
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, multivariate_t

from graphdict import GraphDictMarginal, load_model
from graphdict.app.cli import main
from graphdict.core import graphs
from graphdict.core.marginal.signed import is_definite, make_definite
from graphdict.core.marginal.spectra import zero_sum_basis
from graphdict.datasets import sample_lgmrf
from graphdict.results import thresholded_atoms
from graphdict.selection import describe_findings
from invoking import invoke

NODES = 10
BASIS = zero_sum_basis(NODES)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def signed_graphs(rng, count):
    pairs = graphs.n_edges(NODES)
    weights = (rng.random((count, pairs)) < 0.25) * rng.uniform(0.5, 2, (count, pairs))
    weights *= np.where(rng.random((count, pairs)) < 0.4, -0.7, 1)
    rows, cols = graphs.edge_index(NODES)
    weights[:, cols - rows == 1] = 1.5
    return make_definite(weights)


def covariance(weights):
    return np.linalg.inv(BASIS.T @ graphs.laplacian(weights) @ BASIS)


def signals_of(rng, atoms, samples=2000, length=50):
    path = rng.integers(len(atoms), size=samples // length)
    zero = np.zeros(NODES - 1)
    # Cholesky's factor is unique: the same signals wherever this runs.
    pieces = [
        rng.multivariate_normal(zero, covariance(atoms[k]), length, method="cholesky") for k in path
    ]
    return np.concatenate(pieces) @ BASIS.T


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(5)
    atoms = signed_graphs(rng, 2)
    signals = signals_of(rng, atoms)
    model = GraphDictMarginal(2, prior="markov", signed=True, random_state=0).fit(signals)
    return atoms, signals, signals_of(rng, atoms), model


def test_it_recovers_graphs_of_either_sign(two):
    truth, _, _fresh, model = two
    found = model.atoms_ / model.scale_**2
    order = np.argmax(np.corrcoef(found, truth)[:2, 2:], axis=1)
    assert sorted(order) == [0, 1]
    joined = thresholded_atoms(model) != 0
    correct = (joined == (truth[order] != 0)).mean()
    assert correct > 0.85
    both = joined & (truth[order] != 0)
    assert (np.sign(found[both]) == np.sign(truth[order][both])).mean() > 0.98
    assert (found < 0).any()
    assert all(is_definite(atom) for atom in found)
    low, high = np.moveaxis(model.edge_intervals_ / model.scale_**2, -1, 0)
    assert ((low <= truth[order]) & (truth[order] <= high)).mean() > 0.85


def test_it_predicts_signed_signals_better(two):
    _, signals, fresh, model = two
    papers = {"filter_power": 1, "tails": "gaussian", "max_active": 1}  # a filter has signs, too
    plain = GraphDictMarginal(2, prior="markov", random_state=0, **papers).fit(signals)
    assert model.score(fresh) > plain.score(fresh) + 0.05


@pytest.mark.parametrize("tails", ["gaussian", 5.0])
def test_the_score_is_scipys_density(tails, rng):
    signals = signals_of(rng, signed_graphs(rng, 2), 600)
    model = GraphDictMarginal(2, signed=True, tails=tails, random_state=0).fit(signals)
    coordinates = signals / model.scale_ @ BASIS
    density = 0.0
    for probability, atom in zip(model.pattern_probabilities_, model.atoms_):
        if tails == "gaussian":
            component = multivariate_normal(cov=covariance(atom))
        else:
            component = multivariate_t(shape=covariance(atom), df=tails)
        density = density + probability * component.pdf(coordinates)
    assert_allclose(model.score_samples(signals), np.log(density), rtol=1e-8)
    assert_allclose(model.transform(signals), model.coefficients_, atol=1e-8)


def test_graphs_without_negative_edges_stay_what_they_are(rng):
    rows, cols = graphs.edge_index(NODES)
    ring = ((cols - rows == 1) | (cols - rows == NODES - 1)).astype(float)
    signals = np.asarray(sample_lgmrf(np.repeat(ring[None], 2000, 0), random_state=2))
    fresh = np.asarray(sample_lgmrf(np.repeat(ring[None], 2000, 0), random_state=3))
    models = [GraphDictMarginal(1, signed=s, random_state=0).fit(signals) for s in (True, False)]
    for model in models:
        assert ((thresholded_atoms(model) != 0) == (ring != 0)).mean() > 0.95
    assert abs(models[0].score(fresh) - models[1].score(fresh)) < 0.02
    assert np.isinf(models[0].tails_)


def test_loud_samples_have_tails(rng):
    signals = signals_of(rng, signed_graphs(rng, 1)) / np.sqrt(rng.chisquare(4, (2000, 1)) / 4)
    model = GraphDictMarginal(1, signed=True, random_state=0).fit(signals)
    assert 3 < model.tails_ < 5.5
    assert model.gains_.min() < 0.5


def test_units_change_nothing_and_all_edges_stay_without_sparsity(two):
    _, signals, _, model = two
    same = GraphDictMarginal(2, prior="markov", signed=True, random_state=0).fit(1e6 * signals)
    assert_allclose(same.atoms_, model.atoms_, rtol=1e-4, atol=1e-6)
    dense = GraphDictMarginal(2, signed=True, sparsity=0, random_state=0).fit(signals)
    assert (dense.atoms_ != 0).all()


def test_few_samples_and_copies_of_columns_give_numbers(rng):
    for signals in (rng.standard_normal((12, 8)), np.repeat(rng.standard_normal((40, 3)), 2, 1)):
        model = GraphDictMarginal(2, signed=True, random_state=0).fit(signals)
        assert np.isfinite(model.atoms_).all()
        assert np.isfinite(model.score(signals))


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_active", 2), ("levels", 2), ("filter_power", 2.0), ("average", 5),
     ("prior", "hierarchy")],
)  # fmt: skip
def test_what_it_does_not_know_is_refused_by_name(name, value, rng):
    with pytest.raises(ValueError, match=rf"signed=True cannot be used with {name}="):
        GraphDictMarginal(3, signed=True, **{name: value}).fit(rng.standard_normal((50, 4)))


def test_streams_are_refused_and_missing_values_are_not(two, rng):
    with pytest.raises((ValueError, AttributeError), match=r"signed=True|partial_fit"):
        GraphDictMarginal(2, signed=True).partial_fit(rng.standard_normal((50, 4)))
    gaps = two[2][:20].copy()
    gaps[4, 2] = np.nan
    assert np.isfinite(two[3].transform(gaps)).all()
    gaps = np.where(rng.random(two[1].shape) < 0.05, np.nan, two[1])
    found = GraphDictMarginal(2, prior="markov", signed=True, random_state=0).fit(gaps)
    assert found.score(two[2]) == pytest.approx(two[3].score(two[2]), abs=0.1)


def test_columns_that_are_equal_leave_numbers():
    counts = np.random.default_rng(0).integers(0, 5, 30)
    model = GraphDictMarginal(3, signed=True, n_init=2, max_iter=8, random_state=1)
    model.fit(np.column_stack([counts, counts]))
    assert np.isfinite(model.atoms_).all()
    assert np.isfinite(model.score(np.column_stack([counts, counts])))


def test_a_file_keeps_it_and_refuses_what_no_fit_leaves(two, tmp_path):
    _, _, fresh, model = two
    path = tmp_path / "signed.graphdict"
    model.save(path)
    again = load_model(path)
    assert again.signed
    assert_allclose(again.score_samples(fresh), model.score_samples(fresh))
    wrong = GraphDictMarginal(2, signed=True)
    wrong.__dict__.update(model.__dict__)
    wrong.signed = False
    wrong.save(path)
    with pytest.raises(ValueError, match="nonnegative unless signed"):
        load_model(path)
    wrong.signed, wrong.atoms_ = True, -model.atoms_
    wrong.save(path)
    with pytest.raises(ValueError, match="positive definite"):
        load_model(path)


def test_graphs_tables_and_sentences_know_the_sign(two):
    model = two[3]
    sample = model.instantaneous_graphs()[0]
    weights = sample.weights[0]
    assert (weights < 0).any()
    graph = sample.to_networkx()
    assert isinstance(graph, networkx.Graph)
    assert graph.number_of_edges() == np.count_nonzero(weights)
    assert min(w for *_, w in graph.edges(data="weight")) == pytest.approx(weights.min())
    assert (sample.to_pandas()["weight"] < 0).sum() == (weights < 0).sum()
    assert sample.to_sparse()[0].nnz == 2 * np.count_nonzero(weights)
    assert sample.to_sparse(threshold=0.3)[0].nnz == 2 * (np.abs(weights) > 0.3).sum()
    assert "stroke-dasharray" in sample._repr_html_()
    said = " ".join(describe_findings(model))
    assert "of them negative" in said
    assert "cannot show" not in said


def test_figures_draw_negative_edges_in_another_colour(two):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.colors import to_rgb

    from graphdict.viz import plot_atoms
    from graphdict.viz.drawing import NEGATIVE

    axes = plot_atoms(two[3])
    drawn = np.atleast_1d(np.asarray(axes, dtype=object))[0].collections[0].get_colors()
    red = (np.abs(drawn[:, :3] - to_rgb(NEGATIVE)) < 1e-9).all(axis=1)
    assert red.sum() == (thresholded_atoms(two[3])[0] < 0).sum()


def test_the_command_learns_shows_and_offers_it(two, tmp_path):
    signals = two[1]
    names = ",".join(f"s{k}" for k in range(NODES))
    path = tmp_path / "signals.csv"
    np.savetxt(path, signals, delimiter=",", header=names, comments="", fmt="%.6g")
    given = [
        "fit",
        path,
        "-k",
        "2",
        "--active",
        "1",
        "--no-evidence",
        "--standardise",
        "no",
        "--json",
    ]
    result = invoke(main, *given, "--signed", "-o", tmp_path / "out")
    found = json.loads(result.stdout)
    assert found["model"]["settings"]["signed"] is True
    assert sum(atom["negative_edges"] for atom in found["result"]["atoms"]) > 0
    with open(tmp_path / "out" / "atoms.csv") as file:
        weights = [float(row["weight"]) for row in csv.DictReader(file)]
    assert min(weights) < 0
    assert "Dashed red edges are negative" in (tmp_path / "out" / "report.html").read_text()
    wrong = invoke(main, "fit", path, "--signed", "--active", "2")
    assert wrong.exit_code == 2
    assert "--active 2" in wrong.stderr
    wrong = invoke(main, "fit", path, "--signed", "--model", "log", "-k", "2")
    assert wrong.exit_code == 2
    assert "--model marginal" in wrong.stderr
    offered = invoke(main, *given[:-1], "--set", "filter_power=1", "-o", tmp_path / "plain")
    assert "--signed learns graphs that can" in offered.stdout
