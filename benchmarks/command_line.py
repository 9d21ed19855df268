"""What `graphdict fit` keeps in memory of a Parquet file that is larger than --memory.

    python benchmarks/command_line.py [--samples 3000000] [--nodes 32] [--memory 200MB]

Makes the file, with a column of times and float32 signals, runs the command in a process of its
own, and prints its CPU seconds and the largest resident memory over its life.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import make_signals
from pyarrow import parquet

ROWS = 500_000


def make_file(path: Path, samples: int, nodes: int) -> None:
    """Made and written some rows at a time."""
    names = [f"n{i}" for i in range(nodes)]
    schema = pa.schema([("time (s)", pa.float64()), *((name, pa.float32()) for name in names)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, samples, ROWS):
            count = min(ROWS, samples - start)
            signals = make_signals(count, nodes, 5, 0, "float32")
            columns = {"time (s)": np.arange(start, start + count) / 256.0}
            writer.write_table(pa.table(columns | dict(zip(names, signals.T)), schema=schema))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=3_000_000)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--memory", default="200MB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        make_file(path, options.samples, options.nodes)
        print(f"{options.samples:,} x {options.nodes} float32: {path.stat().st_size / 1e9:.2f} GB")
        command = ["fit", path.name, "-k", "5", "--model", "log", "--memory", options.memory,
                   "--max-iter", "2", "--set", "n_init=1", "--table", "parquet", "-q"]  # fmt: skip
        subprocess.run(
            [sys.executable, "-m", "graphdict.app.cli", *command], cwd=folder, check=True
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"graphdict {' '.join(command)}")
        print(f"{used.ru_utime:.0f} s of CPU, at most {used.ru_maxrss / (1 << 20):.2f} GB resident")


if __name__ == "__main__":
    main()
