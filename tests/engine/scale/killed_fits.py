"""Run by test_checkpoint.py: fits in processes of their own that are killed again and again.

Prints one line of JSON: how often a process was killed, and whether the result of the fit that got
through at last equals that of an undisturbed one, bit by bit.
"""

import json
import os
import signal
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import graphdict
from graphdict.engine import checkpoint

warnings.simplefilter("ignore")
ATTRIBUTES = ("atoms_", "coefficients_", "objective_", "n_iter_")


def make_signals():
    rng = np.random.default_rng(7)
    return rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6))


def fit(case, **extra):
    settings = {k: v for k, v in case.items() if k not in ("model", "kill")}
    model = getattr(graphdict, case["model"])(**settings, **extra)
    return model.fit(make_signals())


def in_child(work):
    """Run in a forked process; its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    return child


def main(case, folder):
    rng = np.random.default_rng(case["kill"]["seed"])
    expected = fit(case)
    path, result = folder / "fit.checkpoint", folder / "result.npz"
    checkpoint.SECONDS = checkpoint.SHARE = 0
    checkpoint.SHARE = 1e9  # write after every iteration
    kills, resumed = 0, 0

    def work(after, how):
        calls = [0]

        def callback(progress):
            calls[0] += 1
            if after is not None and calls[0] == after:
                os.kill(os.getpid(), how)

        if how == signal.SIGTERM:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        model = fit(case, checkpoint=path, callback=callback)
        np.savez(result, **{name: np.asarray(getattr(model, name)) for name in ATTRIBUTES})

    while not result.exists():
        resumed += path.exists()
        by_clock = case["kill"]["by_clock"] and kills < case["kill"]["times"]
        how = [signal.SIGKILL, signal.SIGTERM][kills % 2]
        after = None
        if not by_clock and kills < case["kill"]["times"]:
            after = int(rng.integers(1, case["kill"]["within"]))
        child = in_child(partial(work, after, how))
        if by_clock:
            time.sleep(rng.uniform(0, case["kill"]["seconds"]))
            os.kill(child, how)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code > 0:
            raise RuntimeError("the fit failed")
        kills += code < 0
    found = np.load(result)
    same = all(np.array_equal(found[name], getattr(expected, name)) for name in ATTRIBUTES)
    print(json.dumps({"kills": kills, "resumed": resumed, "same": same, "left": path.exists()}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(json.loads(sys.argv[1]), Path(name))
