"""Damage files of every format: each is read, or refused in one line, within seconds."""

from __future__ import annotations

import atexit
import bz2
import contextlib
import functools
import gzip
import lzma
import random
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
from sklearn import config_context

from graphdict import GraphDictLog
from graphdict.files import InputError, MissingExtraError, read_signals
from graphdict.viz.report import write_report

MOST_SECONDS = 20
VALUES = np.random.default_rng(0).standard_normal((80, 5))
NAMES = [f"n{i}" for i in range(5)]


class TooSlow(BaseException):
    """Raised where a reader does not come back; no reader can catch it by accident."""


def attack(rng: np.random.Generator) -> str:
    """Damage one file and read it; return how it ended, or raise AssertionError at a break.

    One file of ten is whole instead, and its channels have names that no channel should have.
    """
    chance = random.Random(int(rng.integers(2**63)))
    if chance.random() < 0.1:
        return odd_channels(chance)
    original = chance.choice(originals())
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / original.name
        how = damaged_copy(original, path, chance)
        end = outcome(path, in_parts=chance.random() < 0.3)
    assert end in ("read", "refused"), f"{original.name}, {how}: {end}"
    return f"{original.suffix[1:]} {end}"


def odd_channels(rng: random.Random) -> str:
    """Read an EDF or FIF file with odd names, and make a table and a page of a fit to it."""
    names = channel_names(rng, 5)
    kind = rng.choice(["edf", "fif"])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"signals_raw.{kind}"
        if kind == "edf":
            path.write_bytes(edf(VALUES, names))
        else:
            _write_fif(path, names)
        end = outcome(path, in_parts=False)
        assert end in ("read", "refused"), f"{kind} with channels {names}: {end}"
        if end == "refused":
            return f"{kind} names refused"
        page = Path(folder) / "page.html"
        signals = read_signals(path)
        frame = pandas.DataFrame(np.asarray(signals.values), columns=list(signals.names))
        model = GraphDictLog(2, max_iter=3, random_state=0).fit(frame)
        model.instantaneous_graphs().to_pandas().to_csv(Path(folder) / "table.csv")
        write_report(model, page)
        text = page.read_text(encoding="utf-8")
    assert "<img src=x" not in text, f"markup of {names} is on the page"
    assert text.count("<script") == text.count("</script>"), f"a script of {names} is on the page"
    return f"{kind} names read"


def channel_names(rng: random.Random, count: int) -> list[str]:
    """Return names that are alike, long, empty, in any script, of control characters or markup."""
    pieces = [
        "", " ", "C3", "C3", "C3-0", "EEG Fp1-LE", "Ü µV", "脳波", "\u202eabc", "\x1b[31mred",
        "a\nb", "a\tb", "\x7f", "\x00x", "</script><script>alert(1)</script>",
        "<img src=x onerror=1>",
        "'; DROP", '"q"', "%s{0}", "../../x", "=1+1", "nan", "-1", "🧠", "é", "\x85", "\ud7ff",
        "EDF Annotations", "STI 014", "MARKER", "x" * 300, "time",
    ]  # fmt: skip
    return [rng.choice(pieces) + rng.choice(["", "", rng.choice(pieces)]) for _ in range(count)]


def _write_fif(path: Path, names: list[str]) -> None:
    """Write a FIF file, in which names are put where others were: its library refuses some."""
    import mne

    places = [f"channel {i:07}" for i in range(len(names))]
    info = mne.create_info(places, 50.0, "eeg")
    mne.io.RawArray(1e-5 * VALUES.T, info, verbose="error").save(path, verbose="error")
    content = path.read_bytes()
    for place, name in zip(places, names, strict=True):
        content = content.replace(place.encode(), name.encode()[: len(place)].ljust(len(place)))
    path.write_bytes(content)


@functools.cache
def originals() -> list[Path]:
    """Return the files to damage, written once for each process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return write_originals(Path(folder.name) / "whole")


def outcome(path: Path, in_parts: bool) -> str:
    """Return "read", "refused", or what went wrong."""
    memory = config_context(working_memory=1e-3 if in_parts else 1024)
    try:
        with time_limit(MOST_SECONDS), memory:
            signals = read_signals(path, in_parts=in_parts)
            values = np.asarray(signals.values)
        if values.ndim != 2 or values.shape[1] != len(signals.names) or np.isinf(values).any():
            return f"wrong: {values.shape} with {len(signals.names)} names"
    except (InputError, MissingExtraError) as error:
        text = str(error)
        return (
            "refused" if "\n" not in text.strip() and len(text) < 1000 else f"long: {text[:300]!r}"
        )
    except TooSlow:
        return f"hangs: more than {MOST_SECONDS} s"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"unexpected: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    return "read"


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow after so many seconds of work, where the platform has such alarms."""

    def ring(*_: object) -> None:
        raise TooSlow

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def write_originals(folder: Path) -> list[Path]:
    """Write one small file of each format whose package is installed; return their paths."""
    folder.mkdir()
    rows = "\n".join(
        f"{i / 10}," + ",".join(f"{v:.5f}" for v in row) for i, row in enumerate(VALUES)
    )
    text = f"time (s),{','.join(NAMES)}\n{rows}\n".encode()
    plain = {
        "table.csv": text, "table.tsv": text.replace(b",", b"\t"),
        "table.txt": text.decode().encode("utf-16"), "table.gz": gzip.compress(text),
        "table.bz2": bz2.compress(text), "table.xz": lzma.compress(text),
    }  # fmt: skip
    for name, content in plain.items():
        (folder / name).write_bytes(content)
    np.save(folder / "array.npy", VALUES)
    names, points = np.array(NAMES), VALUES[:5, :2]
    np.savez(folder / "arrays.npz", x=VALUES, names=names, positions=points, time=np.arange(80.0))
    for write in (_write_tables, _write_zarr, _write_recordings):
        with contextlib.suppress(ImportError):
            write(folder)
    return sorted(folder.iterdir())


def _write_tables(folder: Path) -> None:
    frame = pandas.DataFrame(VALUES, columns=NAMES)
    frame.to_parquet(folder / "table.parquet")
    frame.to_feather(folder / "table.feather")
    frame.to_excel(folder / "table.xlsx", index=False)


def _write_zarr(folder: Path) -> None:
    import zarr

    for version in (2, 3) if int(zarr.__version__.split(".")[0]) >= 3 else (2,):
        path = str(folder / f"array{version}.zarr")
        array = zarr.open(
            path, mode="w", shape=VALUES.shape, chunks=(32, 5), dtype="f8", zarr_format=version
        )
        array[:] = VALUES


def _write_recordings(folder: Path) -> None:
    import mne

    info = mne.create_info(["Fz", "Cz", "Pz", "C3", "C4"], 50.0, "eeg")
    raw = mne.io.RawArray(1e-5 * VALUES.T, info, verbose="error")
    raw.save(folder / "signals_raw.fif", verbose="error")
    (folder / "signals.edf").write_bytes(edf(VALUES))


def edf(values: np.ndarray, names: list[str] | None = None) -> bytes:
    """Return an EDF file with one record of all samples (T, N); names are cut to 16 bytes."""
    rows, nodes = values.shape
    fields = [
        (8, "0"), (80, "X"), (80, "X"), (8, "01.01.20"), (8, "00.00.00"),
        (8, str(256 * (nodes + 1))), (44, ""), (8, "1"), (8, "1"), (4, str(nodes)),
    ]  # fmt: skip
    head = "".join(text.ljust(width) for width, text in fields)
    each = [(16, "C"), (80, ""), (8, "uV"), (8, "-100"), (8, "100"), (8, "-32768"), (8, "32767"),
            (80, ""), (8, str(rows)), (32, "")]  # fmt: skip
    given = names or [f"C{i + 1}" for i in range(nodes)]
    content = head.encode("ascii")
    for width, text in each:
        for name in given:
            content += (name if text == "C" else text).encode()[:width].ljust(width)
    return content + (values * 300).astype("<i2").T.tobytes()


def damaged_copy(original: Path, path: Path, rng: random.Random) -> str:
    """Write a damaged copy of a file or folder; return what was done."""
    if original.is_file():
        content, how = damaged(original.read_bytes(), rng)
        path.write_bytes(content)
        return how
    shutil.copytree(original, path)
    victim = rng.choice(sorted(file for file in path.rglob("*") if file.is_file()))
    content, how = damaged(victim.read_bytes(), rng)
    victim.write_bytes(content)
    return f"{victim.relative_to(path)}: {how}"


def damaged(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return bytes after one to three damages, mostly near the start, and their names."""
    found = bytearray(content)
    done = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        how = rng.choice(
            ["flip", "byte", "digit", "cut", "drop", "double", "insert", "word", "zero"]
        )
        size = len(found)
        if not size:
            break
        at = rng.randrange(min(size, 300) if rng.random() < 0.6 else size)
        length = rng.choice([1, 2, 4, 16, 100])
        if how == "flip":
            found[at] ^= 1 << rng.randrange(8)
        elif how == "byte":
            found[at] = rng.randrange(256)
        elif how == "digit":
            digits = [i for i in range(size) if 48 <= found[i] <= 57][:400]
            if digits:
                found[rng.choice(digits)] = rng.randrange(48, 58)
        elif how == "cut":
            del found[at:]
        elif how == "drop":
            del found[at : at + length]
        elif how == "double":
            found[at:at] = found[at : at + length]
        elif how == "insert":
            words = [
                b"99999999",
                b"\0\0\0\0",
                b"\xff\xff\xff\xff",
                b"nan",
                b",",
                b"\n",
                b'"',
                b"-1",
            ]
            found[at:at] = rng.choice(words)
        elif how == "word":
            found[at : at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", b"\0\0\0\0"])
        else:
            found[at : at + length] = bytes(min(length, size - at))
        done.append(f"{how} at {at}")
    return bytes(found), ", ".join(done)
