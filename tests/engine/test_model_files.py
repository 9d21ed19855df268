"""Saved models come back the same, and files that are not models are refused."""

import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectral, load_model
from graphdict.exceptions import ModelFileError
from graphdict.terms import L1

X = np.random.default_rng(0).standard_normal((25, 5))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.gd"


@pytest.mark.parametrize("model", [GraphDictLog, GraphDictSpectral, GraphDictExact])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_round_trip(model, dtype, path):
    frame = pd.DataFrame(X.astype(dtype), columns=["Fz", "Cz", "Pz", "näse", "o/2"])
    saved = model(2, alpha_w=0.25, window_size=3, max_iter=20, random_state=4).fit(frame)
    saved.save(path)
    loaded = load_model(path)
    assert type(loaded) is model
    assert loaded.get_params() == saved.get_params()
    assert loaded.node_names == saved.node_names
    fitted = [n for n in vars(saved) if n.endswith("_") and not n.startswith("_")]
    for name in fitted:
        mine, theirs = getattr(saved, name), getattr(loaded, name)
        if isinstance(mine, dict):
            assert mine.keys() == theirs.keys()
            for key in mine:
                assert_array_equal(mine[key], theirs[key])
        else:
            assert_array_equal(mine, theirs)
            assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)
    assert_array_equal(loaded.transform(frame), saved.transform(frame))
    assert loaded.score(frame) == saved.score(frame)
    assert_array_equal(loaded.get_feature_names_out(), saved.get_feature_names_out())
    loaded.fit(frame)


def test_array_settings_and_generators(path):
    atoms = np.random.default_rng(1).uniform(size=(2, 10))
    modes = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    for given in (atoms, atoms.tolist(), pd.DataFrame(atoms)):
        model = GraphDictSpectral(
            2, atoms=given, modes=modes, max_iter=5, random_state=np.random.RandomState(3)
        ).fit(X)
        model.save(path)
        loaded = load_model(str(path))
        assert_array_equal(loaded.atoms, atoms)
        assert_array_equal(loaded.modes, modes)
        assert loaded.random_state is None


def test_callbacks_are_dropped_and_priors_refused(path):
    model = GraphDictLog(2, max_iter=5, callback=lambda p: None).fit(X)
    model.save(path)
    assert load_model(path).callback is None
    before = path.read_bytes()
    model.set_params(atom_priors=[L1(1.0)])
    with pytest.raises(ValueError, match="atom_priors holds Python objects"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_failed_save_leaves_the_old_file(path, monkeypatch):
    model = GraphDictLog(2, max_iter=5).fit(X)
    model.save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_no_pickle_anywhere(path):
    GraphDictLog(2, max_iter=5).fit(X).save(path)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert all(n in ("manifest.json", "SHA256SUMS") or n.endswith(".npy") for n in names)
        for name in names:
            if name.endswith(".npy"):
                with archive.open(name) as file:
                    np.lib.format.read_array(file, allow_pickle=False)


def test_files_that_are_not_models(path):
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="not a graphdict model"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match="not a graphdict model"):
        load_model(path)
    with pytest.raises(FileNotFoundError):
        load_model(path.with_name("missing.gd"))


def test_an_empty_file_is_said_to_be_empty(tmp_path):
    (tmp_path / "model").touch()
    with pytest.raises(ModelFileError, match="it is empty"):
        load_model(tmp_path / "model")
