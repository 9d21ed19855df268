"""Tables as people keep them are read for what they are, and what was done is told."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphdict.app.commands.preprocessing import Scaling, drifts
from graphdict.app.files.lazy_signals import summarise_columns
from graphdict.files import InputError, read_signals

ROWS = np.random.default_rng(0).standard_normal((30, 4)).round(4)


def lines(values=ROWS, cut=",", decimal=".", before=None):
    made = []
    for place, row in enumerate(values):
        cells = [f"{value:.4f}".replace(".", decimal) for value in row]
        made.append(cut.join([*([before(place)] if before else []), *cells]))
    return "\n".join(made)


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="table.csv", encoding="utf-8", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return read_signals(path, **options)

    return write_and_read


def told(signals, *words):
    return any(all(word in note for word in words) for note in signals.notes)


STRANGE = {
    "plain": ("a,b,c,d\n" + lines(), None, ()),
    "no header": (lines(), None, ("no header",)),
    "counted header": (",0,1,2,3\n" + lines(before=str), None, ("row numbers",)),
    "semicolons and commas": (
        "Zeit;a;b;c;d\n" + lines(cut=";", decimal=",", before=lambda i: f"{i // 2},{5 * (i % 2)}"),
        np.arange(30) / 2, ("decimal commas",),
    ),
    "tabs": ("t\ta\tb\tc\td\n" + lines(cut="\t", before=str), np.arange(30), ()),
    "a declared delimiter": ("sep=;\na;b;c;d\n" + lines(cut=";"), None, ()),
    "bars": ("a|b|c|d\n" + lines(cut="|"), None, ("bar",)),
    "spaces": ("  a   b c  d\n" + lines(cut="   "), None, ("spaces",)),
    "names of rows without a name": (
        '"a" "b" "c" "d"\n' + lines(cut=" ", before=lambda i: f'"{i + 1}"'), None, ("row numbers",)
    ),
    "windows line ends": (("a,b,c,d\n" + lines()).replace("\n", "\r\n"), None, ()),
    "preamble": ("Logger 5\nserial: 8, rev 2\n\na,b,c,d\n" + lines(), None, ("skipped 2",)),
    "comments": ("# made today\n# a,b,c,d\n" + lines(), None, ("comment",)),
    "units below": ("time,a,b,c,d\nms,mV,K,hPa,-\n" + lines(before=str), np.arange(30), ("units",)),
    "empty columns and rows": (
        "a,b,c,d,,\n" + lines().replace("\n", ",,\n") + ",,\n,,,,,\n,,,,,\n", None,
        ("without any value",),
    ),
    "names of several lines": ('"a\n(V)",b,"c\r\nd",d\n' + lines(), None, ()),
    "blank lines": ("a,b,c,d\n\n" + lines().replace("\n", "\n\n") + "\n\n", None, ()),
    "quoted": ('"a, b","c ""d""","e","f"\n' + lines(), None, ()),
    "a time in ISO": (
        "when,a,b,c,d\n" + lines(before=lambda i: f"2024-01-{i + 1:02d}T12:00:00Z"),
        np.datetime64("2024-01-01T12") + np.arange(30) * np.timedelta64(1, "D"), ("UTC",),
    ),
    "days first": (
        "Datum;a;b;c;d\n" + lines(
            cut=";", before=lambda i: f"{i % 29 + 1}.0{2 + i // 29}.2024 00:30"
        ),
        np.datetime64("2024-02-01T00:30") + np.arange(30) * np.timedelta64(1, "D"), ("day/month",),
    ),
    "months first": (
        "date,a,b,c,d\n" + lines(before=lambda i: f"1/{i + 1}/2024"),
        np.datetime64("2024-01-01") + np.arange(30), ("month/day",),
    ),
    "milliseconds since 1970": (
        "timestamp,a,b,c,d\n" + lines(before=lambda i: str(1_700_000_000_000 + 500 * i)),
        np.datetime64(1_700_000_000_000, "ms") + np.arange(30) * np.timedelta64(500, "ms"),
        ("1970",),
    ),
    "date and time apart": (
        "Date;Time;a;b;c;d;;\n" + "\n".join(
            f"10/03/2004;{i % 24:02d}.30.00;{row};;" for i, row in
            enumerate(lines(ROWS[:20], cut=";", decimal=",").split("\n"))
        ), np.datetime64("2004-03-10T00:30") + np.arange(20) * np.timedelta64(1, "h"), ("joined",),
    ),
    "over midnight": (
        "time,a,b,c,d\n" + lines(before=lambda i: f"{(22 + i // 10) % 24:02d}:{6 * (i % 10):02d}"),
        79200 + 360.0 * np.arange(30), ("midnight",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STRANGE)
def test_strange_tables_are_read_for_what_they_are(read, case):
    text, times, words = STRANGE[case]
    signals = read(text)
    np.testing.assert_array_equal(signals.values, ROWS[: len(signals.values)])
    assert len(signals.values) >= 20
    assert len(signals.names) == 4
    if times is None:
        assert signals.times is None
    else:
        np.testing.assert_array_equal(signals.times, times)
    assert not words or told(signals, *words), signals.notes


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252", "utf-32"])
def test_encodings_are_found(read, encoding):
    signals = read("höhe [m],b,c,d\n" + lines(), encoding=encoding)
    assert signals.names[0] == "höhe [m]"
    assert signals.units == {"höhe [m]": "m"}
    assert signals.notes
    np.testing.assert_array_equal(signals.values, ROWS)


def test_compressed_text_is_read(read):
    signals = read(gzip.compress(("a,b,c,d\n" + lines()).encode()), name="table.csv.gz")
    np.testing.assert_array_equal(signals.values, ROWS)


def test_missing_values_in_all_their_ways(read):
    ways = ["", "NA", "NaN", "null", "-", "n/a", "#N/A", "None", "?", "."]
    rows = lines().split("\n")
    for place, way in enumerate(ways):
        cells = rows[place].split(",")
        cells[2] = way
        rows[place] = ",".join(cells)
    signals = read("a,b,c,d\n" + "\n".join(rows))
    assert np.isnan(signals.values[: len(ways), 2]).all()
    assert signals.missing == len(ways)
    assert told(signals, "10 missing")
    assert told(signals, "10 of 120")


def test_codes_for_missing_values_are_found_and_told(read):
    values = ROWS.copy()
    values[::7, 1] = -9999
    signals = read("a,b,c,d\n" + lines(values))
    assert np.isnan(signals.values[::7, 1]).all()
    assert told(signals, "-9999", "'b'")
    kept = read("a,b,c,d\n" + lines(values), keep_codes=True)
    assert kept.values[0, 1] == -9999
    values[::7, 1] = -77
    assert np.isnan(read("a,b,c,d\n" + lines(values), na=("-77",)).values[::7, 1]).all()


def test_grouped_digits_units_in_cells_and_infinity(read):
    text = "a,b\n" + "\n".join(f'"{1000 * i + 5:,}",{i / 2} kg' for i in range(12)) + "\ninf,3 kg\n"
    signals = read(text)
    np.testing.assert_array_equal(signals.values[:12, 0], 1000 * np.arange(12) + 5)
    np.testing.assert_array_equal(signals.values[:12, 1], np.arange(12) / 2)
    assert signals.units == {"b": "kg"}
    assert np.isnan(signals.values[12, 0])
    assert told(signals, "thousands")
    assert told(signals, "infinite")


def test_columns_can_be_named(read):
    text = "label,clock,a,b,c,d\n" + lines(before=lambda i: f"day {i},{2 * i}")
    signals = read(text, time="clock", columns=("a", "c"))
    assert signals.names == ["a", "c"]
    np.testing.assert_array_equal(signals.times, 2 * np.arange(30))
    assert read(text, ignore=("d", "clock")).names == ["a", "b", "c"]
    assert read(text, no_time=True).names == ["clock", "a", "b", "c", "d"]
    with pytest.raises(InputError, match="no column 'e'"):
        read(text, columns=("e",))


def test_gaps_in_time_and_the_step_are_told(read):
    signals = read("time (ms),a,b,c,d\n" + lines(before=lambda i: str(i + 20 * (i > 9))))
    assert signals.step == pytest.approx(0.001)
    assert signals.time_unit == "ms"
    assert told(signals, "1 gap", "21 ms")


def test_a_rate_gives_times(read):
    signals = read("a,b,c,d\n" + lines(), rate=4)
    np.testing.assert_array_equal(signals.times, np.arange(30) / 4)
    assert signals.step == 0.25


def test_rows_out_of_order_are_sorted_when_asked(read):
    order = np.random.default_rng(1).permutation(30)
    text = "time,a,b,c,d\n" + "\n".join(lines(before=str).split("\n")[i] for i in order)
    np.testing.assert_array_equal(read(text, sort=True).values, ROWS)


def test_constant_columns_are_told(read):
    signals = read("a,b,c,flat\n" + lines(np.column_stack([ROWS[:, :3], np.ones(30)])))
    assert told(signals, "never vary", "'flat'")


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_any_size_of_numbers_has_a_mean_and_a_spread(read, size):
    signals = read("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in ROWS * size))
    found = summarise_columns(signals.values)
    np.testing.assert_allclose(found.mean, ROWS.mean(axis=0) * size)
    np.testing.assert_allclose(found.spread, ROWS.std(axis=0) * size)
    scaled = Scaling.learn(signals, "auto", "none")[0].apply(signals.values)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    assert not drifts(signals.values)


def test_steps_may_be_missing_throughout(read):
    rows = [f"{a},{b},{'' if i % 2 else c}" for i, (a, b, c, _) in enumerate(ROWS)]
    assert not drifts(read("a,b,c\n" + "\n".join(rows)).values)


def test_transposed_tables(read):
    text = "\n".join(f"n{i}," + ",".join(map(str, column)) for i, column in enumerate(ROWS.T))
    signals = read(text, transpose=True)
    np.testing.assert_array_equal(signals.values, ROWS)
    assert signals.names == ["n0", "n1", "n2", "n3"]
    assert told(read("a" + ",b" * 0 + text[2:], no_time=True), "transpose=True")


WRONG = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "is empty"),
    "header only": (b"a,b,c\n", "no rows"),
    "binary": (bytes(range(256)) * 20, "binary"),
    "zeros": (b"a,b\n1,2\n\0\0\0", "binary"),
    "ragged": ("a,b,c,d\n" + lines() + "\n1,2,3\n", "line 32 has 3 value"),
    "too wide": ("a,b,c,d\n1,2,3,4,5\n" + lines(), "line 2 has 5 value"),
    "text": ("a,b,c,d\n" + lines() + "\n1,2,oops,4\n", "column 'c' has text in line 32: 'oops'"),
    "python numbers": ("a,b,c,d\n" + lines() + "\n1,2,1_0,4\n", "column 'c' has text in line 32"),
    "duplicates": ("a,b,a,d\n" + lines(), "2 columns named 'a'"),
    "all constant": ("a,b\n" + "1,2\n" * 9, "0 column.s. that vary"),
    "one column": ("a\n" + "\n".join("31425"), "1 column"),
    "words": ("a,b\nfoo,bar\nbaz,qux\n", "0 column.s. of numbers.*2 hold text, such as 'baz'"),
    "out of order": ("time,a,b,c,d\n" + lines(before=lambda i: str(i % 20)), "line 22 has 0 after"),
    "backwards": ("time,a,b,c,d\n" + lines(before=lambda i: str(50 - i)), "runs backwards"),
    "short header": ("a,b,c\n" + lines(), "header of 3 names"),
    "unclosed quote": ("a,b,c,d\n" + lines() + '\n1,"2,3,4\n1,2,3,4\n', "line 32.*quote"),
    "one row": ("a,b,c\n1,2,3\n", "only one row of values"),
    "mixed units": ("a,b\n" + "1 kg,2\n2 lb,3\n" * 5, "mixes units"),
    "a page": (b"<html><body>1,2</body></html>", "HTML"),
    "JSON": (b'{"a": [1, 2]}', "JSON"),
    "a workbook": (b"PK\x03\x04junk", "archive"),
    "a pickle": (b"\x80\x04\x95", "pickle"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(read, case):
    content, words = WRONG[case]
    with pytest.raises(InputError, match=words) as error:
        read(content)
    assert "\n" not in str(error.value)
    assert "table.csv" in str(error.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_signals(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_signals(tmp_path)


def test_duplicates_can_be_numbered(read):
    signals = read("a,b,a,a\n" + lines(), number_duplicates=True)
    assert signals.names == ["a", "b", "a (2)", "a (3)"]


def test_line_numbers_count_comments_blanks_and_cells_of_several_lines(read):
    text = 'name,a,b\n"x\ny",1,2\n\n# remark\n' + "z,1,3\n" * 3000 + "z,1,bad\n"
    with pytest.raises(InputError, match="line 3006: 'bad'"):
        read(text)


finite = st.floats(-1e6, 1e6, allow_nan=False, width=32).map(float)
letters = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=8
)


@given(
    table=st.integers(2, 5).flatmap(
        lambda width: st.lists(
            st.lists(st.none() | finite, min_size=width, max_size=width), min_size=4, max_size=12
        )
    ),
    names=st.lists(letters, min_size=5, max_size=5, unique_by=lambda name: name.strip().lower()),
    cut=st.sampled_from(",;\t|"),
    decimal=st.sampled_from(".,"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    missing=st.sampled_from(["", "NA", "nan", "-"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_read(
    tmp_path_factory, table, names, cut, decimal, encoding, missing, end
):
    values = np.array([[np.nan if cell is None else cell for cell in row] for row in table])
    assume(cut != decimal)
    assume(all((np.unique(column[~np.isnan(column)]).size > 1) for column in values.T))
    assume(not any(set(column[~np.isnan(column)]) == {0, 1} for column in values.T))  # flags
    names = [f"n{place} {' '.join(name.split())}".strip() for place, name in enumerate(names)]
    names = names[: values.shape[1]]
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=cut, lineterminator=end)
    writer.writerow(names)
    for row in values.tolist():
        cells = [missing if cell != cell else repr(cell).replace(".", decimal) for cell in row]
        writer.writerow(cells)
    path = tmp_path_factory.mktemp("written") / "table.csv"
    path.write_bytes(buffer.getvalue().encode(encoding))
    signals = read_signals(
        path,
        delimiter=cut,
        decimal=decimal,
        header=True,
        no_time=True,
        keep_codes=True,
        layout="wide",
    )
    kept = values[~np.isnan(values).all(axis=1)]
    np.testing.assert_array_equal(signals.values, kept)
    assert signals.names == names


@given(
    values=st.lists(st.lists(finite, min_size=3, max_size=3), min_size=6, max_size=10),
    cut=st.sampled_from([",", ";", "\t", "|", "  "]),
    decimal=st.sampled_from(".,"),
)
def test_the_layout_is_found(tmp_path_factory, values, cut, decimal):
    assume(cut != decimal)
    # Hundreds and tenths leave no doubt about what the signs mean.
    values = np.array(values).round(2) + 0.25
    assume(all(np.unique(column).size > 2 for column in values.T))
    assume(not any((np.diff(column) > 0).all() for column in values.T))
    rows = [cut.join(f"{cell:.3f}".replace(".", decimal) for cell in row) for row in values]
    path = tmp_path_factory.mktemp("found") / "table.txt"
    path.write_text("alpha" + cut + "beta" + cut + "gamma\n" + "\n".join(rows))
    signals = read_signals(path, keep_codes=True)
    np.testing.assert_allclose(signals.values, values, atol=1e-3)
    assert signals.names == ["alpha", "beta", "gamma"]
