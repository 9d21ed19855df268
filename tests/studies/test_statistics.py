"""Statistics of activations against plain loops and against pycrostates."""

from itertools import groupby, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdict.results import InstantaneousGraphs, Recordings
from graphdict.studies import activation_statistics

SFREQ = 50.0


def random_labels(lengths, states, seed):
    """Labels in runs of a few samples, by recording."""
    rng = np.random.default_rng(seed)
    return [
        np.repeat(rng.integers(0, states, length), rng.integers(1, 9, length))[:length]
        for length in lengths
    ]


def by_loops(labels, states):
    """Occupancy, occurrences, lifetime, interval, switching and transitions of one recording."""
    runs = [(state, len(list(group))) for state, group in groupby(labels.tolist())]
    seconds = len(labels) / SFREQ
    table = np.full((4, states), np.nan)
    for k in range(states):
        lengths = [length for state, length in runs if state == k]
        where = [i for i, (state, _) in enumerate(runs) if state == k]
        gaps = [sum(length for _, length in runs[a + 1 : b]) for a, b in pairwise(where)]
        table[:2, k] = sum(lengths) / len(labels), len(lengths) / seconds
        if lengths:
            table[2, k] = np.mean(lengths) / SFREQ
        if gaps:
            table[3, k] = np.mean(gaps) / SFREQ
    moves = np.zeros((states, states))
    for (before, _), (after, _) in pairwise(runs):
        moves[before, after] += 1
    sums = moves.sum(axis=1, keepdims=True)
    return table, (len(runs) - 1) / seconds, moves / np.where(sums > 0, sums, 1)


@given(
    seed=st.integers(0, 10_000),
    states=st.integers(1, 5),
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=4),
)
def test_statistics_agree_with_plain_loops(seed, states, lengths):
    labels = random_labels(lengths, states, seed)
    found = activation_statistics([np.eye(states)[row] for row in labels], SFREQ)
    for r, row in enumerate(labels):
        table, rate, moves = by_loops(row, states)
        names = "occupancy", "occurrences", "lifetime", "interval"
        for name, values in zip(names, table, strict=True):
            np.testing.assert_allclose(found.measures[name][r], values, err_msg=name)
        np.testing.assert_allclose(found.switching_rate[r], rate)
        np.testing.assert_allclose(found.transitions[r], moves)


def test_recordings_are_what_they_are_alone():
    """Nothing is counted across the end of a recording, whatever stands beside it."""
    rows = [np.eye(3)[row] for row in random_labels([40, 25, 60], 3, 0)]
    together = activation_statistics(rows, SFREQ)
    for r, alone in enumerate(activation_statistics([row], SFREQ) for row in rows):
        for name, values in alone.measures.items():
            np.testing.assert_allclose(together.measures[name][r], values[0])
        np.testing.assert_allclose(together.transitions[r], alone.transitions[0])
        np.testing.assert_allclose(together.expected_transitions[r], alone.expected_transitions[0])
        assert together.switching_rate[r] == alone.switching_rate[0]


def test_statistics_agree_with_pycrostates():
    mne = pytest.importorskip("mne")
    segmentation = pytest.importorskip("pycrostates.segmentation")
    labels = random_labels([400], 4, 1)[0]
    info = mne.create_info(3, SFREQ, "eeg")
    signals = np.random.default_rng(0).standard_normal((3, 400))
    raw = mne.io.RawArray(signals, info, verbose="error")
    segments = segmentation.RawSegmentation(
        labels=labels, inst=raw, cluster_centers_=np.eye(4, 3),
        cluster_names=list("0123"),
    )  # fmt: skip
    theirs = segments.compute_parameters()
    found = activation_statistics([np.eye(4)[labels]], SFREQ)
    for k in range(4):
        assert theirs[f"{k}_timecov"] == pytest.approx(found.measures["occupancy"][0, k])
        assert theirs[f"{k}_occurrences"] == pytest.approx(found.measures["occurrences"][0, k])
        assert theirs[f"{k}_meandurs"] == pytest.approx(found.measures["lifetime"][0, k])
    observed = segments.compute_transition_matrix(ignore_repetitions=True)
    np.testing.assert_allclose(found.transitions[0], observed)
    expected = segments.compute_expected_transition_matrix(ignore_repetitions=True)
    np.testing.assert_allclose(found.expected_transitions[0], expected, atol=1e-12)


def test_atoms_may_be_active_together():
    rows = np.array([[0.9, 0.8], [0.9, 0.2], [0.1, 0.9], [0.7, 0.9]])
    found = activation_statistics([rows], activity=0.5)
    np.testing.assert_allclose(found.measures["occupancy"], [[0.75, 0.75]])
    np.testing.assert_allclose(found.measures["occurrences"], [[2 / 4, 2 / 4]])
    np.testing.assert_allclose(found.switching_rate, [3 / 4])


def test_an_atom_that_never_occurs_has_no_lifetime():
    found = activation_statistics([np.eye(2)[[0, 0, 0]], np.eye(2)[[0, 1, 0]]])
    assert found.measures["occupancy"][0, 1] == 0
    assert np.isnan(found.measures["lifetime"][0, 1])
    assert np.isnan(found.measures["interval"][0]).all()
    assert found.measures["interval"][1, 0] == 1


def test_the_table_is_tidy():
    rows = {"ann": np.eye(2)[[0, 0, 1]], "bob": np.eye(2)[[1, 0, 1]]}
    table = activation_statistics(rows, SFREQ, atom_names=["x", "y"]).to_pandas()
    assert list(table.columns) == ["recording", "atom", "to", "measure", "value"]
    assert not table.duplicated(["recording", "atom", "to", "measure"]).any()
    chosen = table[(table.measure == "occupancy") & (table.atom == "x")]
    assert dict(zip(chosen.recording, chosen.value)) == pytest.approx({"ann": 2 / 3, "bob": 1 / 3})
    move = table[(table.measure == "transition") & (table.atom == "x") & (table.to == "y")]
    assert move.value.tolist() == [1, 1]


def test_models_and_graphs_bring_their_recordings():
    coefficients = np.eye(2)[[0, 0, 0, 1, 0]]
    layout = Recordings(("a", "b"), (3, 2), (2,))  # something is left out within a
    fitted = SimpleNamespace(coefficients_=coefficients, recordings_=layout)
    for source in (fitted, InstantaneousGraphs(coefficients, np.ones((2, 3)), recordings=layout)):
        found = activation_statistics(source)
        assert found.recordings == ["a", "b"]
        np.testing.assert_allclose(found.measures["occurrences"][:, 0], [2 / 3, 1 / 2])


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ([], {}, "at least one recording"),
        ([np.eye(2), np.eye(3)], {}, "recording 1 must have the shape"),
        ([np.eye(2)], {"names": ["a", "b"]}, "names has 2 entries"),
        ([np.eye(2), np.eye(2)], {"names": ["a", "a"]}, "called 'a'"),
        ([np.eye(2)], {"sfreq": 0}, "sfreq must be positive"),
        ([np.eye(2)], {"atom_names": ["a"]}, "atom_names has 1 entries"),
        ([np.eye(2)], {"activity": "most"}, "activity must be"),
    ],
)
def test_errors_name_what_is_wrong(given, options, said):
    with pytest.raises(ValueError, match=said):
        activation_statistics(given, **options)
