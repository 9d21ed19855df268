"""Arrays and one JSON text in a zip archive that is exactly right, or refused.

    manifest.json        text
    <part>/<name>.npy    NumPy arrays of plain numbers; <part>/<name>/<key>.npy for groups
    SHA256SUMS           digest of every other member, as ``sha256sum -c`` reads it

Nothing is compressed, so no member can be larger than the file; every array's size is compared with
its member's before memory is asked for; and no member's name becomes the name of a file.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
MAX_MEMBERS = 1000
MAX_TEXT = 1 << 22
CHUNK = 1 << 20
KINDS = "biuf"  # plain numbers

NAME = re.compile(r"(?:[a-z]+/[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)?\.npy)")
HEADER = re.compile(
    r"\{'descr': '([<>|][biuf][1-8])', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,15}, ?)*(?:\d{1,15})?)\), \} *\n"
)
SUM = re.compile(r"([0-9a-f]{64})  (\S{1,300})")


def write_archive(file: IO[bytes], manifest: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write to an open file; the same content gives the same bytes."""
    text = json.dumps(manifest, indent=1).encode()
    if len(text) > MAX_TEXT or len(arrays) + 2 > MAX_MEMBERS:
        raise ValueError(
            f"a model file holds at most {MAX_TEXT} bytes of names and settings and {MAX_MEMBERS} "
            f"members, not {len(text)} and {len(arrays) + 2}"
        )
    with zipfile.ZipFile(file, "w") as archive:
        sums = [f"{_put_text(archive, MANIFEST, text)}  {MANIFEST}"]
        for name, array in arrays.items():
            sums.append(f"{_put_array(archive, f'{name}.npy', np.asarray(array))}  {name}.npy")
        _put_text(archive, SUMS, ("\n".join(sums) + "\n").encode())


def read_archive(
    file: IO[bytes], accept: Callable[[dict[str, Any]], None]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], bool]:
    """Return the manifest, the arrays by name without ``.npy``, whether digests vouch for both.

    ``accept`` sees the manifest before anything else is judged, and raises where it is of another
    kind or version. Anything that is not as it should be raises an error, of whatever class the
    libraries below have for it.
    """
    size = _check_end(file)
    with zipfile.ZipFile(file) as archive:
        members = _members(archive)
        digests: dict[str, str] = {}
        text = _read_text(archive, members, MANIFEST, digests)
        manifest = json.loads(text, object_pairs_hook=_no_repeats)
        if not isinstance(manifest, dict):
            raise ValueError(f"{MANIFEST} is not a JSON object")
        accept(manifest)
        _check_members(members, size)
        vouched = SUMS in members
        promised = _read_sums(_read_text(archive, members, SUMS, {})) if vouched else {}
        if vouched and promised.get(MANIFEST) != digests[MANIFEST]:
            raise ValueError(f"the content of {MANIFEST} is not what {SUMS} says it should be")
        arrays = {}
        for name, member in members.items():
            if name not in (MANIFEST, SUMS):
                array, digests[name] = _read_array(archive, member)
                arrays[name.removesuffix(".npy")] = array
    if vouched and promised != digests:
        wrong = sorted(set(promised.items()) ^ set(digests.items()))[0][0]
        raise ValueError(f"the content of {wrong} is not what {SUMS} says it should be")
    return manifest, arrays, vouched


def _put_text(archive: zipfile.ZipFile, name: str, text: bytes) -> str:
    archive.writestr(_info(name, len(text)), text)
    return hashlib.sha256(text).hexdigest()


def _put_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> str:
    """Write an array row by row, so that a memory map never is in memory as a whole."""
    if array.dtype.kind not in KINDS or array.itemsize > 8:
        raise ValueError(f"{name} holds values of type {array.dtype}; only plain numbers are saved")
    header = io.BytesIO()
    described = np.lib.format.header_data_from_array_1_0(np.empty((0,), array.dtype))
    described.update(shape=array.shape, fortran_order=False)
    np.lib.format.write_array_header_1_0(header, described)
    digest = hashlib.sha256(header.getvalue())
    info = _info(name, len(header.getvalue()) + array.nbytes)
    with archive.open(info, "w") as member:
        member.write(header.getvalue())
        rows = max(1, CHUNK // max(1, array.nbytes // max(1, len(array)))) if array.ndim else 1
        for start in range(0, len(array), rows) if array.ndim else (0,):
            part = array[start : start + rows] if array.ndim else array
            data = np.ascontiguousarray(part).tobytes()
            digest.update(data)
            member.write(data)
    return digest.hexdigest()


def _info(name: str, size: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980: files of the same model are the same
    info.file_size = size
    info.external_attr = 0o644 << 16
    return info


def _check_end(file: IO[bytes]) -> int:
    """Return the size of the file; refuse a long directory before it is read."""
    size = file.seek(0, io.SEEK_END)
    if not size:
        raise ValueError("it is empty")
    file.seek(max(0, size - 98))
    tail = file.read(98)
    end = tail[-22:]
    if len(end) < 22 or end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise ValueError("it does not end as a zip archive does; it may have been cut off")
    counts, sizes = [struct.unpack("<H", end[10:12])[0]], [struct.unpack("<L", end[12:16])[0]]
    if tail[-42:-38] == b"PK\x06\x07" and len(tail) == 98:  # sizes beyond 32 bits stand before
        counts += struct.unpack("<2Q", tail[24:40])
        sizes += struct.unpack("<Q", tail[40:48])
    if max(counts) > MAX_MEMBERS or max(sizes) > 1000 * MAX_MEMBERS:
        raise ValueError(f"it has more than {MAX_MEMBERS} members")
    return size


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if info.orig_filename in members:
            raise ValueError(f"it has two members of the name {info.orig_filename[:80]!r}")
        members[info.orig_filename] = info
    if MANIFEST not in members:
        raise ValueError(f"it has no {MANIFEST}")
    return members


def _check_members(members: Mapping[str, zipfile.ZipInfo], size: int) -> None:
    """Raise unless each is plainly stored, of a name of ours, and all are within the ``size``."""
    for name, info in members.items():
        if name not in (MANIFEST, SUMS) and not NAME.fullmatch(name):
            raise ValueError(f"it has an unexpected member {name[:80]!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ValueError(f"{name} is compressed, which members of model files are not")
    if sum(info.file_size for info in members.values()) > size:
        raise ValueError("its members claim to be larger than the file")


def _read_text(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str, digests: dict
) -> str:
    info = members[name]
    if info.file_size > MAX_TEXT or info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed or has more than {MAX_TEXT} bytes")
    content = archive.read(info)
    digests[name] = hashlib.sha256(content).hexdigest()
    return content.decode()


def _read_sums(text: str) -> dict[str, str]:
    found = [SUM.fullmatch(line) for line in text.splitlines()]
    if not all(found):
        raise ValueError(f"{SUMS} is not a list of digests")
    return {match[2]: match[1] for match in found if match}


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[NDArray[Any], str]:
    """Return an array and the digest of its member; refuse it before memory is taken for it."""
    with archive.open(info) as member:
        start = member.read(10)
        if len(start) < 10 or start[:8] != b"\x93NUMPY\x01\x00":
            raise ValueError(f"{info.filename} is not a NumPy array of format 1.0")
        text = member.read(struct.unpack("<H", start[8:])[0])
        found = HEADER.fullmatch(text.decode("latin1"))
        if found is None:
            raise ValueError(f"{info.filename} is not an array of plain numbers")
        dtype = np.dtype(found[1])
        shape = tuple(int(part) for part in found[3].replace(",", " ").split())
        count = 1
        for length in shape:
            count *= length
        if len(shape) > 4 or 10 + len(text) + count * dtype.itemsize != info.file_size:
            raise ValueError(
                f"{info.filename} says it is {dtype} of shape {shape}, which does not fit its "
                f"{info.file_size} bytes"
            )
        digest = hashlib.sha256(start + text)
        array = np.empty(count, dtype)
        buffer = array.view(np.uint8)
        position = 0
        while position < len(buffer):
            part = member.read(min(CHUNK, len(buffer) - position))
            if not part:
                raise ValueError(f"{info.filename} ends too early")
            buffer[position : position + len(part)] = np.frombuffer(part, np.uint8)
            digest.update(part)
            position += len(part)
        member.read(1)  # at the end the archive compares its own checksum
    shaped = array.reshape(shape, order="F" if found[2] == "True" else "C")
    # Numbers of another byte order are turned into this machine's.
    return shaped.astype(dtype.newbyteorder("="), copy=False), digest.hexdigest()


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"{MANIFEST} names something twice")
    return found
