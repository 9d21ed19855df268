"""Fits with a checkpoint that are killed at any moment: they end where they would have ended."""

import os
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
)
from graphdict.engine import checkpoint

KEPT = ("atoms_", "coefficients_", "objective_", "n_iter_")


def draw_fit(rng):
    """A model without its checkpoint, and signals."""
    x = rng.standard_normal((int(rng.choice([40, 120])), 5)) @ rng.standard_normal((5, 5))
    given = {"n_atoms": int(rng.choice([2, 3])), "n_init": int(rng.choice([1, 2])), "tol": 0.0}
    given["random_state"] = int(rng.integers(1000))
    kind = rng.integers(5)
    if kind == 4:
        likelihood = str(rng.choice(["log-det", "log-degree"]))
        return GraphDictHier(int(rng.choice([0, 2, 5])), likelihood=likelihood, tol=0.0), x
    if kind == 3:
        prior = str(rng.choice(["independent", "markov", "free"]))
        average = int(rng.choice([0, 6]))
        return GraphDictMarginal(max_iter=8, prior=prior, average=average, **given), x
    solver = "bipds" if kind == 1 else str(rng.choice(["mm", "bipds"]))
    difference = float(rng.choice([0.0, 0.3])) if solver == "bipds" and kind < 2 else 0.0
    soft = (GraphDictLog, GraphDictSpectral, GraphDictExact)[kind]
    return soft(solver=solver, alpha_diff=difference, max_iter=25, **given), x


def attack(rng):
    """One fit, killed up to five times."""
    model, x = draw_fit(rng)
    kills = 0
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, result = Path(name) / "fit.ck", Path(name) / "result.npz"
        started = time.monotonic()
        whole = {key: np.asarray(getattr(model.fit(x), key)) for key in KEPT}
        took = time.monotonic() - started
        model.set_params(checkpoint=path)
        while not result.exists():
            child = os.fork()
            if child == 0:
                _fit_and_leave(model, x, result)
            if kills < 5:
                time.sleep(rng.uniform(0, 1.2 * took))
                os.kill(child, signal.SIGKILL if rng.random() < 0.7 else signal.SIGTERM)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code <= 0, f"the fit failed with {code}: {model}"
            kills += code < 0
        found = np.load(result)
        for key in KEPT:
            np.testing.assert_array_equal(found[key], whole[key], err_msg=f"{key} of {model}")
        left = {path.name for path in Path(name).iterdir()}
        assert not path.exists(), f"the checkpoint is left, of {model}"
        orphans = left - {"result.npz"}
        assert len(orphans) <= 1, f"{orphans} are left"  # of the last kill
    return f"same after {kills} kills"


def _fit_and_leave(model, x, result):
    """The work of a child, which writes what it found and ends."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    checkpoint.SECONDS, checkpoint.SHARE = 0, 1e9  # writes after every iteration
    code = 1
    try:
        model.fit(x)
        whole = result.with_suffix(".part.npz")
        np.savez(whole, **{key: np.asarray(getattr(model, key)) for key in KEPT})
        os.replace(whole, result)
        code = 0
    finally:
        os._exit(code)
