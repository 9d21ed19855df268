"""The functions of benchmarks/accuracy.py measure what they say, on draws that take seconds."""

import csv
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from graphdict import GraphDictMarginal
from graphdict.datasets import make_superposition
from graphdict.engine.marginal import em
from graphdict.exceptions import SilentNodeWarning

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import accuracy

TINY = {"n_atoms": 2, "n_nodes": 8, "edge_probability": 0.2, "n_train": 120, "n_test": 20}


def test_known_activations_give_the_atoms_that_have_them():
    train = make_superposition(3, 8, 0.6, 2, 1500, 0, random_state=4).train
    usual = em.e_step
    with accuracy.activations_known(train.signals, train.coefficients):
        model = GraphDictMarginal(
            3, max_active=2, n_init=1, filter_power=1, tails="gaussian", random_state=0
        ).fit(train.signals)
    assert em.e_step is usual
    # In the order of the truth, which nothing but the activations tells.
    similar = np.corrcoef(model.atoms_, train.atoms)[:3, 3:]
    assert np.diag(similar).min() > 0.9
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


def test_what_is_tuned_is_the_experiment_of_the_paper():
    setting = {"max_active": 5, "sparsity": 0.0, "alpha_w": 0.2, "n_init": 1, "max_iter": 5}
    assert 0.2 < accuracy.tuned(5, 0, [setting]) < 0.6
    with pytest.raises(RuntimeError, match="s = 5, seed 0"):
        accuracy.tuned(5, 0, [{"max_active": -1}])


def test_silent_nodes_are_put_among_the_others():
    with pytest.warns(SilentNodeWarning, match="2 node"):
        mcc, finite = accuracy.among_silent(TINY, 2, 0)
    assert finite
    assert mcc > 0.3


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.SilentNodeWarning")
def test_rows_are_written_and_other_parts_kept(tmp_path, monkeypatch, capsys):
    part = partial(accuracy.disconnected, cases={"tiny": (TINY, 1)})
    monkeypatch.setitem(accuracy.PARTS, "disconnected", part)
    other = {"part": "atoms", "case": "s = 1", "measure": "right", "shown": "5 of 5", "each": ""}
    accuracy.write_csv(tmp_path / "accuracy.csv", [other | {"draws": 5, "seeds": "7 8"}])
    for seed in ("3", "5"):
        given = ["accuracy.py", "disconnected", "--draws", "2", "--seed", seed]
        monkeypatch.setattr(sys, "argv", [*given, "--output", str(tmp_path)])
        accuracy.main()
    lines = list(csv.DictReader((tmp_path / "accuracy.csv").read_text().splitlines()))
    assert [line["measure"] for line in lines] == ["right", "test MCC", "all finite"]
    assert lines[1]["seeds"] == "5 6"
    each = [float(value) for value in lines[1]["each"].split()]
    assert lines[1]["shown"].startswith(f"{np.mean(each):.3f} ± ")
    text = (tmp_path / "accuracy.md").read_text()
    assert "| s = 1 | 5 of 5 |" in text
    assert f"| tiny | {lines[1]['shown']} | yes |" in text
    assert "seeds 5 6" in capsys.readouterr().out


def test_an_unknown_part_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["accuracy.py", "bonds"])
    with pytest.raises(SystemExit):
        accuracy.main()
    assert "'bonds'; known: bound" in capsys.readouterr().err
