"""Files larger than the memory setting: the same signals and remarks, read a slice at a time."""

import pickle

import numpy as np
import pytest
import sklearn

from graphdict.app.commands.preprocessing import subsample
from graphdict.app.files import chunked_readers, out_of_core
from graphdict.app.files.lazy_signals import LazySignals, summarise_columns
from graphdict.files import InputError, read_signals

ROWS = 500
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("graphdict.engine.signals.BLOCK_BYTES", 4000)
    monkeypatch.setattr(chunked_readers, "BATCH", 33)
    monkeypatch.setattr(out_of_core, "HEAD", 90)
    with sklearn.config_context(working_memory=0.001):
        yield


@pytest.fixture
def values():
    return np.random.default_rng(0).standard_normal((ROWS, 4))


def write(path, columns, group=97):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path, row_group_size=group)
    return path


def as_parquet(folder, values, **more):
    return write(folder / "x.parquet", {**more, **dict(zip(NAMES, values.T))})


def as_npy(folder, values):
    np.save(folder / "x.npy", values)
    return folder / "x.npy"


def as_zarr(folder, values):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(
        folder / "x.zarr", shape=values.shape, dtype=values.dtype, chunks=(70, 4)
    )
    array[:] = values
    return folder / "x.zarr"


INDICES = {
    "some rows": (
        lambda rng: np.sort(rng.permutation(900)[:ROWS]),
        "row numbers in column 'index'",
    ),
    "shuffled": (lambda rng: rng.permutation(ROWS), "row labels in column 'index'"),
    "dates": (lambda rng: np.datetime64("2024") + np.arange(ROWS), "time is column 'index'"),
    "seconds": (lambda rng: np.arange(ROWS) / 8, "time is column 'index'"),
}


@pytest.mark.parametrize("case", INDICES)
def test_an_index_of_pandas_is_no_node(tmp_path, values, case):
    make, words = INDICES[case]
    index = make(np.random.default_rng(1))
    pd = pytest.importorskip("pandas")
    pd.DataFrame(values, index, NAMES).to_parquet(tmp_path / "x.parquet")
    signals = assert_same(tmp_path / "x.parquet")
    assert signals.names == NAMES
    assert any(words in note for note in signals.notes)
    levels = {"__index_level_0__": np.arange(ROWS), "__index_level_1__": np.arange(ROWS) % 7}
    write(tmp_path / "y.parquet", {"index": values[:, 0], **levels, "b": values[:, 1]})
    assert assert_same(tmp_path / "y.parquet").names == ["index", "b"]


def test_a_column_of_numbers_called_index_is_a_node_whatever_its_values(tmp_path, values):
    values = values.copy()
    values[:, 0] = np.random.default_rng(0).permutation(ROWS)
    columns = dict(zip(["index", "gold", "oil"], values.T, strict=False))
    write(tmp_path / "x.parquet", columns)
    assert assert_same(tmp_path / "x.parquet").names == list(columns)


def test_columns_that_repeat_another_are_told(tmp_path, values):
    values[3:9, 0] = np.nan
    values[:, 2], values[:, 3] = values[:, 0], values[::-1, 1]
    signals = assert_same(as_npy(tmp_path, values))
    words = "1 column(s) repeat another, to which their edges will be far stronger than any other: "
    assert any(note.startswith(words + "'x2', the same as 'x0'") for note in signals.notes)


def assert_same(path, **options):
    """Notes, names, times and values, in parts and as a whole; gives those in parts."""
    there, here = read_signals(path, in_parts=True, **options), read_signals(path, **options)
    assert isinstance(there.values, LazySignals)
    assert isinstance(here.values, np.ndarray)
    assert sorted(n for n in there.notes if "working_memory" not in n) == sorted(here.notes)
    for name in ("names", "time_name", "time_unit", "units", "step"):
        assert getattr(there, name) == getattr(here, name)
    np.testing.assert_array_equal(np.asarray(there.values), here.values)
    np.testing.assert_array_equal(there.values[100:130], here.values[100:130])
    np.testing.assert_array_equal(there.values[90:450], here.values[90:450])
    if here.times is not None:
        np.testing.assert_array_equal(there.times, here.times)
    found, wanted = summarise_columns(there.values), summarise_columns(here.values)
    for name in ("missing", "mean", "spread", "least", "greatest"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12)
    return there


@pytest.mark.parametrize("kind", [as_parquet, as_npy, as_zarr], ids=lambda kind: kind.__name__)
def test_every_kind_of_file(tmp_path, values, kind):
    assert_same(kind(tmp_path, values))


@pytest.mark.parametrize("kind", [as_parquet, as_npy, as_zarr], ids=lambda kind: kind.__name__)
def test_single_precision_stays(tmp_path, values, kind):
    path = kind(tmp_path, values.astype(np.float32))
    found = assert_same(path)
    assert found.values.dtype == np.float32
    there = pickle.loads(pickle.dumps(found.values))
    np.testing.assert_array_equal(there[7:60], found.values[7:60])


def test_times_units_text_and_chosen_columns(tmp_path, values):
    times = np.datetime64("2024-03-01", "s") + np.arange(ROWS) * np.timedelta64(5, "m")
    labels = np.array(["x", "y"] * (ROWS // 2))
    path = as_parquet(tmp_path, values, when=times, label=labels, **{"e (kV)": values[:, 0] ** 2})
    found = assert_same(path, ignore=("b",))
    assert found.time_name == "when"
    assert found.units == {"e (kV)": "kV"}
    assert_same(path, columns=("d", "a"))
    assert_same(path, columns=("d", "a"), no_time=True)
    with pytest.raises(InputError, match="no column 'nowhere'"):
        read_signals(path, columns=("nowhere", "a"), in_parts=True)


def test_text_in_the_middle_of_numbers_is_located(tmp_path, values):
    cells = np.array([f"{v:.3f}" for v in values[:, 0]], dtype=object)
    path = as_parquet(tmp_path, values, text=cells)
    assert_same(path)
    cells[301] = "broken"
    path = as_parquet(tmp_path, values, text=cells)
    with pytest.raises(InputError, match=r"column 'text' has text in rows .*\(ignore=\['text'\]\)"):
        read_signals(path, in_parts=True, columns=("text", "a"))


def test_gaps_infinities_codes_and_blank_rows(tmp_path, values):
    values[values > 2] = np.nan
    values[200:207] = np.nan
    values[333, 1] = -9999
    values[444, 1] = values[21, 2] = 99999
    times = np.arange(ROWS) / 10
    times[11] = np.nan
    found = assert_same(as_parquet(tmp_path, values, time=times, empty=np.full(ROWS, np.nan)))
    assert len(found.values) == ROWS - 8
    values[100, 3] = np.inf
    found = read_signals(as_parquet(tmp_path, values), in_parts=True)
    assert "1 infinite value(s), read as missing" in found.notes
    assert np.isnan(found.values[100:101]).sum() == 1 + np.isnan(values[100]).sum()


def test_rows_of_one_file_reach_past_groups_and_back(tmp_path, values):
    found = read_signals(as_parquet(tmp_path, values), in_parts=True).values
    for start, stop in [(0, 5), (400, 410), (3, 300), (299, 302), (499, 500), (250, 250)]:
        np.testing.assert_array_equal(found[start:stop], values[start:stop])


def test_few_rows_are_held_while_a_file_is_read(tmp_path, values):
    path = write(tmp_path / "x.parquet", dict(zip(NAMES, values.T)), ROWS)
    found = read_signals(path, in_parts=True).values
    for rows in range(0, ROWS - 10, 10):
        np.testing.assert_array_equal(found[rows : rows + 10], values[rows : rows + 10])
        assert sum(len(block) for _, block in found.source._held) <= 2 * 33


def test_a_sample_of_it_has_rows_from_all_over(tmp_path, values):
    some = subsample(read_signals(as_npy(tmp_path, values), in_parts=True).values)
    assert (some[0] == values[0]).all()
    assert (some[-1] == values[400:]).all(axis=1).any()


def test_what_needs_the_whole_is_refused(tmp_path, values):
    long = {"time": np.repeat(np.arange(ROWS), 4), "node": np.tile(NAMES, ROWS),
            "value": values.ravel()}  # fmt: skip
    with pytest.raises(InputError, match=r"long table.*raise scikit-learn's working_memory"):
        read_signals(write(tmp_path / "long.parquet", long), in_parts=True)
    times = np.arange(ROWS, dtype=float)
    times[[30, 31]] = times[[31, 30]]
    path = as_parquet(tmp_path, values, time=times)
    with pytest.raises(InputError, match="out of order: row 32"):
        read_signals(path, in_parts=True)
    with pytest.raises(InputError, match="too large for sort=True"):
        read_signals(path, in_parts=True, sort=True)


def test_rows_that_are_nodes(tmp_path, values):
    found = read_signals(as_npy(tmp_path, values.T), transpose=True, in_parts=True)
    assert isinstance(found.values, LazySignals)
    np.testing.assert_array_equal(np.asarray(found.values), values)
    found = read_signals(as_zarr(tmp_path, values.T), transpose=True, in_parts=True)
    np.testing.assert_array_equal(np.asarray(found.values), values)
