"""From coefficients to MNE and back, and epochs into features inside pipelines."""

import datetime

import mne
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from graphdict import GraphDictLog
from graphdict.datasets import make_eeg
from graphdict.eeg import StateEmbedding, StateFeatures, States, preprocess

KMEANS = KMeans(3, n_init=1, random_state=0)


@pytest.fixture
def dated(raw):
    """A Raw that begins later than its measurement, with a hole."""
    raw = raw.copy().set_meas_date(datetime.datetime(2021, 3, 4, tzinfo=datetime.UTC)).crop(2.0, 30)
    raw.annotations.append(raw.first_time + 1.0, 0.5, "BAD_x")
    return raw


def test_a_raw_goes_there_and_back(dated):
    states = StateEmbedding(KMEANS).fit_transform(dated)
    twin = states.to_mne()
    assert twin.get_channel_types() == ["misc"] * 3
    np.testing.assert_array_equal(twin.times, dated.times)
    assert twin.first_samp == dated.first_samp
    assert twin.info["meas_date"] == dated.info["meas_date"]
    assert twin.annotations == dated.annotations
    np.testing.assert_array_equal(twin.get_data().T, states.coefficients)
    assert np.isnan(twin.get_data()).any()
    back = States.from_mne(twin)
    np.testing.assert_array_equal(back.coefficients, states.coefficients)
    np.testing.assert_array_equal(back.segments, states.segments)
    np.testing.assert_array_equal(back.feature_array(), states.feature_array())


@pytest.mark.parametrize("with_date", [False, True])
def test_annotations_of_a_raw_say_its_labels(dated, with_date):
    if not with_date:
        dated = dated.copy().set_meas_date(None)
    states = StateEmbedding(KMEANS).fit_transform(dated)
    noted = dated.copy().set_annotations(states.annotations())
    found = np.full(noted.n_times, -1)
    for note in noted.annotations:
        start = round((note["onset"] - noted.first_time) * 160)
        stop = start + round(note["duration"] * 160)
        found[start:stop] = int(note["description"].split()[1]) - 1
    np.testing.assert_array_equal(found, states.labels)
    together = dated.annotations + states.annotations()
    assert len(together) == len(dated.annotations) + len(states.annotations())


def test_epochs_go_there_and_back(epochs):
    pandas = pytest.importorskip("pandas")
    epochs = epochs.copy()
    epochs.metadata = pandas.DataFrame({"trial": range(len(epochs))})
    epochs = epochs[[0, 2, 3, 7]]
    states = StateEmbedding(KMEANS).fit_transform(epochs)
    twin = states.to_mne()
    np.testing.assert_array_equal(twin.times, epochs.times)
    np.testing.assert_array_equal(twin.events, epochs.events)
    np.testing.assert_array_equal(twin.selection, epochs.selection)
    assert twin.event_id == epochs.event_id
    assert twin.metadata.equals(epochs.metadata)
    np.testing.assert_array_equal(np.moveaxis(twin.get_data(copy=False), 1, 2), states.by_event())
    assert len(twin["left"]) == len(epochs["left"])  # selected as epochs are
    back = States.from_mne(twin)
    np.testing.assert_array_equal(back.feature_array(), states.feature_array())
    assert twin.average(picks="misc").data.shape == (3, len(epochs.times))


def test_annotations_of_epochs_are_in_the_time_of_the_recording(epochs):
    states = StateEmbedding(KMEANS).fit_transform(epochs)
    notes = states.annotations()
    assert len(notes) == states.feature_array(("count",)).sum()
    first = next(note["onset"] for note in notes if note["onset"] >= epochs.events[3, 0] / 160)
    assert first == pytest.approx(epochs.events[3, 0] / 160)


def test_decimated_epochs_keep_the_time_of_the_recording(epochs):
    slow = epochs.copy().decimate(2)
    states = StateEmbedding(KMEANS).fit_transform(slow)
    onsets = np.array([note["onset"] for note in states.annotations()])
    for sample in epochs.events[:, 0]:
        assert np.isclose(onsets, sample / 160).any()
    twin = states.to_mne()
    assert twin.info["sfreq"] == 80
    np.testing.assert_allclose(twin.times, slow.times)


def test_states_cut_from_a_raw_become_epochs(dated, simulated):
    states = StateEmbedding(KMEANS).fit_transform(dated)
    events = simulated.events[(simulated.events[:, 0] > 400) & (simulated.events[:, 0] < 4000)]
    cut = states.epochs(events, -0.5, 2.0, {"left": 1, "right": 2}).to_mne()
    direct = mne.Epochs(
        states.to_mne(), events, {"left": 1, "right": 2}, -0.5, 2.0, baseline=None, preload=True,
        reject_by_annotation=False, picks="misc",
    )  # fmt: skip
    np.testing.assert_array_equal(cut.get_data(copy=False), direct.get_data(copy=False))
    np.testing.assert_allclose(cut.times, direct.times)


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="Raw or Epochs"):
        States.from_mne(np.zeros(3))
    states = States.from_labels([0, 1, 1], 100.0)
    assert states.to_mne().n_times == 3  # without any recording
    assert "2 states" in repr(states)


# In pipelines --------------------------------------------------------------------------------


def test_features_of_epochs_and_of_arrays_agree(epochs):
    by_epochs = StateFeatures(KMEANS).fit(epochs)
    table = by_epochs.transform(epochs)
    assert table.shape == (len(epochs), 9)
    names = by_epochs.get_feature_names_out()
    assert names[:3].tolist() == ["state1_occurrences", "state1_coverage", "state1_mean_duration"]
    assert len(names) == 9
    array = StateFeatures(KMEANS, sfreq=160.0)
    np.testing.assert_allclose(array.fit_transform(epochs.get_data(copy=False)), table)
    assert by_epochs.transform(epochs[:0]).shape == (0, 9)
    one_by_one = [epochs[i] for i in range(len(epochs))]
    np.testing.assert_allclose(by_epochs.transform(one_by_one), table)
    np.testing.assert_allclose(
        table[:, names == "state2_coverage"][:, 0],
        by_epochs.embedding_.transform(epochs).feature_array(("coverage",))[:, 1, 0],
    )


def test_the_transformer_is_a_scikit_learn_one(epochs):
    transformer = StateFeatures(KMEANS, sfreq=160.0, features=("coverage",), normalise="gfp")
    parameters = clone(transformer).get_params()
    assert parameters["features"] == ("coverage",)
    assert parameters["model__n_clusters"] == 3
    assert "StateFeatures" in repr(transformer)
    transformer.set_params(model__n_clusters=2).set_output(transform="pandas")
    table = transformer.fit_transform(epochs.get_data(copy=False))
    assert list(table.columns) == ["state1_coverage", "state2_coverage"]
    assert KMEANS.n_clusters == 3 or not hasattr(KMEANS, "cluster_centers_")
    transformer.set_params(model__n_clusters=3)


def test_it_can_be_cross_validated_and_tuned():
    simulated = make_eeg(
        24, n_states=3, effect=3.0, trial_seconds=2, rest_seconds=1, random_state=1
    )
    raw = preprocess(simulated.data)
    epochs = mne.Epochs(raw, simulated.events, tmin=0, tmax=1.9, baseline=None, preload=True)
    forest = RandomForestClassifier(20, random_state=0)
    model = KMeans(6, n_init=1, random_state=0)
    pipeline = make_pipeline(StateFeatures(model, sfreq=160.0, normalise="gfp"), forest)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    data = epochs.get_data(copy=False)
    scores = cross_val_score(pipeline, data, simulated.labels, cv=folds, scoring="roc_auc")
    assert scores.mean() > 0.8
    by_epochs = cross_val_score(pipeline, epochs, simulated.labels, cv=folds, scoring="roc_auc")
    np.testing.assert_allclose(by_epochs, scores)
    search = GridSearchCV(pipeline, {"statefeatures__model__n_clusters": [2, 6]}, cv=2)
    assert search.fit(data, simulated.labels).best_score_ > 0.6


def test_soft_coefficients_give_features_too(epochs):
    model = GraphDictLog(2, max_iter=40, random_state=0)
    names = ("coverage", "mean_coefficient")
    table = StateFeatures(model, features=names, activity=0.5).fit_transform(epochs)
    states = StateEmbedding(model, activity=0.5).fit_transform(epochs)
    np.testing.assert_allclose(table[:, 1::2], np.nanmean(states.by_event(), axis=1), rtol=1e-6)
    np.testing.assert_allclose(table[:, ::2], (states.by_event() >= 0.5).mean(axis=1))


def test_wrong_input_of_the_transformer(epochs):
    with pytest.raises(ValueError, match="features must be names among"):
        StateFeatures(KMEANS, features=("speed",)).fit(epochs)
    with pytest.raises(TypeError, match="got list"):
        StateFeatures(KMEANS).fit([])
    with pytest.raises(TypeError, match="got RawArray"):
        StateFeatures(KMEANS).fit(mne.io.RawArray(np.zeros((2, 9)), mne.create_info(2, 100.0)))
    fitted = StateFeatures(KMEANS, sfreq=160.0).fit(epochs.get_data(copy=False))
    with pytest.raises(ValueError, match=r"64 channels.*has 60"):
        fitted.transform(epochs.get_data(copy=False)[:, :60])
