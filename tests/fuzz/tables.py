"""Tables that people really have: each goes through ``graphdict fit``, or is refused in one line.

``GRAPHDICT_TABLES`` names a folder of them, such as the CSV files that other packages bring along.
The first cases are the tables as they are, one after the other; later ones are mutilated.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import os
import random
import tempfile
import warnings
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from files import TooSlow, time_limit

from graphdict.app.cli import main
from graphdict.files import read_signals

MOST_SECONDS = 60  # of work
MOST_NODES = 200  # more take longer, and no fault is looked for there
FIT = ("-k", "2", "--active", "1", "--max-iter", "10", "--set", "n_init=1", "--no-evidence")
SURE = ("--max-iter", "10", "--set", "n_init=1")
DONE, WRONG_OPTIONS, REFUSED, NO_PACKAGE = 0, 2, 3, 6


@functools.cache
def tables() -> list[Path]:
    """Return the tables of the folder, in an order that other folders do not change."""
    folder = os.environ.get("GRAPHDICT_TABLES")
    return [] if folder is None else sorted(p for p in Path(folder).iterdir() if p.is_file())


def attack(rng: np.random.Generator) -> str:
    """Fit a table that is mutilated; return how it ended, or raise AssertionError at a break."""
    if not tables():
        return "skipped: GRAPHDICT_TABLES names no folder of tables"
    chance = random.Random(int(rng.integers(2**63)))
    original = chance.choice(tables())
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / original.name
        how = mutilated_copy(original, copy, chance)
        return fitted(copy, f"{original.name}, {how}")


def fitted(path: Path, name: str, options: tuple[str, ...] = FIT) -> str:
    """Fit a table and return how that ended; raise AssertionError for anything but a clear end."""
    with contextlib.suppress(Exception), time_limit(MOST_SECONDS):
        if len(read_signals(path).names) > MOST_NODES:
            return f"left out: more than {MOST_NODES} nodes"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = ["fit", str(path), *options, "-q", "-o", f"{folder}/out"]
        try:
            with time_limit(MOST_SECONDS):
                result = CliRunner().invoke(main, arguments)
        except TooSlow:
            raise AssertionError(f"{name}: more than {MOST_SECONDS} s of work") from None
    if isinstance(result.exception, TooSlow):
        raise AssertionError(f"{name}: more than {MOST_SECONDS} s of work")
    last = result.stderr.strip().splitlines()[-1:] or [""]
    clear = result.exit_code in (DONE, WRONG_OPTIONS, REFUSED, NO_PACKAGE)
    clear = clear and "unexpected" not in last[0]
    assert clear, f"{name}: {result.exit_code}, {last[0]}"
    if result.exit_code == DONE:
        return "fitted"
    assert len(last[0]) < 1000, f"{name}: {last[0][:300]} ..."
    return "refused"


def mutilated_copy(original: Path, path: Path, chance: random.Random) -> str:
    """Write a copy of a table with one or two things done that people do; return which."""
    try:
        rows = list(csv.reader(io.StringIO(original.read_text(encoding="utf-8"))))
    except (ValueError, csv.Error):
        rows = []
    if len(rows) < 3 or len(rows[0]) < 2:
        content = original.read_bytes()
        path.write_bytes(content[: chance.randrange(1, len(content))])
        return "cut"
    rows = rows[:20_000]
    done = []
    for _ in range(chance.choice([1, 1, 2])):
        how = chance.choice(MUTILATIONS)
        rows, done = how(rows, chance) or rows, [*done, how.__name__.strip("_")]
    separator = chance.choice([",", ",", ";", "\t"])
    with path.open("w", newline="", encoding=chance.choice(["utf-8", "utf-8-sig"])) as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return " and ".join(done)


def _no_header(rows, chance):
    return rows[1:]


def _units_in_a_second_row(rows, chance):
    return [rows[0], [chance.choice(["m", "s", "kg", ""]) for _ in rows[0]], *rows[1:]]


def _title_above(rows, chance):
    return [["Table 1. What was measured"], [], *rows]


def _rows_in_any_order(rows, chance):
    rest = rows[1:]
    chance.shuffle(rest)
    return [rows[0], *rest]


def _columns_in_any_order(rows, chance):
    order = list(range(len(rows[0])))
    chance.shuffle(order)
    return [[row[i] if i < len(row) else "" for i in order] for row in rows]


def _a_column_twice(rows, chance):
    place = chance.randrange(len(rows[0]))
    return [[*row, *row[place : place + 1]] for row in rows]


def _rows_twice(rows, chance):
    return [rows[0], *(row for row in rows[1:] for _ in range(2))]


def _holes(rows, chance):
    share = chance.choice([0.02, 0.3, 0.9])
    word = chance.choice(["", "NA", "-", "n/a", "-999"])
    return [rows[0], *([word if chance.random() < share else c for c in r] for r in rows[1:])]


def _few_rows(rows, chance):
    return rows[: chance.choice([1, 2, 3, 6, 20])]


def _few_columns(rows, chance):
    return [row[: chance.choice([1, 2, 3])] for row in rows]


def _currency(rows, chance):
    sign = chance.choice(["$", "€", "%"])
    change = {i for i in range(len(rows[0])) if chance.random() < 0.5}
    return [
        rows[0],
        *([f"{sign}{c}" if i in change and c else c for i, c in enumerate(r)] for r in rows[1:]),
    ]


def _decimal_commas(rows, chance):
    return [rows[0], *([c.replace(".", ",") for c in row] for row in rows[1:])]


def _constant(rows, chance):
    place = chance.randrange(len(rows[0]))
    return [rows[0], *([*r[:place], "1", *r[place + 1 :]] for r in rows[1:])]


def _sums_below(rows, chance):
    return [*rows, ["Total", *("12" for _ in rows[0][1:])]]


def _huge(rows, chance):
    scale = chance.choice(["e300", "e-300", "000000000000"])
    return [rows[0], *([c + scale if c[-1:].isdigit() else c for c in r] for r in rows[1:])]


def _one_outlier(rows, chance):
    row = chance.randrange(1, len(rows))
    return [*rows[:row], [chance.choice(["1e12", "inf", "-1e300"]) for _ in rows[0]], *rows[row:]]


MUTILATIONS = (
    _no_header, _units_in_a_second_row, _title_above, _rows_in_any_order, _columns_in_any_order,
    _a_column_twice, _rows_twice, _holes, _few_rows, _few_columns, _currency, _decimal_commas,
    _constant, _sums_below, _huge, _one_outlier,
)  # fmt: skip


def sweep(options: tuple[str, ...] = FIT, every: int = 1) -> int:
    """Fit every table (or every so manieth) as it is; print breaks and counts."""
    import collections

    tally: collections.Counter[str] = collections.Counter()
    for path in tables()[::every]:
        try:
            end = fitted(path, path.name, options)
        except AssertionError as error:
            print(f"--- {error}", flush=True)
            end = "BROKEN"
        tally[end] += 1
    print(
        f"{sum(tally.values())} tables: " + ", ".join(f"{n} {e}" for e, n in sorted(tally.items()))
    )
    return 1 if tally["BROKEN"] else 0


if __name__ == "__main__":
    import sys

    sure = "--evidence" in sys.argv
    sys.exit(sweep(SURE if sure else FIT, every=25 if sure else 1))
