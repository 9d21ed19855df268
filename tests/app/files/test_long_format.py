"""Long tables become wide ones, and say so."""

import numpy as np
import pytest

from graphdict.files import InputError, read_signals

VALUES = np.random.default_rng(2).standard_normal((25, 3)).round(3)
DAYS = [f"2024-03-{t + 1:02d}" for t in range(25)]


def long_text(pairs, header="date,station,temp"):
    return header + "\n" + "\n".join(f"{DAYS[t]},S{n},{VALUES[t, n]}" for t, n in pairs)


def all_pairs(by_node=False):
    if by_node:
        return [(t, n) for n in range(3) for t in range(25)]
    return [(t, n) for t in range(25) for n in range(3)]


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, **options):
        (tmp_path / "long.csv").write_text(text)
        return read_signals(tmp_path / "long.csv", **options)

    return write_and_read


@pytest.mark.parametrize("by_node", [False, True])
def test_a_long_table_is_found_and_turned(read, by_node):
    signals = read(long_text(all_pairs(by_node)))
    np.testing.assert_array_equal(signals.values, VALUES)
    assert signals.names == ["S0", "S1", "S2"]
    np.testing.assert_array_equal(signals.times, np.array(DAYS, dtype="datetime64[us]"))
    assert any("the table is long" in note for note in signals.notes)


def test_rows_in_any_order_with_holes(read):
    pairs = all_pairs()
    np.random.default_rng(0).shuffle(pairs)
    signals = read(long_text(pairs[5:]))
    wanted = VALUES.copy()
    for t, n in pairs[:5]:
        wanted[t, n] = np.nan
    order = [signals.names.index(name) for name in ("S0", "S1", "S2")]
    np.testing.assert_array_equal(signals.values[:, order], wanted)
    assert signals.missing == 5


def test_several_values_of_a_node_at_one_time_are_averaged_and_told(read):
    signals = read(long_text(all_pairs()) + f"\n{DAYS[0]},S1,{VALUES[0, 1] + 2}")
    assert signals.values[0, 1] == pytest.approx(VALUES[0, 1] + 1)
    assert any("mean was taken" in note for note in signals.notes)


def test_several_columns_of_values(read):
    rows = "\n".join(f"{DAYS[t]},S{n},{VALUES[t, n]},{2 * VALUES[t, n]}" for t, n in all_pairs())
    text = "date,station,temp,wind\n" + rows
    assert read(text).names == ["S0 temp", "S1 temp", "S2 temp", "S0 wind", "S1 wind", "S2 wind"]
    np.testing.assert_array_equal(read(text, value="wind").values, 2 * VALUES)


def test_numbers_as_nodes_and_counts_as_times(read):
    rows = "\n".join(f"{t},{n + 7},{VALUES[t, n]}" for t, n in all_pairs())
    signals = read("sample,channel,value\n" + rows, time="sample")
    assert signals.names == ["7", "8", "9"]
    np.testing.assert_array_equal(signals.values, VALUES)


def test_nodes_can_be_named_where_nothing_tells(read):
    rows = "\n".join(f"{t},{n},{VALUES[t, n]}" for t, n in all_pairs())
    signals = read("k,who,v\n" + rows, time="k", node="who", value="v")
    np.testing.assert_array_equal(signals.values, VALUES)


def test_two_columns_that_name_a_node_together(read):
    keys = ["d1,temp", "d1,wind", "d2,temp"]
    rows = "\n".join(f"{DAYS[t]},{keys[n]},{VALUES[t, n]}" for t, n in all_pairs())
    signals = read("date,device,metric,value\n" + rows)
    assert signals.names == ["d1 temp", "d1 wind", "d2 temp"]
    np.testing.assert_array_equal(signals.values, VALUES)


def test_without_a_time_nodes_take_turns(read):
    rows = "\n".join(f"S{n},{VALUES[t, n]}" for t, n in all_pairs(by_node=True))
    np.testing.assert_array_equal(read("sensor,value\n" + rows).values, VALUES)


def test_a_wide_table_with_labels_stays_wide(read):
    rows = "\n".join(f"{DAYS[t]},{'sun' if t % 2 else 'rain'},1.{t},{VALUES[t, 0]},{VALUES[t, 1]}"
                     for t in range(25))  # fmt: skip
    signals = read("date,weather,a,b,c\n" + rows)
    assert signals.names == ["a", "b", "c"]
    assert any("text" in note and "weather" in note for note in signals.notes)


def test_asked_for_a_long_table_that_is_none(read):
    with pytest.raises(InputError, match=r"node=\.\.\."):
        read("a,b\n" + "\n".join(f"{x},{y}" for x, y, _ in VALUES), layout="long")
