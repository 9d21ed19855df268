"""Which columns are signals, which are times, and which are neither."""

import numpy as np
import pytest
from sklearn import config_context

from graphdict.files import InputError, read_signals

RNG = np.random.default_rng(1)
A, B = RNG.standard_normal((2, 96)).round(3)
HOURS = np.datetime64("2013-12-30T00") + np.arange(96) * np.timedelta64(1, "h")


@pytest.fixture
def read(tmp_path):
    def write_and_read(table, **options):
        path = tmp_path / "table.csv"
        rows = [list(table)]
        rows += list(zip(*table.values()))
        path.write_text("\n".join(",".join(map(str, row)) for row in rows))
        return read_signals(path, **options)

    return write_and_read


def told(signals, *words):
    return any(all(word in note for word in words) for note in signals.notes)


def parts(times):
    days = times.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    return {
        "year": months.astype("datetime64[Y]").astype(int) + 1970,
        "month": months.astype(int) % 12 + 1,
        "day": (days - months).astype(int) + 1,
        "hour": (times - days).astype(int),
    }


def test_parts_of_a_date_are_joined_to_one_time(read):
    signals = read({**parts(HOURS), "a": A, "b": B})
    assert signals.names == ["a", "b"]
    np.testing.assert_array_equal(signals.times, HOURS)
    assert told(signals, "joined 'year', 'month', 'day', 'hour'")


def test_parts_of_a_date_beside_a_time_are_left_out(read):
    signals = read({**parts(HOURS), "a": A, "b": B, "time_hour": HOURS})
    assert signals.names == ["a", "b"]
    assert told(signals, "left out", "parts of a date", "'month'")


def test_parts_of_a_date_that_are_asked_for_are_signals(read):
    columns = {**parts(HOURS), "a": A}
    assert read(columns, columns=("hour", "a")).names == ["hour", "a"]
    expected = read(columns, expected=("month", "a"))
    assert expected.names == ["month", "a"]
    assert expected.time_name != "month"


def test_parts_of_a_date_in_files_larger_than_memory(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({**parts(HOURS), "a": A, "b": B, "flag": np.arange(96) % 2})
    frame.to_parquet(tmp_path / "table.parquet")
    with config_context(working_memory=1e-3):
        signals = read_signals(tmp_path / "table.parquet", in_parts=True)
    assert told(signals, "read in chunks")
    assert signals.names == ["a", "b"]
    np.testing.assert_array_equal(signals.times, HOURS)


def test_days_and_hours_are_joined(read):
    signals = read(
        {"date": HOURS.astype("datetime64[D]"), "hr": parts(HOURS)["hour"], "a": A, "b": B}
    )
    np.testing.assert_array_equal(signals.times, HOURS)


@pytest.mark.parametrize(
    ("cells", "first", "second"),
    [
        (["1970 Q1", "1970 Q2"], "1970-01-01", "1970-04-01"),
        (["1991M07", "1991M08"], "1991-07-01", "1991-08-01"),
        (["1991 Jul", "1991 Aug"], "1991-07-01", "1991-08-01"),
        (["Jul-91", "Aug-91"], "1991-07-01", "1991-08-01"),
    ],
)
def test_quarters_and_months_are_times(read, cells, first, second):
    signals = read({"when": cells, "a": A[:2], "b": B[:2]})
    np.testing.assert_array_equal(signals.times, np.array([first, second], dtype="datetime64[us]"))


def test_month_and_day_without_a_year_count_days(read):
    signals = read({"Month": [5, 5, 6], "Day": [30, 31, 1], "a": A[:3], "b": B[:3]})
    np.testing.assert_array_equal(signals.times, [0, 1, 2])
    assert signals.time_unit == "days"


def test_labels_flags_identifiers_and_row_numbers_are_left_out(read):
    shuffled = RNG.permutation(96)
    columns = {
        "": shuffled, "station_id": RNG.integers(100, 105, 96), "class": np.arange(96) % 3, "a": A,
        "alarm": np.arange(96) % 2, "b": B, "c": A + B,
    }  # fmt: skip
    signals = read(columns)
    assert signals.names == ["a", "b", "c"]
    for words in (("row numbers", "''"), ("identifiers", "'station_id'"), ("labels", "'class'"),
                  ("flags", "'alarm'")):  # fmt: skip
        assert told(signals, *words), signals.notes
    assert "alarm" in read(columns, columns=("*",)).names
    assert read(columns, columns=("alarm", "a")).names == ["a", "alarm"]


def test_tables_of_flags_are_signals(read):
    columns = {f"n{i}": RNG.integers(0, 2, 96) for i in range(5)}
    assert read(columns).names == list(columns)


def test_columns_that_only_sound_like_times_are_signals(read):
    signals = read({"hours": RNG.permutation(96) * 17 % 89, "data": A, "b": B})
    assert signals.names == ["hours", "data", "b"]
    assert signals.times is None


def test_a_panel_of_numbered_nodes_is_long(read):
    firm, year = np.repeat([7, 9, 11], 32), np.tile(np.arange(1960, 1992), 3)
    signals = read({"firm": firm, "year": year, "value": A})
    assert signals.names == ["7", "9", "11"]
    np.testing.assert_array_equal(signals.values, A.reshape(3, 32).T)


def test_names_may_be_patterns(read):
    columns = {"t": np.arange(96), "in 1 [K]": A, "in 2 [K]": B, "out": A - B}
    assert read(columns, columns=("in *",)).names == ["in 1 [K]", "in 2 [K]"]
    assert read(columns, columns=("in 1 [K]", "out")).names == ["in 1 [K]", "out"]
    assert read(columns, ignore=("in ?*",), columns=("*",), no_time=True).names == ["t", "out"]


@pytest.mark.parametrize("argument", ["columns", "ignore"])
def test_a_pattern_that_matches_nothing_is_an_error(read, argument):
    with pytest.raises(InputError, match=rf"no column 'x\*', which {argument}=... names"):
        read({"a": A, "b": B}, **{argument: ("x*",)})


def test_times_that_repeat_are_named(read):
    times = HOURS.copy()
    times[5] = times[4]
    signals = read({"time": times, "a": A, "b": B})
    assert told(signals, "1 sample(s)", "first 2013-12-30T04")
    long = read({
        "time": np.repeat(times[:48], 2), "node": ["x", "y"] * 48, "value": A,
    })  # fmt: skip
    assert told(long, "1 time(s)", "first 2013-12-30T04", "mean")


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ("$5.25", 5.25),
        ("-$5.25", -5.25),
        ("\u20ac -5.25", -5.25),
        ("USD 5.25", 5.25),
        ("(5.25)", -5.25),
    ],
)
def test_currencies_and_accounts(read, cells, value):
    signals = read({"a": [cells, "$1", "$2"] if "$" in cells else [cells, cells, "3"], "b": A[:3]})
    assert signals.values[0, 0] == value


def test_numbers_with_letters_are_labels_unless_these_are_units(read):
    signals = read({"seat": [f"{i}{'ABC'[i % 3]}" for i in range(96)], "a": A, "b": B})
    assert signals.names == ["a", "b"]
    assert told(signals, "text", "'seat'")
    odd = [f"{v}" for v in A]
    odd[3] = "4q"
    with pytest.raises(InputError, match="column 'a' has text in line 5: '4q'"):
        read({"a": odd, "b": B})


@pytest.mark.parametrize("blanks", [False, True])
def test_headers_of_two_rows(read, tmp_path, blanks):
    top = ["Price", "Close", "" if blanks else "Close", "Open", "" if blanks else "Open"]
    text = ",".join(top) + "\nTicker,X,Y,X,Y\nDate,,,,\n"
    text += "\n".join(f"2024-01-{i + 1:02d},{A[i]},{B[i]},{A[i + 9]},{B[i + 9]}" for i in range(20))
    (tmp_path / "two.csv").write_text(text)
    signals = read_signals(tmp_path / "two.csv")
    assert signals.names == ["Close X", "Close Y", "Open X", "Open Y"]
    assert signals.time_name == "Date"
    assert told(signals, "two rows")


def test_workbooks(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    frame = pandas.DataFrame({"when": HOURS.astype("datetime64[s]"), "a": A, "b": B})
    path = tmp_path / "book.xlsx"
    with pandas.ExcelWriter(path) as writer:
        frame.to_excel(writer, sheet_name="first", index=False)
        (-frame[["a", "b"]]).to_excel(writer, sheet_name="second", index=False)
    signals = read_signals(path)
    np.testing.assert_array_equal(signals.values, np.column_stack([A, B]))
    np.testing.assert_array_equal(signals.times, HOURS)
    assert told(signals, "sheet 'first'", "'second'")
    np.testing.assert_array_equal(read_signals(path, array="second").values[:, 0], -A)
    with pytest.raises(InputError, match="no sheet 'third'"):
        read_signals(path, array="third")


def test_labels_that_take_turns_are_no_nodes_of_a_long_table(read):
    signals = read({"a": A, "b": B, "label": np.arange(96) % 4})
    assert signals.names == ["a", "b"]
    assert told(signals, "labels", "'label'")


def test_decimal_commas_beside_signs_of_currencies(tmp_path):
    path = tmp_path / "prices.csv"
    rows = [f"{a:.2f} €;{b:.2f} €".replace(".", ",") for a, b in zip(100 + A, 100 + B)]
    path.write_text("\n".join(["a;b", *rows]))
    signals = read_signals(path)
    assert signals.names == ["a", "b"]
    np.testing.assert_allclose(signals.values[:, 0], (100 + A).round(2), atol=0.011)
    assert told(signals, "decimal commas")


def test_gaps_are_counted_as_the_page_counts_them(read):
    from graphdict.core.spacing import spacing

    there = np.ones(96, dtype=bool)
    there[[10, 40, 41, 42]] = False
    signals = read({"time": HOURS[there], "a": A[there], "b": B[there]})
    steps = np.diff(HOURS[there]).astype(float)
    found = spacing(steps)
    assert found.even
    assert (steps > found.gap).sum() == 2
    assert told(signals, "2 gap(s) in time")
