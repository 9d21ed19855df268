"""Without its extras graphdict learns graphs, and says which one is missing for what else."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphdict
from graphdict.app.__main__ import main
from graphdict.app.files.excel import read_excel
from graphdict.app.files.parquet import read_parquet
from graphdict.eeg.bids import read_bids_file
from graphdict.eeg.extra import require_mne
from graphdict.engine.connection import connect
from graphdict.exceptions import MissingExtraError, import_extra
from graphdict.related import GromovWassersteinDictionary
from graphdict.results import InstantaneousGraphs

GRAPHS = InstantaneousGraphs(np.eye(2), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("networkx", "tables", GRAPHS.to_networkx),
        ("pandas", "tables", GRAPHS.to_pandas),
        ("matplotlib", "plot", lambda: graphdict.viz.plot_atoms),
        ("mne", "eeg", require_mne),
    ],
)
def test_a_missing_extra_is_named(monkeypatch, package, extra, call):
    call()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'{package}.*"graphdict\[{extra}\]"'):
        call()


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("openpyxl", "tables", lambda: read_excel(Path("signals.xlsx"))),
        ("pyarrow", "tables", lambda: read_parquet(Path("signals.parquet"))),
        ("mne_bids", "bids", lambda: read_bids_file(Path("sub-01_eeg.edf"))),
        ("distributed", "dask", lambda: connect("tcp://127.0.0.1:9")),
        ("ot.gromov", "ot", lambda: GromovWassersteinDictionary(1).fit([np.ones((3, 3))])),
    ],
)
def test_a_missing_extra_is_named_before_anything_is_read(monkeypatch, package, extra, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'pip install \S+, or .*"graphdict\[{extra}\]"'):
        call()


def test_a_package_that_lacks_something_itself_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "click.core", None)
    monkeypatch.delitem(sys.modules, "click", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"click\.core"):
        import_extra("click", "the command line", "cli")


def test_the_command_line_without_click(monkeypatch):
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit, match=r'click.*"graphdict\[cli\]"'):
        main()


def test_fit_and_report_need_the_core_alone(tmp_path):
    program = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {"click", "matplotlib", "mne", "networkx", "pandas", "pyarrow", "dask"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from graphdict import GraphDictLog
from graphdict.datasets import make_superposition
from graphdict.viz.report import write_report
data = make_superposition(n_atoms=2, n_nodes=5, superposition=1, random_state=0, n_train=50)
model = GraphDictLog(2, max_iter=5, tol=1.0, random_state=0).fit(data.train.signals)
write_report(model, sys.argv[1], source="signals")
"""
    page = tmp_path / "report.html"
    done = subprocess.run([sys.executable, "-c", program, page], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "d3" in page.read_text(encoding="utf-8")
