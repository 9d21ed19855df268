"""Loaders of measured signals, on files made here and, where they are, on the real ones."""

import gzip
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from graphdict.datasets import (
    DatasetNotFoundError,
    load_brittany_weather,
    load_eyes,
    load_flight_delays,
    load_fmri_rest,
    load_netsim,
    load_sp500,
    load_us_income,
    load_us_temperature,
)
from graphdict.datasets.measured import nearest_neighbours

SHARED = Path(__file__).resolve().parents[2] / "shared" / "real"
REAL = Path(os.environ.get("GRAPHDICT_DATA", SHARED))


def test_temperature_has_a_map_and_seasons(tmp_path):
    x = np.random.default_rng(0).normal(size=(800, 6))
    places = np.column_stack([np.arange(6.0), np.zeros(6)])
    names = np.array([f"state {i}" for i in range(6)], dtype=object)
    file = {"data_2d_state": x, "center_vector": places, "state_list": names}
    savemat(tmp_path / "us_temperature.mat", file)
    found = load_us_temperature(tmp_path)
    np.testing.assert_allclose(found.signals, np.diff(x, axis=0))
    assert found.names == list(names)
    assert found.states[[0, 200]].tolist() == ["winter", "summer"]
    assert load_us_temperature(tmp_path, changes=False).signals.shape == (800, 6)


def test_neighbours_are_joined_if_either_is_among_the_nearest_of_the_other():
    places = np.array([[0.0, 0], [1, 0], [2.1, 0], [10, 0]])
    joined = nearest_neighbours(places, count=1)
    pairs = list(zip(*(i[joined] for i in np.triu_indices(4, 1))))
    assert pairs == [(0, 1), (1, 2), (2, 3)]


def test_both_forms_of_netsim_agree(tmp_path):
    rng = np.random.default_rng(1)
    net = np.triu(rng.random((4, 4)) < 0.5, 1).astype(float)
    x = rng.normal(size=(3, 20, 4))
    savemat(tmp_path / "sim1.mat", {"ts": x.reshape(60, 4), "net": np.stack([net] * 3)})
    np.save(tmp_path / "sim5.npy", x.swapaxes(1, 2)[..., None])
    np.savetxt(tmp_path / "sim5_struct.csv", net.T[~np.eye(4, dtype=bool)])
    for first, second in zip(load_netsim(tmp_path), load_netsim(tmp_path, simulation=5)):
        np.testing.assert_allclose(first.signals, second.signals)
        np.testing.assert_array_equal(first.edges, net[np.triu_indices(4, 1)] != 0)
        np.testing.assert_array_equal(first.edges, second.edges)


def test_returns_are_percent_and_know_recessions(tmp_path):
    text = "Date,A,B\n2008-12-30,100,50\n2008-12-31,101,50\n2012-01-03,101,25\n"
    folder = tmp_path / "skfolio" / "datasets" / "data"  # as in an unpacked package
    folder.mkdir(parents=True)
    (folder / "sp500_dataset.csv.gz").write_bytes(gzip.compress(text.encode()))
    found = load_sp500(tmp_path)
    np.testing.assert_allclose(found.signals, [[1, 0], [0, -50]])
    assert found.states.tolist() == ["recession", "growth"]


def test_incomes_grow_and_borders_are_edges(tmp_path):
    (tmp_path / "usjoin.csv").write_text(
        '"Name","STATE_FIPS",1929,1930\n"A",1,100,200\n"B",2,100,100\n"C",3,100,50\n'
    )
    (tmp_path / "states48.gal").write_text("3\n0 1\n1\n1 1\n0\n2 0\n\n")
    found = load_us_income(tmp_path)
    np.testing.assert_allclose(found.signals, 100 * np.log([[2, 1, 0.5]]))
    assert found.edges.tolist() == [True, False, False]


def test_delays_are_means_by_part_of_the_day(tmp_path):
    rows = "month,day,hour,arr_delay,dest\n1,1,6,10,AAA\n1,1,7,20,AAA\n1,2,18,4,AAA\n1,1,6,NA,BBB\n"
    rows += "12,31,20,7,BBB\n"
    with zipfile.ZipFile(tmp_path / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", rows)
    (tmp_path / "airports.csv").write_text("faa,lat,lon\nAAA,1,2\nBBB,3,4\n")
    found = load_flight_delays(tmp_path, n_airports=2)
    assert found.names == ["AAA", "BBB"]
    assert found.signals.shape == (1095, 2)
    assert found.signals[0, 0] == 15
    assert found.signals[5, 0] == 4
    np.testing.assert_allclose(found.places, [[2, 1], [4, 3]])


def test_regions_of_both_hemispheres_are_pairs(tmp_path):
    lines = ["WM,Vent,Brain,LA,LB,RA,RB", "1,2,3,4,5,6,7", "1,2,3,5,6,7,8"]
    (tmp_path / "fmri_timeseries.csv").write_text("\n".join(lines))
    found = load_fmri_rest(tmp_path)
    assert found.signals.tolist() == [[4, 5, 6, 7], [5, 6, 7, 8]]
    assert found.edges.tolist() == [False, True, False, False, True, False]


def test_an_absent_set_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHDICT_DATA", raising=False)
    with pytest.raises(
        DatasetNotFoundError, match=r"us_temperature.mat .*no folder.*GRAPHDICT_DATA"
    ):
        load_us_temperature()
    with pytest.raises(DatasetNotFoundError, match="install the package skfolio") as raised:
        load_sp500(tmp_path)
    assert str(tmp_path) in str(raised.value)


def test_the_variable_names_the_folder(tmp_path, monkeypatch):
    (tmp_path / "fmri_timeseries.csv").write_text("WM,Vent,Brain,LA,RA\n1,2,3,4,5\n")
    monkeypatch.setenv("GRAPHDICT_DATA", str(tmp_path))
    assert load_fmri_rest().names == ["LA", "RA"]


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no data in {REAL}; GRAPHDICT_DATA says where")
def test_the_files_as_they_are():
    temperature = load_us_temperature(REAL, changes=False)
    assert temperature.signals.shape == (5844, 45)
    months = temperature.times.astype("datetime64[M]").astype(int) % 12
    means = [temperature.signals[months == month].mean() for month in range(12)]
    assert np.argmin(means) == 0  # January, as the dates that the file lacks would have it
    assert np.argmax(means) == 6
    weather = load_brittany_weather(REAL)
    assert weather.signals.shape == (743, 37)
    assert weather.edges.shape == (37 * 36 // 2,)
    with pytest.raises(ValueError, match=r"variable must be one of .*'rain'"):
        load_brittany_weather(REAL, variable="snow")
    assert len(load_netsim(REAL, simulation=2)) == 50


def test_eyes_are_open_and_then_closed():
    pytest.importorskip("mne", reason="mne is not installed: the extra eeg brings it")
    if not (REAL / "eyes").is_dir():
        pytest.skip(f"no recordings in {REAL}/eyes; GRAPHDICT_DATA says where")
    found = load_eyes(1, REAL, download=False)
    assert found.signals.shape == (9760, 64)
    assert found.states[[0, -1]].tolist() == ["open", "closed"]
    front, back = found.names.index("Fpz"), found.names.index("Oz")
    assert found.places[front, 1] > 0 > found.places[back, 1]
