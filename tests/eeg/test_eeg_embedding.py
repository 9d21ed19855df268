"""States at peaks by every kind of model, and every other sample by its nearest peak."""

import mne
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graphdict import GraphDictLog, GraphDictMarginal, load_model
from graphdict.baselines import GLMM, KGraphs
from graphdict.eeg import StateEmbedding, backfit, gfp_peaks, model_coefficients

MODELS = {
    "log": GraphDictLog(3, max_iter=60, random_state=0),
    "marginal": GraphDictMarginal(3, max_active=2, n_init=1, max_iter=10, random_state=0),
    "kmeans": KMeans(3, n_init=2, random_state=0),
    "mixture": GaussianMixture(3, covariance_type="diag", random_state=0),
    "glmm": GLMM(3, n_init=1, max_iter=5, random_state=0),
    "kgraphs": KGraphs(3, n_init=1, max_iter=5, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)),
    "marginal pipeline": make_pipeline(
        StandardScaler(),
        GraphDictMarginal(3, max_active=1, n_init=1, max_iter=5, random_state=0),
    ),
}
DICTIONARIES = ("log", "marginal")


def naive_backfit(peaks, coefficients):
    """Coefficients of the nearest peak of the segment, by trying all."""
    out = np.full((len(peaks.recording.signals), coefficients.shape[1]), np.nan)
    for number, (start, stop) in enumerate(peaks.recording.segments):
        own = np.flatnonzero(peaks.segment == number)
        for sample in range(start, stop):
            if len(own):
                nearest = own[np.argmin(np.abs(peaks.samples[own] - sample))]
                out[sample] = coefficients[nearest]
    return out


def test_backfitting_takes_the_nearest_peak_of_the_same_epoch(epochs):
    peaks = gfp_peaks(epochs)
    labels = np.random.default_rng(0).random((len(peaks), 2))
    np.testing.assert_array_equal(backfit(peaks, labels), naive_backfit(peaks, labels))


def test_backfitting_in_a_raw_with_holes(raw):
    noted = raw.copy().set_annotations(
        mne.Annotations([2.0, 2.55, 6.0], [0.5, 3.0, 0.2], ["BAD"] * 3)
    )
    peaks = gfp_peaks(noted)
    labels = np.random.default_rng(0).random((len(peaks), 2))
    result = backfit(peaks, labels)
    np.testing.assert_array_equal(result, naive_backfit(peaks, labels))
    assert np.isnan(result[330]).all()
    with pytest.raises(ValueError, match="peaks, but coefficients of 3"):
        backfit(peaks, labels[:3])


def test_a_segment_without_a_peak_has_no_state():
    data = np.random.default_rng(0).standard_normal((2, 4, 40))
    data[1] = np.linspace(1, 2, 40) * data[1, :, :1]  # field power only rises
    embedding = StateEmbedding(KMeans(2, n_init=1, random_state=0), sfreq=100).fit(data)
    states = embedding.transform(data)
    assert (states.labels[:40] >= 0).all()
    assert (states.labels[40:] == -1).all()
    assert not states.feature_array()[1].any()


@pytest.mark.parametrize("name", MODELS)
def test_every_model_goes_through_one_interface(name, epochs):
    embedding = StateEmbedding(MODELS[name], max_peaks=200, random_state=0)
    states = embedding.fit(epochs).transform(epochs)
    assert embedding.n_states_ == states.n_states == 3
    assert states.n_events == len(epochs)
    peaks = gfp_peaks(epochs)
    coefficients = model_coefficients(embedding.model_, peaks.signals)
    assert coefficients.shape == (len(peaks), 3)
    assert coefficients.min() >= 0
    assert coefficients.max() <= 1 + 1e-9
    np.testing.assert_allclose(states.coefficients[peaks.samples], coefficients)
    if name in DICTIONARIES:
        np.testing.assert_array_equal(embedding.activity_, [0.5] * 3)
        np.testing.assert_allclose(coefficients, embedding.model_.transform(peaks.signals))
    elif name != "marginal pipeline":
        assert embedding.activity_ == "largest"
        np.testing.assert_allclose(coefficients.sum(axis=1), 1)
    assert np.isfinite(states.feature_array()).all()
    again = clone(embedding).fit(epochs).transform(epochs)
    np.testing.assert_array_equal(again.coefficients, states.coefficients)


def test_simulated_states_are_found_again(raw, simulated):
    # K-means tells a map from its negative: six centres make three states.
    model = KMeans(6, n_init=4, random_state=0)
    states = StateEmbedding(model, normalise="gfp").fit_transform(raw)
    score = adjusted_mutual_info_score(simulated.states, states.labels)
    shuffled = np.random.default_rng(0).permutation(states.labels)
    assert score > 0.5
    assert adjusted_mutual_info_score(simulated.states, shuffled) < 0.01


def test_several_recordings_are_fitted_together(raw, epochs):
    parts = [raw.copy().crop(0, 20), raw.copy().crop(20, 40)]
    embedding = StateEmbedding(KMeans(3, n_init=1, random_state=0))
    states = embedding.fit_transform(parts)
    one_by_one = clone(embedding).fit(part for part in parts)
    np.testing.assert_array_equal(
        one_by_one.model_.cluster_centers_, embedding.model_.cluster_centers_
    )
    assert embedding.n_peaks_ == sum(len(gfp_peaks(part)) for part in parts)
    assert [len(s.coefficients) for s in states] == [part.n_times for part in parts]


def test_normalising(raw):
    louder = raw.copy()
    louder._data *= 3

    def shape_of_peaks(how, inst):
        embedding = StateEmbedding(KMeans(2, n_init=1, random_state=0), normalise=how).fit(inst)
        return embedding.model_.cluster_centers_

    assert not np.allclose(shape_of_peaks(None, raw), shape_of_peaks(None, louder))
    for how in ("gfp", "recording"):
        np.testing.assert_allclose(shape_of_peaks(how, raw), shape_of_peaks(how, louder), rtol=1e-6)
    with pytest.raises(ValueError, match="normalise must be one of"):
        shape_of_peaks("zscore", raw)


def test_activity_is_decided_as_asked(epochs):
    model = GraphDictLog(3, max_iter=15, random_state=0)
    peaks = gfp_peaks(epochs)
    fitted = StateEmbedding(model, activity="mean").fit(epochs)
    np.testing.assert_allclose(
        fitted.activity_, fitted.model_.transform(peaks.signals).mean(axis=0)
    )
    assert StateEmbedding(model, activity="largest").fit(epochs).activity_ == "largest"
    np.testing.assert_array_equal(
        StateEmbedding(model, activity=0.25).fit(epochs).activity_, [0.25] * 3
    )
    for wrong in ("most", 0.0, 1.5):
        with pytest.raises(ValueError, match="activity must be"):
            StateEmbedding(model, activity=wrong).fit(epochs)


def test_channels_may_come_in_another_order_but_must_all_be_there(epochs):
    embedding = StateEmbedding(KMeans(3, n_init=1, random_state=0)).fit(epochs)
    states = embedding.transform(epochs)
    shuffled = epochs.copy().reorder_channels(epochs.ch_names[::-1])
    np.testing.assert_array_equal(embedding.transform(shuffled).labels, states.labels)
    with pytest.raises(ValueError, match=r"lacks the channels \['Cz'\]"):
        embedding.transform(epochs.copy().drop_channels(["Cz"]))
    bad = epochs.copy()
    bad.info["bads"] = ["Cz"]
    with pytest.raises(ValueError, match=r"\['Cz'\] are marked bad.*interpolate"):
        embedding.transform(bad)
    with pytest.raises(ValueError, match=r"160 samples a second.*has 80"):
        embedding.transform(epochs.copy().resample(80))


def test_a_model_fitted_before_is_adopted(epochs, tmp_path):
    table = gfp_peaks(epochs).to_pandas()
    assert list(table.columns) == epochs.ch_names
    model = GraphDictLog(3, max_iter=15, random_state=0).fit(table)
    assert model.node_names == epochs.ch_names
    model.save(tmp_path / "states.graphdict")
    read = load_model(tmp_path / "states.graphdict")
    shuffled = epochs.copy().reorder_channels(epochs.ch_names[::-1])
    embedding = StateEmbedding(read).adopt(shuffled)
    assert embedding.model_ is read
    fitted = StateEmbedding(clone(model)).fit(epochs)
    np.testing.assert_allclose(
        embedding.transform(epochs).coefficients, fitted.transform(epochs).coefficients, atol=1e-6
    )


def test_models_that_cannot_serve_are_named():
    with pytest.raises(TypeError, match="object has no states of samples"):
        model_coefficients(object(), np.zeros((3, 4)))


def test_flat_signals_have_no_peaks():
    with pytest.raises(ValueError, match="no peaks"):
        StateEmbedding(KMeans(2), sfreq=100).fit(np.zeros((2, 4, 50)))
