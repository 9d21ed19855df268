"""Temporary files of processes that were killed: the next one to write removes them."""

import os
import subprocess
import sys

import pytest

from graphdict.engine.storage.atomic import atomic_file, remove_orphans, temporary_prefix

WRITER = """
import sys, time
from graphdict.engine.storage.atomic import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    time.sleep(100)
"""


@pytest.mark.skipif(os.name != "posix", reason="processes can be asked for on POSIX only")
def test_what_a_killed_process_left_is_removed_and_what_others_write_is_not(tmp_path):
    path = tmp_path / "name[1].ck"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == b"begun\n"
        assert len(list(tmp_path.iterdir())) == 2
        writers[0].kill()
        writers[0].wait()
        with atomic_file(path) as file:
            file.write(b"whole")
        assert path.read_bytes() == b"whole"
        assert len(list(tmp_path.iterdir())) == 2  # that of the process that still writes
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
    remove_orphans(tmp_path, path.name)
    assert list(tmp_path.iterdir()) == [path]


def test_only_names_of_ours_are_removed(tmp_path):
    ours = temporary_prefix("a").replace(str(os.getpid()), "999999999")
    for name in (".a.txt", ".a.other-999999999-x", f"{ours}x", f".b{ours[2:]}x", "a"):
        (tmp_path / name).write_text("")
    (tmp_path / f"{ours}folder").mkdir()
    (tmp_path / f"{ours}folder" / "file").write_text("")
    remove_orphans(tmp_path, "a")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".a.txt", ".a.other-999999999-x", f".b{ours[2:]}x", "a"}
