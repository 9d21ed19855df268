"""One measurement in one process: run by compare.py in the environment of either library.

    python measure.py {graphdict,peer} TASK '{"samples": ..., "nodes": ..., ...}'

prints one line of JSON. Both libraries see the same signals, made here with NumPy alone.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import threading
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
CHECKED = 10  # iterations between two checks of ours


def make_signals(samples: int, nodes: int, atoms: int, seed: int, dtype: str = "float64"):
    """Signals of a random dictionary of sparse graphs, one or more active at a time."""
    rng = np.random.default_rng(seed)
    rows, cols = np.triu_indices(nodes, 1)
    weights = (rng.random((atoms, len(rows))) < 0.2) * rng.uniform(0.1, 3, (atoms, len(rows)))
    signals = np.empty((samples, nodes))
    patterns = (rng.random((8, atoms)) < 0.5) | np.eye(8, atoms, dtype=bool)
    of_sample = rng.integers(8, size=samples)
    for index, pattern in enumerate(patterns):
        laplacian = np.zeros((nodes, nodes))
        mixed = pattern @ weights
        laplacian[rows, cols] = laplacian[cols, rows] = -mixed
        laplacian -= np.diag(laplacian.sum(axis=1))
        values, vectors = np.linalg.eigh(laplacian)
        scale = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0)
        chosen = np.flatnonzero(of_sample == index)
        signals[chosen] = (rng.normal(size=(len(chosen), nodes)) * scale) @ vectors.T
    return signals.astype(dtype)


def model(library: str, name: str, atoms: int, iterations: int, **options):
    """A dictionary estimator of either library that runs exactly ``iterations`` iterations."""
    if library == "peer":
        import graph_learn.dictionary as peer

        name = name.removesuffix("Relaxed")
        return getattr(peer, name)(n_atoms=atoms, max_iter=iterations, tol=0, random_state=0)
    import graphdict

    settings = {"solver": "bipds", "max_iter": iterations, "tol": 0, "random_state": 0}
    if name == "GraphDictSpectralRelaxed":
        settings["alpha_modes"] = 0
    return getattr(graphdict, name)(atoms, alpha_w=0, rescale=False, **{**settings, **options})


def iteration(library: str, task: dict) -> dict:
    """Seconds an iteration: of the peer, the difference of a longer and a shorter fit.

    Ours says when each check was, which is the same without what varies at both ends of a fit.
    ``cpu`` asks for its time on processors, on which other work on the machine tells less, and
    ``by_passes`` for iterations one by one, each pass of which Python asks for.
    """
    if task.get("by_passes"):
        from graphdict.engine.executor import ThreadExecutor

        ThreadExecutor.iterate = lambda self, states, asked: None  # type: ignore[method-assign]
    shape = task["samples"], task["nodes"], task["atoms"]
    signals = make_signals(*shape, task.get("seed", 0), task["dtype"])
    few, many = task["few"], task["many"]

    def fit(iterations: int) -> float:
        estimator = model(library, task["model"], task["atoms"], iterations)
        started = time.perf_counter()
        estimator.fit(signals)
        return time.perf_counter() - started

    def between_checks() -> float:
        checks: list[tuple[int, float]] = []
        clock = time.process_time if task.get("cpu") else time.perf_counter
        estimator = model(library, task["model"], task["atoms"], max(many, 2 * CHECKED))
        estimator.set_params(callback=lambda at: checks.append((at.iteration, clock())))
        estimator.fit(signals)
        (first, started), (last, ended) = checks[0], checks[-1]
        return (ended - started) / (last - first)

    fit(few)
    if library == "graphdict":
        found = [between_checks() for _ in range(task["repeats"])]
        return {"seconds": statistics.median(found), "all": found}
    found = [(fit(many) - fit(few)) / (many - few) for _ in range(task["repeats"])]
    return {"seconds": statistics.median(found), "all": found}


def objective(signals, atoms, coefficients, alpha_w: float) -> float:
    """The log-degree objective, written out."""
    rows, cols = np.triu_indices(signals.shape[1], 1)
    weights = coefficients @ atoms
    energy = np.einsum("te,te->t", weights, np.square(signals[:, rows] - signals[:, cols]))
    degrees = np.zeros_like(signals)
    np.add.at(degrees.T, rows, weights.T)
    np.add.at(degrees.T, cols, weights.T)
    with np.errstate(divide="ignore"):
        barrier = -np.log(degrees).sum(axis=1)
    return float((energy + barrier).mean() + alpha_w * atoms.sum())


def reach(library: str, task: dict) -> dict:
    """The peer: the objective after 1,000 iterations. graphdict: seconds to get below it."""
    alpha = 0.1
    signals = make_signals(task["samples"], task["nodes"], task["atoms"], task["seed"])
    if library == "peer":
        import graph_learn.dictionary as peer

        best = (np.inf, 0.0)
        # Whether its penalty is for the sum or the mean over samples, the better reading counts.
        for penalty in (alpha, alpha * len(signals)):
            estimator = peer.GraphDictLog(
                n_atoms=task["atoms"], l1_w=penalty, max_iter=1000, tol=0, random_state=0
            )
            started = time.perf_counter()
            estimator.fit(signals)
            seconds = time.perf_counter() - started
            value = objective(signals, estimator.weights_, estimator.coefficients_.T, alpha)
            best = min(best, (value, seconds))
        return {"objective": best[0], "seconds": best[1]}
    import graphdict

    target = task["target"]
    graphdict.GraphDictLog(2, max_iter=2).fit(signals[:50])  # loads what is loaded once
    found = []
    for repeat in range(task["repeats"]):
        reached: list[float] = []

        def stop(progress, reached=reached):
            if progress.objective <= target:
                reached.append(time.perf_counter())
                return True
            return False

        started = time.perf_counter()
        graphdict.GraphDictLog(
            task["atoms"], alpha_w=alpha, rescale=False, random_state=repeat, callback=stop
        ).fit(signals)
        found.append(reached[0] - started if reached else np.inf)
    return {"seconds": statistics.median(found), "all": found}


def transform(library: str, task: dict) -> dict:
    """Seconds to code new signals with learned atoms, both at their default settings."""
    signals = make_signals(task["samples"], task["nodes"], task["atoms"], 1)
    train = signals[:1000]
    if library == "peer":
        import graph_learn.dictionary as peer

        estimator = peer.GraphDictLog(n_atoms=task["atoms"], random_state=0).fit(train)
        code = estimator.predict
    else:
        import graphdict

        estimator = graphdict.GraphDictLog(task["atoms"], random_state=0).fit(train)
        code = estimator.transform
    found = []
    for _ in range(task["repeats"]):
        started = time.perf_counter()
        code(signals)
        found.append(time.perf_counter() - started)
    return {"seconds": statistics.median(found), "all": found}


def fit(library: str, task: dict) -> dict:
    """CPU and wall seconds of one whole fit to signals in a file."""
    signals = np.load(task["signals"])
    if library == "peer":
        import graph_learn.dictionary as models
    else:
        import graphdict as models

    def estimator(**others):
        return getattr(models, task["model"])(**{**task["options"], **others})

    estimator(max_iter=2).fit(signals[:1000])  # loads what is loaded once
    wall, cpu = time.perf_counter(), time.process_time()
    estimator().fit(signals)
    return {
        "cpu seconds": time.process_time() - cpu,
        "wall seconds": time.perf_counter() - wall,
    }


def memory(library: str, task: dict) -> dict:
    """Peak bytes of a short fit beyond those held before it."""
    signals = make_signals(task["samples"], task["nodes"], task["atoms"], 0)
    model(library, "GraphDictLog", 2, 2).fit(signals[:200, :5])  # libraries and compiled loops
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    model(library, "GraphDictLog", task["atoms"], task["iterations"]).fit(signals)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"bytes": peak - before, "data_bytes": signals.nbytes}


def mapped(library: str, task: dict) -> dict:
    """Peak private memory of a fit to a memory-mapped file, which the map itself is not part of."""
    import graphdict

    shape = (task["samples"], task["nodes"])
    with tempfile.NamedTemporaryFile() as file:
        signals = np.memmap(file.name, dtype="float32", mode="w+", shape=shape)
        for start in range(0, shape[0], 100_000):
            rows = min(100_000, shape[0] - start)
            signals[start : start + rows] = make_signals(rows, shape[1], task["atoms"], start)
        signals.flush()
        signals = np.memmap(file.name, dtype="float32", mode="r", shape=shape)
        graphdict.GraphDictLog(2, max_iter=2).fit(np.asarray(signals[:200, :5]))
        before, peak, done = private_bytes(), [0], threading.Event()

        def watch() -> None:
            while not done.wait(0.02):
                peak[0] = max(peak[0], private_bytes())

        watcher = threading.Thread(target=watch)
        watcher.start()
        started = time.perf_counter()
        graphdict.GraphDictLog(task["atoms"], max_iter=task["iterations"], random_state=0).fit(
            signals
        )
        seconds = time.perf_counter() - started
        done.set()
        watcher.join()
    return {"bytes": peak[0] - before, "seconds": seconds}


def importing(library: str, task: dict) -> dict:
    """Seconds until a model, or scikit-learn, is there; NumPy is already."""
    started = time.perf_counter()
    if library == "graphdict":
        from graphdict import GraphDictLog  # noqa: F401
    else:
        import sklearn  # noqa: F401
    return {"seconds": time.perf_counter() - started}


def waiting(library: str, task: dict) -> dict:
    """By how many seconds a first fit is longer than a second."""
    import graphdict

    def seconds() -> float:
        model = graphdict.GraphDictLog(task["atoms"], solver=task["solver"], random_state=0)
        started = time.perf_counter()
        model.set_params(max_iter=12).fit(signals)
        return time.perf_counter() - started

    signals = make_signals(task["samples"], task["nodes"], task["atoms"], 0)
    return {"seconds": seconds() - seconds()}


def private_bytes() -> int:
    """Resident memory that is not backed by a file."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


TASKS = {
    "iteration": iteration,
    "reach": reach,
    "transform": transform,
    "fit": fit,
    "memory": memory,
    "mapped": mapped,
    "importing": importing,
    "waiting": waiting,
}

if __name__ == "__main__":
    library, task, settings = sys.argv[1:]
    print(json.dumps(TASKS[task](library, json.loads(settings))))
