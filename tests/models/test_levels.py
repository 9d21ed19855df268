"""Graded activations: ``levels`` of every active atom of GraphDictMarginal."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphdict import GraphDictMarginal, load_model
from graphdict.datasets import make_superposition
from graphdict.metrics import match_atoms

PAPERS = {"filter_power": 1, "tails": "gaussian"}


@pytest.fixture(scope="module", name="graded")
def graded_dictionary():
    return make_superposition(
        3, 10, 0.4, 2, 800, 300, samples_per_graph=4, coefficient_range=(0.2, 1), random_state=5
    )


def fit(data, **options):
    given = {"max_active": 2, "window_size": 4, "n_init": 3, "max_iter": 60, "random_state": 0}
    return GraphDictMarginal(3, **{**given, **PAPERS, **options}).fit(data.train.signals)


def coefficient_error(model, data):
    matching = match_atoms(data.atoms, model.atoms_)
    found = model.transform(data.test.signals)[:, matching.learned]
    return np.abs(found - data.test.coefficients[:, matching.true]).mean()


def test_graded_coefficients_are_followed(graded, tmp_path):
    on_or_off, model = fit(graded), fit(graded, levels=3)
    assert coefficient_error(model, graded) < 0.85 * coefficient_error(on_or_off, graded)
    assert model.score(graded.test.signals) > on_or_off.score(graded.test.signals) + 0.1
    assert_allclose(np.unique(model.patterns_), [0, 1 / 3, 2 / 3, 1])
    assert len(model.patterns_) == 3 * 3 + 3 * 9
    model.save(tmp_path / "model.gd")
    loaded = load_model(tmp_path / "model.gd")
    assert_array_equal(loaded.transform(graded.test.signals), model.transform(graded.test.signals))


def test_one_level_is_on_or_off(graded):
    assert_array_equal(fit(graded, levels=1).atoms_, fit(graded).atoms_)
    assert fit(graded, levels=1, n_init=1).patterns_.dtype == bool


@pytest.mark.parametrize("prior", ["independent", "free", "markov"])
def test_averages_and_streams_are_graded(graded, prior):
    options = {"levels": 2, "prior": prior, "n_init": 1, "max_iter": 10}
    averaged = fit(graded, average=4, **options)
    assert np.isfinite(averaged.score(graded.test.signals))
    assert np.isfinite(averaged.instantaneous_graphs(graded.test.signals).weights).all()
    stream = fit(graded, **options).partial_fit(graded.test.signals)
    assert np.isfinite(stream.atoms_).all()
    assert ((stream.coefficients_ >= 0) & (stream.coefficients_ <= 1)).all()


def test_filters_and_tails_are_graded(graded):
    options = {"levels": 2, "n_init": 1, "max_iter": 5}
    model = fit(graded, filter_power=1.5, tails=8, **options)
    assert (model.filter_power_, model.tails_, len(model.patterns_)) == (1.5, 8, 18)
    assert np.isfinite(model.score(graded.test.signals))
    many = {**options, "max_active": 3, "levels": 7}
    with pytest.raises(ValueError, match=r"filter_power=1\.5 cannot be used with 511 sets"):
        fit(graded, **{**many, "filter_power": 1.5})


def test_levels_that_cannot_be_are_refused(graded):
    with pytest.raises(ValueError, match=r"levels=100 gives 1030300 activation patterns"):
        fit(graded, max_active=3, levels=100)
    with pytest.raises(ValueError, match=r"levels=2 cannot be used with prior=\"hierarchy\""):
        fit(graded, levels=2, prior="hierarchy", max_active=None)
    with pytest.raises(ValueError, match="levels"):
        fit(graded, levels=0)
