"""Settings chosen by leaving whole recordings out, and atoms of halves of the recordings."""

import numpy as np
import pytest
from sklearn.base import clone

from graphdict import GraphDictMarginal
from graphdict.datasets import erdos_renyi, sample_lgmrf
from graphdict.results import Recordings
from graphdict.selection import choose_n_atoms, evidence, reproducibility, stability
from graphdict.selection.folds import cut_recordings, cut_study
from graphdict.selection.trials import split_pieces

MODEL = GraphDictMarginal(
    2, max_active=1, prior="markov", filter_power=1, tails="gaussian", n_init=1, random_state=0
)


def recordings(count, atoms, seed):
    rng = np.random.default_rng(seed)
    graphs = erdos_renyi(atoms, 6, 0.5, random_state=seed)
    return [
        sample_lgmrf(graphs[np.repeat(rng.integers(0, atoms, 10), 20)], 1, rng)
        for _ in range(count)
    ]


def test_whole_recordings_are_left_out_with_those_of_their_group():
    parts = [np.random.default_rng(i).standard_normal((30 + i, 4)) for i in range(6)]
    blocks = cut_recordings(parts, ["b", "b", "a", "a", "c", "c"])
    assert [len(piece) for piece in blocks.pieces] == [len(part) for part in parts]
    folds = blocks.folds(5)
    assert folds.tolist() == [1, 1, 0, 0, 2, 2]
    np.testing.assert_allclose(blocks.means(np.arange(6.0)), [2.5, 0.5, 4.5])


@pytest.mark.parametrize("atoms", [1, 2])
def test_the_number_of_atoms_is_found(atoms):
    choice = choose_n_atoms(MODEL, recordings(4, atoms, 1), [1, 2], groups=[0, 0, 1, 2])
    assert choice.value == atoms
    assert len(choice.block_scores[1]) == 3


def test_atoms_of_halves_are_matched():
    parts = recordings(6, 2, 0)
    model = MODEL.fit(np.concatenate(parts))
    found = reproducibility(model, dict(enumerate(parts)), groups=list("aabbcc"), n_splits=2)
    assert found.cosines.shape == (2, 2)
    assert found.again.all()
    np.testing.assert_allclose(np.diagonal(found.matrix), found.cosines.mean(axis=0))
    assert "all atoms come out again" in found.in_words()
    for first, second in found.halves:
        assert sorted([*first, *second]) == list("abc")
    noise = np.random.default_rng(0).standard_normal((4, 60, 6))
    model = MODEL.fit(noise.reshape(-1, 6))
    assert "do not come out again" in reproducibility(model, list(noise), n_splits=1).in_words()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: choose_n_atoms(MODEL, p[:1], [1]), "at least two of different groups"),
        (lambda p: choose_n_atoms(MODEL, p, [1], groups=[1, 1]), "label for each of the 3"),
        (lambda p: choose_n_atoms(MODEL, p, [1], block_length=5), "whole ones are held out"),
        (lambda p: choose_n_atoms(MODEL, p[0], [1], groups=[1]), "X is one array"),
        (lambda p: reproducibility(MODEL.fit(p[0]), p, groups=[1, 1, 1]), "two groups"),
        (lambda p: reproducibility(MODEL.fit(p[0]), p[0]), "a list or a dict"),
    ],
)
def test_what_cannot_be_left_out_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call(recordings(3, 1, 2))


def test_no_block_crosses_the_end_of_a_recording():
    rng = np.random.default_rng(1)
    parts = [rng.standard_normal((rows, 3)) for rows in (200, 90, 42, 3)]
    blocks = cut_study(parts, 4, length=30)
    assert not len(blocks.autoregression)

    def rows_in(piece, part):  # samples are those of a recording but for their loudness
        piece, part = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (piece, part))
        return np.isclose(piece[:, None], part).all(axis=2).any(axis=1)

    sizes = [sum(len(p) for p in blocks.pieces if rows_in(p, part)[0]) for part in parts]
    assert sizes == [200, 88, 40, 0]  # whole windows; three samples are none
    for piece in blocks.pieces:
        assert sum(rows_in(piece, part).all() for part in parts) == 1
    assert isinstance(blocks.signals, list)  # which a fit keeps apart
    assert len(np.unique(blocks.folds(5))) == 5
    whole = cut_study([*parts[:3], *parts[:3]], 4)
    assert [len(piece) for piece in whole.pieces] == [200, 88, 40] * 2


def test_evidence_holds_groups_out_together_and_crosses_no_break():
    parts = recordings(6, 2, 1)
    found = evidence(MODEL, parts, groups=list("aabbcc"), n_surrogates=0)
    assert found.clear
    assert len(found.block_gains) == 3
    with pytest.raises(ValueError, match="cannot be used with groups"):
        evidence(MODEL, parts, groups=list("aabbcc"), block_length=20)
    with pytest.raises(ValueError, match="label for each of the 6 recordings, got 2"):
        evidence(MODEL, parts, groups=[1, 2])
    with pytest.raises(ValueError, match="X is one array"):
        evidence(MODEL, parts[0], groups=[1])
    whole = Recordings(("a", "b"), (len(parts[0]), len(parts[1])), (50, len(parts[0]) + 30))
    pieces, owners = split_pieces(np.concatenate(parts[:2]), whole)
    assert [len(piece) for piece in pieces] == [50, len(parts[0]) - 50, 30, len(parts[1]) - 30]
    np.testing.assert_array_equal(owners, [0, 0, 1, 1])


def test_halves_of_several_recordings_are_those_of_each():
    parts = recordings(3, 2, 1)
    model = clone(MODEL).fit(parts)
    found = stability(model, parts)
    assert found.again.all()
    assert found.coefficients.shape == (2, 2)
    assert found.coefficients.min() > 0.8


@pytest.mark.parametrize("count", [3, 6])
@pytest.mark.parametrize("atoms", [1, 2])
def test_evidence_of_recordings(count, atoms):
    parts = recordings(count, atoms, 1)
    parts[1] = 20 * parts[1][:150]  # loudness is no graph
    model = clone(MODEL).set_params(rescale="recording")
    found = evidence(model, dict(enumerate(parts)), n_surrogates=19)
    assert found.clear == (atoms == 2)
    assert (len(found.block_gains) == 6) == (count == 6)
