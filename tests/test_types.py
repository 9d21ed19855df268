"""What a type checker tells users of the package about their own scripts."""

import inspect
import re
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest

import graphdict
from public_types import public_names

SOURCE = Path(graphdict.__file__).parents[1]

RIGHT = """
from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_type

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

import graphdict
from graphdict import (
    GraphDict, GraphDictExact, GraphDictHier, GraphDictLog, GraphDictMarginal, GraphDictSpectral,
    load_model,
)
from graphdict.baselines import GLMM, KGraphs, LogModel, TGFA, WindowLogModel
from graphdict.datasets import MixtureSignals, make_superposition
from graphdict.eeg import Peaks, States, gfp_peaks, preprocess, state_features
from graphdict.exceptions import DeadAtomWarning
from graphdict.files import SignalTable, read_signals, write_table
from graphdict.graphs import adjacency, degrees, edge_index, laplacian, n_nodes
from graphdict.metrics import AtomMatching, EdgeScores, best_threshold, edge_scores, match_atoms
from graphdict.operators import Bilinear, Degrees
from graphdict.results import InstantaneousGraphs
from graphdict.selection import ScoreChoice, choose_n_atoms, choose_penalty
from graphdict.solvers import Problem, Progress, Solution, bipds, code, mm
from graphdict.terms import L1, Likelihood, LogBarrier, LogDegrees, NonNegative, smoothness
from graphdict.viz import plot_atoms, plot_coefficients, plot_graph, plot_instantaneous
from graphdict.viz.report import write_report

Floats = NDArray[np.float64]
X = np.random.default_rng(0).standard_normal((100, 6))


def stop(progress: Progress) -> bool | None:
    assert_type(progress.objective, float)
    assert_type(progress.coefficients, Floats)
    return progress.iteration > 10


class Ridge:
    def value(self, x: Floats) -> float:
        return float(np.square(x).sum())

    def gradient(self, x: Floats) -> Floats:
        return 2 * x

    def lipschitz(self, x: Floats) -> float:
        return 2.0


class Own(Likelihood):
    def __init__(self) -> None:
        self.barrier = LogBarrier()

    def linear_map(self, nodes: int) -> Degrees:
        return Degrees(nodes)


log = GraphDictLog(3, solver="mm", init="uniform", random_state=0, callback=stop, verbose=True)
assert_type(log.fit(X), GraphDictLog)
assert_type(log.partial_fit(X), GraphDictLog)
assert_type(log.fit_transform(X), Floats)
assert_type(log.set_params(n_atoms=4), GraphDictLog)
assert_type(log.set_output(transform="pandas"), GraphDictLog)
assert_type(log.get_params(), dict[str, Any])
assert_type(log.transform(X), Floats)
assert_type(log.transform(X, out=Path("c.npy")), Floats)
assert_type(log.score(X), float)
assert_type(log.score_samples(X), Floats)
assert_type(log.atoms_, Floats)
assert_type(log.coefficients_, Floats)
assert_type(log.objective_, float)
assert_type(log.n_iter_, int)
assert_type(log.scale_, float)
assert_type(log.active_nodes_, NDArray[np.bool_])
assert_type(log.history_, dict[str, NDArray[Any]])
assert_type(log.n_features_in_, int)
assert_type(log.node_names, list[str])
assert_type(log.get_feature_names_out(), NDArray[np.object_])

marginal = GraphDictMarginal(4, prior="markov", checkpoint=Path("c"), random_state=None).fit(X)
assert_type(marginal, GraphDictMarginal)
assert_type(marginal.partial_fit(X), GraphDictMarginal)
assert_type(marginal.predict(X), NDArray[np.intp])
assert_type(marginal.predict_proba(X), Floats)
assert_type(marginal.pattern_probabilities_, Floats)
assert_type(marginal.instantaneous_graphs(X, min_probability=0.5), InstantaneousGraphs)

assert_type(GraphDictExact(2).fit([[1.0, 2.0], [3.0, 4.0]]), GraphDictExact)
assert_type(GraphDictSpectral(2, modes=np.eye(6)).fit(X).modes_, Floats)
assert_type(GraphDictHier(depth=2, likelihood="log-degree").fit(X).parents_, NDArray[np.intp])
assert_type(GraphDict(2, likelihood=Own(), atom_priors=[Ridge(), L1(0.1)]).fit(X), GraphDict)
log.save("model.npz")
load_model(Path("model.npz")).fit(X).instantaneous_graphs()
assert_type(load_model("model.npz").transform(X), Floats)
assert_type(graphdict.__version__, str)
assert_type(graphdict.graphs.n_nodes(6), int)
assert_type(graphdict.viz.plot_coefficients(X), Axes)
assert_type(graphdict.GraphDictLog().fit(X), GraphDictLog)

graphs = log.instantaneous_graphs(X)
assert_type(graphs, InstantaneousGraphs)
assert_type(graphs[0], InstantaneousGraphs)
assert_type(graphs[1:5][np.array([0, 2])].weights, Floats)
assert_type(graphs[graphs.degrees[:, 0] > 0].laplacians, Floats)
assert_type(len(graphs), int)
for graph in graphs:
    assert_type(graph, InstantaneousGraphs)
sorted(graphs[0].to_networkx(threshold=0.1).edges(data="weight"), key=lambda edge: -edge[2])
len(graphs.to_networkx())

assert_type(LogModel().fit(X), LogModel)
assert_type(WindowLogModel(10).fit(X).residual_, float)
assert_type(TGFA(10, penalty="l2").fit(X).beta_, float)
assert_type(KGraphs(3).fit(X).predict(X), NDArray[np.intp])
assert_type(GLMM(3, random_state=1).fit(X).predict_proba(X), Floats)

data = make_superposition(random_state=np.random.default_rng(1))
assert_type(data.train, MixtureSignals)
assert_type(edge_scores(data.test, log.instantaneous_graphs(data.test.signals)), EdgeScores)
assert_type(edge_scores([1.0, 0.0, 2.0], [0.5, 0.0, 0.0]).mcc, Floats)
assert_type(best_threshold(data.test.weights, graphs), tuple[float, float])
matching = match_atoms(data.atoms, log.atoms_)
assert_type(matching, AtomMatching)
assert_type(matching.learned, NDArray[np.intp])

assert_type(choose_n_atoms(GraphDictMarginal(), X, range(2, 5), report=print), ScoreChoice)
assert_type(choose_penalty(log, X, degree=3).reached, bool)

assert_type(adjacency([1, 0, 2]), Floats)
assert_type(laplacian(log.atoms_), Floats)
assert_type(degrees(log.atoms_[0]), Floats)
assert_type(edge_index(4), tuple[NDArray[np.intp], NDArray[np.intp]])
assert_type(n_nodes(6), int)

counts = np.ones(100, dtype=np.intp)
likelihood = LogDegrees()
operator = Bilinear(likelihood.linear_map(6))
problem = Problem(
    smoothness(X, counts), operator, likelihood.barrier, [NonNegative()], [NonNegative()], counts
)
solution = bipds(problem, log.coefficients_, log.atoms_, fixed="atoms", callback=stop)
assert_type(solution, Solution)
assert_type(solution.coefficients, Floats)
assert_type(solution.history.objective, list[float])
assert_type(mm(problem, log.coefficients_, log.atoms_).converged, bool)
assert_type(code(problem, log.atoms_), Floats)

table = read_signals("signals.csv", time="t")
assert_type(table, SignalTable)
assert_type(log.fit(table.values), GraphDictLog)
assert_type(table.names, list[str])
write_table("out.csv", {"atom": np.arange(3), "weight": np.ones(3)})

ax = plt.subplots()[1]
assert_type(plot_graph(log.atoms_[0], ax, positions={"a": (0.0, 1.0)}), Axes)
assert_type(plot_atoms(log), Sequence[Axes])
assert_type(plot_instantaneous(graphs, [0, 1], names=log.node_names), Sequence[Axes])
assert_type(plot_coefficients(log.coefficients_), Axes)
write_report(log, "report.html", times=np.arange(100), remarks=["measured at night"])

assert_type(gfp_peaks(X.reshape(1, 6, 100), sfreq=100), Peaks)
states = States.from_labels([0, 1, 1, 0], 100.0)
assert_type(states, States)
assert_type(states.labels, NDArray[np.intp])
assert_type(states.by_event(), Floats)
assert_type(states.by_event(states.labels), NDArray[np.intp])
assert_type(state_features([0, 1, 1], 100.0), Floats)
"""

WRONG = """
import numpy as np
import graphdict
from graphdict import GraphDictLog, GraphDictMarginal, load_model
from graphdict.metrics import edge_scores
from graphdict.results import InstantaneousGraphs
from graphdict.selection import choose_n_atoms
from graphdict.solvers import Progress
from graphdict.terms import L1
from graphdict.viz import plot_atoms
from graphdict import GraphDictLogs  # wrong
from graphdict.terms import L3  # wrong

X = np.zeros((10, 4))


def wrong_callback(progress: int) -> bool:
    return True


graphdict.figures  # wrong
GraphDictLog(n_atoms="x")  # wrong
GraphDictLog(3, 0.1)  # wrong
GraphDictLog(alpha=0.1)  # wrong
GraphDictLog(solver="newton")  # wrong
GraphDictLog(init="kmeans")  # wrong
GraphDictLog(fix="weights")  # wrong
GraphDictLog(callback=wrong_callback)  # wrong
GraphDictLog(atom_priors=[3])  # wrong
GraphDictLog(random_state="seed")  # wrong
GraphDictMarginal(prior="chain")  # wrong
GraphDictLog().fit()  # wrong
GraphDictLog().fit(X).atom_  # wrong
GraphDictLog().predict(X)  # wrong
GraphDictLog().instantaneous_graphs(X, min_probability=0.1)  # wrong
GraphDictLog().fit(X).save(3)  # wrong
load_model(3)  # wrong
len(GraphDictLog().fit(X))  # wrong
InstantaneousGraphs(X, X)["a"]  # wrong
edge_scores(X, X, threshold="high")  # wrong
choose_n_atoms(GraphDictLog(), X)  # wrong
L1("much")  # wrong
plot_atoms(X, title=3)  # wrong
plot_atoms(X, postions=X)  # wrong
GraphDictLog(n_atoms=3).fit(X).transform(X) @ X.T
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def mypy(folder, cache, monkeypatch, **scripts):
    """The lines of mypy in strict mode on scripts, as it is run by a user."""
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(SOURCE))
    paths = []
    for name, text in scripts.items():
        paths.append(folder / f"{name}.py")
        paths[-1].write_text(text)
    config = folder / "mypy.ini"
    config.write_text(
        "[mypy]\nstrict = True\nfollow_imports = silent\nignore_missing_imports = True\n"
    )
    options = ["--config-file", str(config), "--cache-dir", str(cache), "--no-error-summary"]
    out, err, _ = api.run([*options, "--python-executable", sys.executable, *map(str, paths)])
    assert not err
    return out.splitlines()


def test_scripts_are_checked(tmp_path, cache, monkeypatch):
    lines = mypy(tmp_path, cache, monkeypatch, right=RIGHT, wrong=WRONG)
    found = [line for line in lines if "right.py" in line]
    assert not found, "\n".join(found)
    marked = {n for n, line in enumerate(WRONG.split("\n"), 1) if line.endswith("# wrong")}
    reported = {int(m[1]) for line in lines if (m := re.search(r"wrong\.py:(\d+): error", line))}
    assert reported == marked, "\n".join(lines)


# Where nothing better can be said: anything with the methods of a model, what scikit-learn ignores,
# terms and barriers, which need no base class, and values that are an array or read in parts.
ANYTHING = {
    "Likelihood.signal_term", "Problem.__init__(barrier)", "Problem.__init__(signal_term)",
    "Problem.linear", "SignalTable.__init__(values)", "Spectra.rows(dtype)",
    "StateEmbedding.__init__(model)", "StateEmbedding.fit_transform(insts)",
    "StateFeatures.__init__(model)", "StateFeatures.get_feature_names_out(input_features)",
    "LogSpectra.signal_term", "States.from_array(options)", "States.from_labels(options)",
    "States.from_mne(options)", "model_coefficients(model)", "prox(term)", "prox_conjugate(term)",
}  # fmt: skip


def functions(owner):
    """Functions of a public name by their own: itself, or the methods of a class of ours."""
    if not inspect.isclass(owner):
        if callable(owner):  # others are constants
            yield owner.__name__, owner
        return
    for part in owner.__mro__:
        if not part.__module__.startswith("graphdict") or getattr(part, "_is_protocol", False):
            continue
        for name, member in vars(part).items():
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            if isinstance(member, property):
                member = member.fget
            if isinstance(member, cached_property):
                member = member.func
            if inspect.isfunction(member) and (name == "__init__" or not name.startswith("_")):
                yield f"{part.__name__}.{name}", member


@pytest.mark.parametrize(("module", "name"), public_names())
def test_everything_public_is_annotated(module, name):
    for place, function in functions(getattr(import_module(module), name)):
        signature = inspect.signature(function)
        found = {
            f"{place}({parameter.name})": parameter.annotation
            for parameter in signature.parameters.values()
            if parameter.name not in ("self", "cls")
        }
        if not place.endswith("__init__"):
            found[place] = signature.return_annotation
        assert not [key for key, kind in found.items() if kind is inspect.Parameter.empty]
        vague = {key for key, kind in found.items() if kind == "Any" and not key.endswith("(y)")}
        assert vague <= ANYTHING
