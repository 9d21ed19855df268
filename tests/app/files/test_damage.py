"""Damaged and hostile files are refused in one line, before they do harm."""

import base64
import gzip
import io
import json
import math
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from graphdict.app.files import archives
from graphdict.files import InputError, read_signals

VALUES = np.random.default_rng(0).standard_normal((40, 3))


class Harm:
    """Makes a folder where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def harmful(tmp_path):
    return base64.b64encode(pickle.dumps(Harm(tmp_path / "harm"))).decode()


V2 = {"zarr_format": 2, "shape": [4, 3], "chunks": [4, 3], "fill_value": None, "order": "C",
      "dtype": "<f8", "compressor": None, "filters": None}  # fmt: skip
V3 = {"zarr_format": 3, "node_type": "array", "shape": [4, 3], "data_type": "float64",
      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 3]}},
      "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
      "attributes": {"dtype": "anything"}}  # fmt: skip
SHARDS = {"name": "sharding_indexed", "configuration": {
    "chunk_shape": [4, 3], "codecs": [{"name": "numcodecs.pickle"}],
    "index_codecs": [{"name": "bytes"}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        (".zarray", {"dtype": "|O", "filters": [{"id": "pickle"}]}, "not plain numbers"),
        (".zarray", {"filters": [{"id": "pickle"}]}, "codec 'pickle'"),
        (".zarray", {"compressor": {"id": "json2"}}, "codec 'json2'"),
        (".zarray", {"dtype": [["a", "|O"]]}, "not plain numbers"),
        ("zarr.json", {"data_type": "variable_length_utf8"}, "not plain numbers"),
        ("zarr.json", {"codecs": [{"name": "numcodecs.pickle"}]}, "codec 'pickle'"),
        ("zarr.json", {"codecs": [SHARDS]}, "codec 'pickle'"),
        ("zarr.json", {"shape": [10**11, 3]}, "on disk"),
    ],
)
def test_zarr_arrays_that_are_no_plain_numbers_are_not_decoded(tmp_path, file, changes, message):
    pytest.importorskip("zarr")
    folder = tmp_path / "array.zarr"
    folder.mkdir()
    content = (V2 if file == ".zarray" else V3) | {"fill_value": harmful(tmp_path)} | changes
    if "shape" in changes:
        content["fill_value"] = 0
    (folder / file).write_text(json.dumps(content))
    chunk = pickle.dumps([Harm(tmp_path / "harm")])
    (folder / "0.0").write_bytes(chunk)
    with pytest.raises(InputError, match=message):
        read_signals(folder)
    assert not (tmp_path / "harm").exists()


def test_codecs_in_the_metadata_of_a_whole_group_are_checked(tmp_path):
    pytest.importorskip("zarr")
    folder = tmp_path / "group.zarr"
    (folder / "x").mkdir(parents=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    (folder / "x" / ".zarray").write_text(json.dumps(V2))
    hidden = {"metadata": {"x/.zarray": V2 | {"filters": [{"id": "pickle"}]}}}
    (folder / ".zmetadata").write_text(json.dumps(hidden))
    with pytest.raises(InputError, match="codec 'pickle'"):
        read_signals(folder)


def test_archives_that_unpack_to_absurd_sizes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "ALWAYS", 1 << 16)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 400_000))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (100_000, 2)}
    )
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(1_600_000))
    for name in ("bomb.csv.gz", "bomb.npz"):
        with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
            read_signals(tmp_path / name)


@pytest.mark.filterwarnings("error")  # nothing but the one line of the error is said
@pytest.mark.parametrize("shape", [(10**12, 8), (2**62, 2**62), (2**31, 2**31, 2**31)])
def test_absurd_shapes_are_refused(tmp_path, shape):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    (tmp_path / "a.npy").write_bytes(header.getvalue() + bytes(800))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(800))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(InputError, match=f"needs {8 * math.prod(shape):,} bytes and has 800"):
            read_signals(tmp_path / name)


def test_too_many_columns_are_refused_and_may_be_samples(tmp_path, monkeypatch):
    monkeypatch.setattr("graphdict.app.files.reading.MOST_NODES", 30)
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in VALUES.T))
    with pytest.raises(InputError, match=r"40 columns.*transpose=True"):
        read_signals(path)
    assert read_signals(path, transpose=True, no_time=True).values.shape == (40, 3)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (np.array([["a", "b"]] * 3), "not numbers"),
        (np.array([[0, 0], [np.nan, 1], [1, 1]]), "node 'x1' is at"),
    ],
)
def test_positions_that_are_none(tmp_path, positions, message):
    np.savez(tmp_path / "a.npz", x=VALUES, positions=positions)
    with pytest.raises(InputError, match=message):
        read_signals(tmp_path / "a.npz")


def test_positions_follow_their_columns(tmp_path):
    points = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", x=VALUES, positions=points)
    signals = read_signals(tmp_path / "a.npz", ignore=("x1",))
    np.testing.assert_array_equal(signals.positions, points[[0, 2]])
    np.savez(tmp_path / "b.npz", x=VALUES, positions=points[:2])
    signals = read_signals(tmp_path / "b.npz")
    assert signals.positions is None
    assert any("positions were left out" in note for note in signals.notes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n{"a": 2}\n'), "is a JSON file"),
        ("a.json", b'[{"a": 1}]', "is a JSON file"),
        ("a.npy.gz", gzip.compress(b"\x93NUMPY"), "compressed npy file; unpack it first"),
        ("a.csv.gz", gzip.compress(b"a,b\n" * 99)[:20], "is damaged"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd" + bytes(9), "compressed by zstd"),
    ],
    ids=["lines of JSON", "JSON", "NPY", "cut off", "zstd"],
)
def test_what_hides_behind_compression_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_signals(tmp_path / name)


def tag(kind, content=b"", following=0):
    return struct.pack(">iIii", kind, 3, len(content), following) + content


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (tag(100, bytes(20)) + tag(101, b"\xff" * 4) + tag(104, bytes(4), 36), "leads back"),
        (tag(100, bytes(20)) + struct.pack(">iIii", 101, 3, 10**9, 0), "1,000,000,000 bytes"),
        (tag(100, bytes(20)) + tag(115, b"\0\0\0\2") + tag(118, b"a_raw.fif"), "back to itself"),
    ],
)
def test_recordings_that_lead_in_circles(tmp_path, tags, message):
    pytest.importorskip("mne")
    (tmp_path / "a_raw.fif").write_bytes(tags)
    with pytest.raises(InputError, match=message):
        read_signals(tmp_path / "a_raw.fif")
