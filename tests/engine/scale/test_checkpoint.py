"""Checkpoints: whatever ends a fit, the next one ends where it would have."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphdict
from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectral
from graphdict.engine import checkpoint
from graphdict.engine.storage.archive import read_archive, write_archive
from graphdict.exceptions import CheckpointError, InterruptedFitWarning

HERE = Path(__file__).parent
CASES = {
    "mm, several starts": {"model": "GraphDictLog", "n_init": 3, "max_iter": 25, "tol": 0},
    "bipds": {"model": "GraphDictSpectralRelaxed", "solver": "bipds", "max_iter": 200, "tol": 0},
    "shared modes": {"model": "GraphDictSpectral", "n_init": 2, "max_iter": 20, "tol": 0},
    "total variation": {"model": "GraphDictLog", "alpha_diff": 0.5, "max_iter": 150, "n_init": 2},
    "marginal": {"model": "GraphDictMarginal", "n_init": 2, "max_iter": 15, "prior": "markov"},
    "averages": {
        "model": "GraphDictMarginal",
        "n_init": 1,
        "max_iter": 4,
        "average": 12,
        "max_active": 1,
    },
    "filter and tails": {
        "model": "GraphDictMarginal", "n_atoms": 2, "max_active": 1, "filter_power": 2,
        "n_init": 1, "max_iter": 12, "tol": 0,
    },
    "exact": {"model": "GraphDictExact", "max_iter": 15, "tol": 0, "n_atoms": 2},
    "tree": {"model": "GraphDictHier", "depth": 3, "max_iter": 45, "tol": 0},
    "tree of log-degrees": {
        "model": "GraphDictHier", "depth": 2, "likelihood": "log-degree", "avg_degree": 2,
        "max_iter": 45, "tol": 0,
    },
}  # fmt: skip


def run(case, **kill):
    if case["model"] != "GraphDictHier":
        case = {"n_atoms": 3, "random_state": 0, **case}
    case = {**case, "kill": kill}
    done = subprocess.run(
        [sys.executable, str(HERE / "killed_fits.py"), json.dumps(case)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("name", CASES)
def test_killed_again_and_again_it_ends_with_the_same_result(name):
    found = run(CASES[name], by_clock=False, times=10, within=9, seed=3)
    assert found["kills"] >= 5
    assert found["resumed"] >= found["kills"] - 2
    assert found["same"]
    assert not found["left"]


def test_killed_at_any_moment_it_ends_with_the_same_result():
    case = CASES["mm, several starts"]
    found = run(case, by_clock=True, times=8, seconds=0.4, seed=5)
    assert found["same"]
    assert not found["left"]


@pytest.fixture
def eager(monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0)
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)


@pytest.fixture
def signals():
    return np.random.default_rng(0).standard_normal((200, 5))


def interrupt_at(iteration):
    def callback(progress):
        if progress.iteration == iteration:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize("solver", ["mm", "bipds"])
def test_ctrl_c_keeps_the_file_and_a_second_call_goes_on(tmp_path, signals, solver):
    settings = {"n_atoms": 2, "solver": solver, "max_iter": 60, "tol": 0, "random_state": 1}
    whole = GraphDictLog(**settings).fit(signals)
    path = tmp_path / "here"
    model = GraphDictLog(**settings, checkpoint=path, callback=interrupt_at(30))
    with pytest.warns(InterruptedFitWarning):
        model.fit(signals)
    assert path.exists()
    seen = []
    model.set_params(callback=lambda p: seen.append(p.iteration))
    model.fit(signals)
    assert min(seen) > 20  # not from the beginning
    assert not path.exists()
    np.testing.assert_array_equal(model.atoms_, whole.atoms_)
    np.testing.assert_array_equal(model.coefficients_, whole.coefficients_)
    np.testing.assert_array_equal(model.history_["objective"], whole.history_["objective"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["auto", "bipds"])
@pytest.mark.parametrize("kind", [GraphDictLog, GraphDictSpectral, GraphDictExact])
def test_resuming_is_exact_in_every_model_and_precision(tmp_path, signals, kind, solver, dtype):
    settings = {"n_atoms": 2, "solver": solver, "max_iter": 30, "tol": 0, "random_state": 1}
    signals = signals[:90].astype(dtype)
    whole = kind(**settings).fit(signals)
    model = kind(**settings, checkpoint=tmp_path / "here", callback=interrupt_at(20))
    with pytest.warns(InterruptedFitWarning):
        model.fit(signals)
    model.set_params(callback=None).fit(signals)
    np.testing.assert_array_equal(model.atoms_, whole.atoms_)
    np.testing.assert_array_equal(model.coefficients_, whole.coefficients_)


def test_chance_without_a_seed_is_remembered(tmp_path, signals, eager):
    path = tmp_path / "here"
    model = GraphDictLog(2, n_init=3, max_iter=10, tol=0, checkpoint=path)
    with pytest.warns(InterruptedFitWarning):
        model.set_params(callback=interrupt_at(5)).fit(signals)
    copy = path.read_bytes()
    results = []
    for _ in range(2):
        path.write_bytes(copy)
        results.append(model.set_params(callback=None).fit(signals).atoms_)
    np.testing.assert_array_equal(*results)


@pytest.fixture
def stopped(tmp_path, signals, eager):
    path = tmp_path / "here"
    model = GraphDictLog(2, max_iter=20, tol=0, random_state=0, checkpoint=path)
    with pytest.warns(InterruptedFitWarning):
        model.set_params(callback=interrupt_at(5)).fit(signals)
    return model.set_params(callback=None), path


def test_other_data_or_settings_are_refused(stopped, signals):
    model, _ = stopped
    with pytest.raises(CheckpointError, match=r"its data is .* another path"):
        model.fit(signals + 1e-9)
    with pytest.raises(CheckpointError, match=r"its alpha_w is 0.1, not 0.2"):
        model.set_params(alpha_w=0.2).fit(signals)
    other = GraphDictSpectral(2, max_iter=20, tol=0, random_state=0, checkpoint=model.checkpoint)
    with pytest.raises(CheckpointError, match="belongs to another fit"):
        other.fit(signals)


def test_a_damaged_file_is_refused(stopped, signals):
    model, path = stopped
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    for wrong in (content, content[:-100], b"", b"something else"):
        path.write_bytes(wrong)
        with pytest.raises(CheckpointError, match=r"is damaged.*Delete it"):
            model.fit(signals)


@pytest.mark.parametrize("kind", ["GraphDictLog", "GraphDictMarginal", "GraphDictHier"])
def test_a_state_of_other_shapes_is_refused(tmp_path, signals, eager, kind):
    """Though its digests are right: the file of one fit with the identity of another."""
    path = tmp_path / "here"
    settings = {"max_iter": 20, "tol": 0, "checkpoint": path}
    if kind != "GraphDictHier":
        settings |= {"n_atoms": 2, "random_state": 0}
    model = getattr(graphdict, kind)(**settings)
    with pytest.warns(InterruptedFitWarning):
        model.set_params(callback=interrupt_at(5)).fit(signals)
    with path.open("rb") as file:
        manifest, arrays, _ = read_archive(file, lambda manifest: None)
    other = signals[:, :4]
    manifest["identity"] = checkpoint.identity(model, other)
    with path.open("wb") as file:
        write_archive(file, manifest, arrays)
    with pytest.raises(CheckpointError, match=r"cannot go on from .*Delete it"):
        model.set_params(callback=None).fit(other)


def renamed(entry):
    """Return what a file says, the residuals of its histories under other names."""
    if isinstance(entry, list):
        return [renamed(part) for part in entry]
    if not isinstance(entry, dict):
        return entry
    found = {name: renamed(part) for name, part in entry.items()}
    if isinstance(found.get("residuals"), list):
        found["residuals"] = [{"x" + name: r[name] for name in r} for r in found["residuals"]]
    return found


@pytest.mark.parametrize("kind", ["GraphDictLog", "GraphDictMarginal", "GraphDictHier"])
def test_a_history_of_other_residuals_is_refused(tmp_path, signals, eager, kind):
    path = tmp_path / "here"
    model = getattr(graphdict, kind)(max_iter=20, tol=0, checkpoint=path)
    with pytest.warns(InterruptedFitWarning):
        model.set_params(callback=interrupt_at(5)).fit(signals)
    with path.open("rb") as file:
        manifest, arrays, _ = read_archive(file, lambda manifest: None)
    with path.open("wb") as file:
        write_archive(file, renamed(manifest), arrays)
    with pytest.raises(CheckpointError, match=r"residuals of .*Delete it"):
        model.set_params(callback=None).fit(signals)


def test_what_a_callback_raises_is_not_blamed_on_the_file(stopped, signals):
    model, _ = stopped

    def fail(progress):
        raise ValueError("of my own")

    with pytest.raises(ValueError, match=r"^of my own$"):
        model.set_params(callback=fail).fit(signals)


def test_a_folder_that_is_not_there_is_said_before_work_begins(tmp_path, signals):
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError, match=r"checkpoint=.*does not exist"):
        GraphDictLog(2, checkpoint=path).fit(signals)


def test_writing_takes_a_small_share_of_the_time(monkeypatch):
    kept = checkpoint.Checkpoint("anywhere", {})
    clock = [kept.written]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: clock[0])
    kept.took = 1.0
    clock[0] += 19
    assert not kept.due
    clock[0] += 2
    assert kept.due
