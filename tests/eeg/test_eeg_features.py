"""Features against plain loops and against pycrostates, on the very same segmentations."""

from itertools import groupby

import mne
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdict.eeg import FEATURES, States, state_features

SFREQ = 100.0


def smooth_labels(shape, states, seed, unassigned=True):
    """Labels in runs of a few samples, some without a state."""
    rng = np.random.default_rng(seed)
    flat = np.repeat(rng.integers(-1 if unassigned else 0, states, 4000), rng.integers(1, 9, 4000))
    return flat[: np.prod(shape)].reshape(shape)


def naive_features(labels, states):
    """Of one event, from the runs of groupby."""
    runs = [(state, len(list(group))) for state, group in groupby(labels)]
    time = np.sum(labels >= 0) / SFREQ
    out = np.zeros((states, 3))
    for k in range(states):
        lengths = [length for state, length in runs if state == k]
        if lengths:
            out[k] = len(lengths) / time, sum(lengths) / SFREQ / time, np.mean(lengths) / SFREQ
    return out


@given(seed=st.integers(0, 1000), states=st.integers(1, 5), times=st.integers(1, 60))
def test_features_agree_with_plain_loops(seed, states, times):
    labels = smooth_labels((4, times), states, seed)
    expected = np.stack([naive_features(row, states) for row in labels])
    np.testing.assert_allclose(state_features(labels, SFREQ, n_states=states), expected)


@given(seed=st.integers(0, 1000))
def test_mean_duration_is_coverage_over_occurrences(seed):
    coefficients = np.random.default_rng(seed).random((3, 50, 4))
    for activity in ("largest", 0.5, [0.2, 0.4, 0.6, 0.8]):
        occurrences, coverage, duration = np.moveaxis(
            state_features(coefficients, SFREQ, activity=activity), -1, 0
        )
        some = occurrences > 0
        np.testing.assert_allclose(duration[some], coverage[some] / occurrences[some])
        assert not duration[~some].any()


def test_soft_states_may_be_active_together():
    coefficients = np.array([[0.9, 0.6], [0.9, 0.1], [0.2, 0.6], [0.0, 0.0], [0.9, 0.6]])
    names = ("count", "coverage", "mean_duration", "mean_coefficient", "interval")
    table = state_features(coefficients, 1.0, features=names, activity=0.5)
    np.testing.assert_allclose(table[0, 0], [2, 0.6, 1.5, 0.58, 2])
    np.testing.assert_allclose(table[0, 1], [3, 0.6, 1.0, 0.38, 1])
    hard = state_features(coefficients, 1.0, features=names, activity="largest")
    np.testing.assert_allclose(hard[0, 0, :3], [2, 0.75, 1.5])  # a sample without a state is out


def test_runs_end_with_their_epoch():
    ones = np.zeros((3, 10), dtype=int)
    table = state_features(ones, SFREQ, n_states=2, features=("count", "mean_duration"))
    np.testing.assert_allclose(table[:, 0], [[1, 0.1]] * 3)
    assert not table[:, 1].any()
    states = States.from_labels([[0, 0, 1], [0, 1, 1]], SFREQ)
    counts = states.transition_matrix(statistic="count")
    np.testing.assert_array_equal(counts, [[0, 2], [0, 0]])  # not from 1 to 0 between epochs


def test_segments_of_one_event_are_counted_together():
    labels = np.array([0, 0, 0, 0, 1, 1, 0, 0])
    states = States(np.eye(2)[labels], SFREQ, segments=[[0, 2], [2, 6], [6, 8]], event=[0, 0, 0])
    table = states.feature_array(("count", "coverage", "interval"))
    np.testing.assert_allclose(table, [[[3, 0.75, 0], [1, 0.25, 0]]])
    np.testing.assert_array_equal(states.transition_matrix(statistic="count"), [[0, 1], [0, 0]])


def test_names_of_the_other_vocabulary_are_the_same_numbers():
    labels = smooth_labels((3, 80), 3, 0)
    table = dict(
        zip(FEATURES, np.moveaxis(state_features(labels, SFREQ, features=FEATURES), -1, 0))
    )
    np.testing.assert_array_equal(table["occupancy"], table["coverage"])
    np.testing.assert_array_equal(table["lifetime"], table["mean_duration"])
    seconds = (labels >= 0).sum(axis=1, keepdims=True) / SFREQ
    np.testing.assert_allclose(table["occurrences"], table["count"] / seconds)
    with pytest.raises(ValueError, match=r"\['speed'\] are not known"):
        state_features(labels, SFREQ, features=["speed"])


def test_table_has_a_row_for_each_event_and_state():
    states = States.from_labels(smooth_labels((3, 80), 2, 0), SFREQ)
    table = states.features()
    assert list(table.index.names) == ["event", "state"]
    assert table.shape == (6, 3)
    np.testing.assert_allclose(table.loc[(1, "state 2")].to_numpy(), states.feature_array()[1, 1])


def test_edges_can_be_left_out():
    labels = np.array([[0, 0, 1, 1, 0, 1], [1, 1, 1, 1, 1, 1]])
    without = States.from_labels(labels, SFREQ).without_edges()
    assert without.by_event(without.labels).tolist() == [[-1, -1, 1, 1, 0, -1], [-1] * 6]
    np.testing.assert_allclose(without.feature_array(("count",))[..., 0], [[1, 1], [0, 0]])


def test_a_raw_is_cut_around_events():
    labels = smooth_labels((1000,), 3, 0)
    states = States.from_labels(labels, SFREQ)
    events = np.array([[10, 0, 1], [500, 0, 2], [995, 0, 1]])
    cut = states.epochs(events, tmin=-0.05, tmax=0.1, event_id={"a": 1, "b": 2})
    assert cut.n_events == 2
    assert cut.frame.selection.tolist() == [0, 1]
    np.testing.assert_array_equal(cut.by_event(cut.labels), [labels[5:21], labels[495:511]])
    expected = np.stack([naive_features(labels[a : a + 16], 3) for a in (5, 495)])
    np.testing.assert_allclose(cut.feature_array(), expected)
    assert states.epochs(events, 0, 0.1, {"b": 2}).frame.selection.tolist() == [1]
    assert len(states.epochs(events[2:], 0, 1).to_mne()) == 0
    with pytest.raises(ValueError, match="shape"):
        states.epochs([1, 2, 3])
    with pytest.raises(ValueError, match="tmin must not exceed"):
        states.epochs(events, 2, 1)
    with pytest.raises(ValueError, match="only the states of a Raw"):
        cut.epochs(events)
    with pytest.raises(ValueError, match="cut it first"):
        states.by_event()


def test_wrong_states_are_refused():
    with pytest.raises(ValueError, match="between -1 and n_states - 1 = 1"):
        States.from_labels([0, 2], SFREQ, n_states=2)
    with pytest.raises(ValueError, match="whole numbers"):
        States.from_labels([0.5, 1.0], SFREQ)
    with pytest.raises(ValueError, match="sfreq must be positive"):
        States(np.zeros((3, 2)), 0)
    with pytest.raises(ValueError, match=r"\(samples, states\)"):
        States(np.zeros(3), SFREQ)
    with pytest.raises(ValueError, match="'largest' or thresholds"):
        States(np.zeros((3, 2)), SFREQ).feature_array(activity="most")
    with pytest.raises(ValueError, match="statistic"):
        States(np.zeros((3, 2)), SFREQ).transition_matrix(statistic="share")


# Against pycrostates -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def segmentation():
    """The segmentation of pycrostates for labels (T,), on noise of four channels."""
    module = pytest.importorskip("pycrostates.segmentation", reason="pycrostates is not installed")

    def make(labels, states):
        noise = np.random.default_rng(0).standard_normal((4, labels.size)) * 1e-6
        info = mne.create_info(["Fz", "Cz", "Pz", "Oz"], SFREQ, "eeg")
        centres = np.random.default_rng(1).standard_normal((states, 4))
        names = [str(k) for k in range(states)]
        return module.RawSegmentation(labels, mne.io.RawArray(noise, info), centres, names)

    return make


@pytest.mark.parametrize("states", [2, 3, 8])
@pytest.mark.parametrize("unassigned", [False, True])
def test_features_agree_with_pycrostates(segmentation, states, unassigned):
    labels = smooth_labels((5, 300), states, states, unassigned)
    ours = state_features(labels, SFREQ, n_states=states)
    for row, table in zip(labels, ours):
        theirs = segmentation(row, states).compute_parameters()
        for k, values in enumerate(table):
            names = ("occurrences", "timecov", "meandurs")
            np.testing.assert_allclose(values, [theirs[f"{k}_{name}"] for name in names])


@pytest.mark.parametrize("repetitions", [False, True])
@pytest.mark.parametrize("unassigned", [False, True])
def test_transitions_and_entropy_agree_with_pycrostates(segmentation, repetitions, unassigned):
    labels = smooth_labels((900,), 4, 7, unassigned)
    ours, theirs = States.from_labels(labels, SFREQ, 4), segmentation(labels, 4)
    for statistic in ("probability", "count"):
        np.testing.assert_allclose(
            ours.transition_matrix(statistic=statistic, ignore_repetitions=repetitions),
            theirs.compute_transition_matrix(statistic, repetitions),
        )
    np.testing.assert_allclose(
        ours.expected_transition_matrix(ignore_repetitions=repetitions),
        theirs.compute_expected_transition_matrix(ignore_repetitions=repetitions),
    )
    np.testing.assert_allclose(
        ours.entropy(ignore_repetitions=repetitions), theirs.entropy(repetitions)
    )


def test_epochs_agree_with_pycrostates_when_their_edges_are_marked(segmentation):
    """Pycrostates joins epochs; a sample without a state between them keeps them apart."""
    labels = smooth_labels((6, 200), 3, 1)
    apart = np.pad(labels, ((0, 0), (0, 1)), constant_values=-1).ravel()
    ours, theirs = States.from_labels(labels, SFREQ, 3), segmentation(apart, 3)
    np.testing.assert_allclose(ours.transition_matrix(), theirs.compute_transition_matrix())
    parameters = theirs.compute_parameters()
    names = ("occurrences", "timecov", "meandurs")
    expected = [[[parameters[f"{k}_{name}"] for name in names] for k in range(3)]]
    np.testing.assert_allclose(ours.feature_array(pool=True), expected)
    np.testing.assert_allclose(state_features(labels, SFREQ, n_states=3, pool=True), expected)
    assert len(ours.features(pool=True)) == 3


def test_the_earlier_name_of_segments_works_and_warns():
    rows = np.eye(2)[[0, 1, 1, 0]]
    with pytest.warns(FutureWarning, match="stretches of States is now called segments"):
        states = States(rows, SFREQ, stretches=[[0, 2], [2, 4]])
    assert states.segments.tolist() == [[0, 2], [2, 4]]
    with pytest.warns(FutureWarning, match="segments"):
        assert states.stretches is states.segments
