"""Priors written by a user, in a few lines, through the public door."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from graphdict import GraphDictExact, GraphDictLog, GraphDictSpectral
from graphdict.core.prior_checks import check_descent
from graphdict.exceptions import ConvergenceWarning, SilentNodeWarning
from graphdict.solvers import bipds
from graphdict.terms import L1, TotalVariation

MODELS = [GraphDictLog, GraphDictSpectral, GraphDictExact]
X = np.random.default_rng(0).standard_normal((30, 5))


class SharedEdges:
    """All atoms use an edge or none does: a group norm over atoms for each edge."""

    def __init__(self, alpha):
        self.alpha = alpha

    def value(self, atoms):
        return self.alpha * float(np.linalg.norm(atoms, axis=0).sum())

    def prox(self, atoms, step):
        norms = np.linalg.norm(atoms, axis=0)
        return atoms * np.maximum(1 - self.alpha * step / np.maximum(norms, 1e-300), 0)


class CloseTo:
    """Weights near those of a template, by a quadratic."""

    def __init__(self, template, alpha):
        self.template, self.alpha = template, alpha

    def value(self, atoms):
        return 0.5 * self.alpha * float(np.sum((atoms - self.template) ** 2))

    def gradient(self, atoms):
        return self.alpha * (atoms - self.template)

    def lipschitz(self, atoms):
        return self.alpha


class OneAtATime:
    """Coefficients of a sample that prefer to be few: a smooth penalty on their products."""

    def __init__(self, alpha):
        self.alpha = alpha

    def value(self, coefficients):
        total = coefficients.sum(axis=1)
        return 0.5 * self.alpha * float((total**2 - (coefficients**2).sum(axis=1)).sum())

    def gradient(self, coefficients):
        return self.alpha * (coefficients.sum(axis=1, keepdims=True) - coefficients)

    def lipschitz(self, coefficients):
        return self.alpha * max(coefficients.shape[1] - 1, 1)


class NoEdge:
    """A constraint: some edges do not exist."""

    elementwise = True

    def __init__(self, absent):
        self.absent = absent

    def value(self, atoms):
        return 0.0 if not atoms[:, self.absent].any() else np.inf

    def prox(self, atoms, step):
        atoms = atoms.copy()
        atoms[:, self.absent] = 0
        return atoms


def fit(model, **options):
    return model(3, random_state=0, max_iter=400, **options).fit(X)


@pytest.mark.parametrize("model", MODELS)
def test_group_sparsity_over_atoms(model):
    plain, shared = (fit(model, atom_priors=[SharedEdges(alpha)]) for alpha in (1e-9, 0.5))

    def sharing(atoms):  # from 1, where every edge has one atom, down to 1 / sqrt(3)
        return SharedEdges(1).value(atoms) / atoms.sum()

    assert SharedEdges(1).value(shared.atoms_) < SharedEdges(1).value(plain.atoms_)
    assert sharing(shared.atoms_) < sharing(plain.atoms_)
    assert np.isfinite(shared.objective_)


@pytest.mark.parametrize("model", MODELS)
def test_a_template_draws_the_atoms_to_it(model):
    template = np.linspace(0.1, 1, 10)
    distances = [
        np.linalg.norm(fit(model, atom_priors=[CloseTo(template, alpha)]).atoms_ - template)
        for alpha in (0.1, 1.0, 100.0)
    ]
    assert distances[2] < distances[1] < distances[0]
    if model is not GraphDictSpectral:  # whose graphs have eigenvectors that this one has not
        assert distances[2] < 0.2


@pytest.mark.parametrize("model", MODELS)
def test_priors_in_double_precision_on_signals_in_single(model):
    template = np.linspace(0.1, 1, 10)  # in double precision
    on_coefficients = OneAtATime(np.float64(0.5))
    settings = {"max_iter": 40, "tol": 0, "random_state": 0}
    fits = [
        model(
            3,
            atom_priors=[CloseTo(template, 1.0)],
            coefficient_priors=[on_coefficients],
            **settings,
        ).fit(x)
        for x in (X, X.astype(np.float32))
    ]
    assert fits[1].atoms_.dtype == fits[1].coefficients_.dtype == np.float32
    assert_allclose(fits[1].atoms_, fits[0].atoms_, atol=1e-3)


@pytest.mark.parametrize("window_size", [1, 4])
def test_a_prior_on_coefficients(window_size):
    plain = fit(GraphDictLog, window_size=window_size)
    alone = fit(GraphDictLog, window_size=window_size, coefficient_priors=[OneAtATime(5.0)])
    assert OneAtATime(1).value(alone.coefficients_) < OneAtATime(1).value(plain.coefficients_)
    assert_allclose(alone.transform(X), alone.coefficients_, atol=1e-6)


def test_a_constraint_is_met():
    absent = np.zeros(10, dtype=bool)
    absent[[2, 7]] = True
    model = fit(GraphDictLog, alpha_w=0.0, atom_priors=[NoEdge(absent)])
    assert np.abs(model.atoms_[:, absent]).max() < 1e-3 * model.atoms_.max()
    assert fit(GraphDictLog, alpha_w=0.0).atoms_[:, absent].max() > 1e-2


@pytest.mark.parametrize(
    "prior", [SharedEdges(0.3), CloseTo(0.5, 2.0)], ids=lambda p: type(p).__name__
)
def test_the_convex_part_is_solved(make_problem, prior):
    case = make_problem(samples=10, nodes=4, atoms=2, atom_terms=[prior])
    found = bipds(
        case.problem, case.coefficients, case.atoms,
        fixed="coefficients", max_iter=20_000, tol=1e-7,
    )  # fmt: skip
    assert found.converged
    best = minimize(
        lambda w: case.problem.objective(case.coefficients, w.reshape(2, 6)),
        case.atoms.ravel(), bounds=[(1e-9, None)] * 12, method="L-BFGS-B",
        options={"maxiter": 3000, "maxfun": 10**5, "ftol": 1e-14},
    )  # fmt: skip
    assert found.objective <= best.fun + 1e-5


def test_a_prior_of_nothing_changes_nothing():
    plain = fit(GraphDictLog, solver="bipds")
    zero = fit(GraphDictLog, solver="bipds", atom_priors=[CloseTo(0.0, 0.0)])
    assert_allclose(zero.atoms_, plain.atoms_, rtol=1e-10)


class WeightedSparsity:
    """``sum weights * |coefficients|`` with a weight of its own for every entry (T, K)."""

    entrywise = True

    def __init__(self, weights):
        self.weights = weights

    def value(self, x, rows):
        return float((self.weights[rows] * np.abs(x)).sum())

    def prox(self, x, step, rows):
        return np.sign(x) * np.maximum(np.abs(x) - step * self.weights[rows], 0)


class WeightedPull:
    """The same as a smooth term, for coefficients that are not negative."""

    entrywise = True

    def __init__(self, weights):
        self.weights = weights

    def value(self, x, rows):
        return float((self.weights[rows] * x).sum())

    def gradient(self, x, rows):
        return np.broadcast_to(self.weights[rows], x.shape).copy()

    def lipschitz(self, x, rows):
        return 0.0


class WholeSparsity(WeightedSparsity):
    """The same without a word about entries: it is always given the whole array."""

    entrywise = False

    def value(self, x):
        return super().value(x, slice(None))

    def prox(self, x, step):
        return super().prox(x, step, slice(None))


def series(samples, nodes=5, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((samples, nodes))
    return x, rng.uniform(0, 3, (samples, 3))


SETTINGS = {"max_iter": 30, "tol": 1e-2, "random_state": 0}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("samples", [50, 2000])
def test_a_weight_for_every_entry(model, samples, monkeypatch):
    """However samples are cut into blocks and shards, every entry has its own weight."""
    x, weights = series(min(samples, 200) if model is GraphDictExact else samples)
    settings = {"coefficient_priors": [WeightedSparsity(weights)], **SETTINGS}
    together = model(3, **settings).fit(x)
    monkeypatch.setattr("graphdict.engine.executor.BLOCK_BYTES", 60_000)
    apart = model(3, **settings).fit(x)
    assert_allclose(apart.atoms_, together.atoms_, atol=1e-8 * apart.atoms_.max())
    assert_allclose(apart.coefficients_, together.coefficients_, atol=1e-5)
    none = model(3, **SETTINGS).fit(x)
    heavy = weights > 2
    assert apart.coefficients_[heavy].mean() < none.coefficients_[heavy].mean()


def test_a_weight_for_every_entry_gives_the_optimum_of_the_whole():
    x, weights = series(40)
    atoms = np.random.default_rng(1).uniform(0.1, 1, (3, 10))
    own, whole = (
        GraphDictLog(
            3, atoms=atoms, fix="atoms", coefficient_priors=[prior(weights)], max_iter=5000,
            tol=1e-6,
        ).fit(x)
        for prior in (WeightedSparsity, WholeSparsity)
    )  # fmt: skip
    assert_allclose(own.coefficients_, whole.coefficients_, atol=1e-3)
    assert own.objective_ == pytest.approx(whole.objective_, abs=1e-6)


def test_a_weight_for_every_entry_out_of_core(tmp_path):
    import sklearn

    x, weights = series(2000)
    path = tmp_path / "signals.npy"
    np.save(path, x)
    settings = {"coefficient_priors": [WeightedSparsity(weights)], **SETTINGS}
    here = GraphDictLog(3, **settings).fit(x)
    with sklearn.config_context(working_memory=0.02):
        there = GraphDictLog(3, **settings).fit(np.load(path, mmap_mode="r"))
    assert_allclose(there.atoms_, here.atoms_, atol=1e-7 * here.atoms_.max())
    assert_allclose(there.coefficients_, here.coefficients_, atol=1e-5)


def test_a_weight_for_every_entry_on_a_cluster():
    pytest.importorskip("distributed")
    import dask.array as da
    from distributed import Client, LocalCluster

    x, weights = series(600)
    settings = {"coefficient_priors": [WeightedSparsity(weights)], **SETTINGS}
    here = GraphDictLog(3, **settings).fit(x)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        there = GraphDictLog(3, **settings).fit(da.from_array(x, chunks=(200, 5)))
        found = np.asarray(there.coefficients_)
    assert_allclose(there.atoms_, here.atoms_, atol=1e-7 * here.atoms_.max())
    assert_allclose(found, here.coefficients_, atol=1e-5)


def test_with_total_variation_the_prox_is_not_composed(make_problem):
    """The prox of the sum is not that of one after the other: it must meet the optimum."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 3, (20, 2))
    terms = [TotalVariation(0.7), WeightedSparsity(weights)]
    case = make_problem(samples=20, nodes=4, atoms=2, alpha_c=0.0, coefficient_terms=terms)
    found = bipds(
        case.problem, case.coefficients, case.atoms, fixed="atoms", max_iter=30_000, tol=1e-8
    )

    def objective(c):
        return case.problem.objective(c.reshape(20, 2), case.atoms)

    best = minimize(
        objective, found.coefficients.ravel(), bounds=[(0, 1)] * 40, method="Powell",
        options={"maxiter": 200, "xtol": 1e-6, "ftol": 1e-10},
    )  # fmt: skip
    assert found.converged
    assert found.objective <= best.fun + 1e-5


def test_with_windows_a_gradient_works_and_a_prox_is_refused():
    x, weights = series(200)
    settings = {"window_size": 4, **SETTINGS}
    pulled = GraphDictLog(3, coefficient_priors=[WeightedPull(10 * weights)], **settings).fit(x)
    free = GraphDictLog(3, solver="bipds", **settings).fit(x)
    assert pulled.coefficients_.mean() < free.coefficients_.mean()
    means = WeightedPull(np.repeat(weights.reshape(50, 4, 3).mean(axis=1), 4, axis=0))
    same = (
        GraphDictLog(3, coefficient_priors=[WeightedPull(weights)], **settings).fit(x),
        GraphDictLog(3, coefficient_priors=[means], **settings).fit(x),
    )
    assert_allclose(same[0].atoms_, same[1].atoms_, atol=1e-9)
    with pytest.raises(TypeError, match=r"WeightedSparsity.*window_size"):
        GraphDictLog(3, coefficient_priors=[WeightedSparsity(weights)], **settings).fit(x)
    with pytest.raises(TypeError, match=r"WholeSparsity has a prox that.*window_size"):
        GraphDictLog(3, coefficient_priors=[WholeSparsity(weights)], **settings).fit(x)
    alike = WholeSparsity(means.weights)  # the same within each window: its prox is the right one
    found = GraphDictLog(3, coefficient_priors=[alike], **settings).fit(x)
    assert np.isfinite(found.objective_)


def test_a_claim_that_does_not_hold_is_refused_by_name():
    class Claims(WholeSparsity):
        elementwise = True

    x, weights = series(200)
    with pytest.raises(TypeError, match=r"Claims says elementwise = True.*entrywise = True"):
        GraphDictLog(3, coefficient_priors=[Claims(weights)], **SETTINGS).fit(x)

    class Norm:
        elementwise = True

        def value(self, x):
            return float(np.linalg.norm(x))

        def prox(self, x, step):
            return x * max(0, 1 - step / np.linalg.norm(x))

    with pytest.raises(TypeError, match=r"Norm says elementwise = True.*not the sum"):
        GraphDictLog(3, coefficient_priors=[Norm()], **SETTINGS).fit(x)


class Below:
    """A barrier at ``most`` that forgets to be infinite above: there it is NaN."""

    def __init__(self, most):
        self.most = most

    def value(self, x):
        with np.errstate(invalid="ignore"):
            return -1e-9 * float(np.log(self.most - x).sum())

    def gradient(self, x):
        return np.zeros_like(x)

    def lipschitz(self, x):
        return 0.0


@pytest.mark.parametrize("name", ["atom_priors", "coefficient_priors"])
def test_a_fit_whose_objective_is_no_number_is_refused_by_the_name_of_the_prior(name):
    with pytest.raises(ValueError, match=r"objective is not a number.*the prior Below"):
        GraphDictLog(2, max_iter=5, random_state=0, **{name: [Below(0.01)]}).fit(X)


def test_a_fit_whose_objective_is_infinite_says_so():
    class Forbids(Below):
        def value(self, x):
            return np.inf if (x > self.most).any() else 0.0

    with pytest.warns(ConvergenceWarning, match=r"objective is inf.*a prior forbids"):
        GraphDictLog(2, max_iter=5, random_state=0, atom_priors=[Forbids(0.01)]).fit(X)


class OnlyTheseEdges:
    """Weights are positive only where ``allowed`` (E,)."""

    entrywise = True

    def __init__(self, allowed):
        self.allowed = np.asarray(allowed, dtype=bool)

    def value(self, atoms, rows):
        return 0.0 if not atoms[:, ~self.allowed].any() else np.inf

    def prox(self, atoms, step, rows):
        return np.where(self.allowed, atoms, 0)


class FewEdges:
    """The largest ``count`` weights of every atom; which ones, nobody says."""

    def __init__(self, count):
        self.count = count

    def value(self, atoms):
        return 0.0

    def prox(self, atoms, step):
        kept = np.zeros_like(atoms)
        largest = np.argsort(-atoms, axis=1, kind="stable")[:, : self.count]
        np.put_along_axis(kept, largest, np.take_along_axis(atoms, largest, axis=1), axis=1)
        return kept


def allowed_edges(*pairs):
    """Edges (10,) of five nodes: all but those between given sets of nodes."""
    rows, cols = np.triu_indices(5, 1)
    return ~np.any([np.isin(rows, a) & np.isin(cols, b) for a, b in pairs], axis=0)


def test_priors_that_isolate_a_node_are_refused_before_the_fit():
    isolated = allowed_edges(([0, 1, 2, 3], [4]))
    for model in (GraphDictLog, GraphDictExact):
        with pytest.raises(
            ValueError, match=r"OnlyTheseEdges leaves node\(s\) 4 .*without an edge"
        ):
            fit(model, atom_priors=[OnlyTheseEdges(isolated)])
    silent = np.where(np.arange(5) == 2, 1.0, X)
    with pytest.warns(SilentNodeWarning), pytest.raises(ValueError, match=r"leaves node\(s\) 4 "):
        GraphDictLog(2, atom_priors=[OnlyTheseEdges(isolated)]).fit(silent)
    halves = [OnlyTheseEdges(allowed_edges(pair)) for pair in (([0, 1], [4]), ([2, 3], [4]))]
    with pytest.raises(ValueError, match=r"priors .* leave node\(s\) 4"):
        fit(GraphDictLog, atom_priors=halves)


def test_priors_that_cut_graphs_apart_are_refused_where_the_likelihood_minds():
    apart = OnlyTheseEdges(allowed_edges(([0, 1], [2, 3, 4])))
    with pytest.raises(ValueError, match=r"no edge between nodes 0, 1 .*connected"):
        fit(GraphDictExact, atom_priors=[apart])
    assert np.isfinite(fit(GraphDictLog, atom_priors=[apart]).objective_)


def test_few_edges_are_no_reason_to_refuse():
    GraphDictLog(3, random_state=0, max_iter=2, atom_priors=[FewEdges(3)]).fit(X)


def test_arrays_of_the_wrong_length_are_reported_with_the_prior():
    with pytest.raises(ValueError, match=r"of the term OnlyTheseEdges fails .*\(3, 10\)"):
        fit(GraphDictLog, atom_priors=[OnlyTheseEdges(np.ones(9))])
    with pytest.raises(ValueError, match=r"of the term CloseTo fails .*\(3, 10\)"):
        fit(GraphDictLog, atom_priors=[CloseTo(np.ones(9), 1.0)])
    for shape in ((30, 2), (29, 3)):
        with pytest.raises(TypeError, match=r"WeightedSparsity says .*each of the 30 samples"):
            fit(GraphDictLog, coefficient_priors=[WeightedSparsity(np.ones(shape))])


class WholePull:
    """A pull to zero whose gradient is off by a factor."""

    def value(self, x):
        return float(np.square(x).sum()) / 2

    def gradient(self, x):
        return 2 * x

    def lipschitz(self, x):
        return 1.0


def test_a_prox_or_gradient_of_another_function_is_refused(monkeypatch):
    """Else the fit would end somewhere, and its objective say nothing of it."""
    weights = np.random.default_rng(0).uniform(0.1, 3, (len(X), 2))
    pull, sparse = WeightedPull(weights), WeightedSparsity(weights)
    for prior in (pull, sparse):
        check_descent(prior, weights.shape)
    right, up = WeightedSparsity.prox, WeightedPull.gradient
    without_step = lambda self, x, step, rows: right(self, x, 1.0, rows)  # noqa: E731
    monkeypatch.setattr(WeightedSparsity, "prox", without_step)
    with pytest.raises(TypeError, match=r"WeightedSparsity has a prox .* not that of its value"):
        GraphDictLog(2, coefficient_priors=[sparse]).fit(X)
    monkeypatch.setattr(WeightedPull, "gradient", lambda self, *given: -up(self, *given))
    with pytest.raises(TypeError, match="WeightedPull has a gradient that is not that of its"):
        GraphDictLog(2, coefficient_priors=[pull]).fit(X)
    with pytest.raises(TypeError, match="WholePull has a gradient"):
        GraphDictLog(2, atom_priors=[WholePull()]).fit(X)


@pytest.mark.parametrize("bound", [np.nan, np.inf, -1.0, None, "one", 1j, [2.0]])
def test_a_bound_that_is_none_is_refused(monkeypatch, bound):
    pull = WeightedPull(np.ones((len(X), 2)))
    monkeypatch.setattr(WeightedPull, "lipschitz", lambda self, x, rows: bound)
    with pytest.raises(
        TypeError, match=re.escape(f"WeightedPull has a lipschitz bound of {bound}")
    ):
        GraphDictLog(2, coefficient_priors=[pull]).fit(X)


def test_a_prior_may_have_numbers_called_as_methods_of_barriers_are():
    class Pull(CloseTo):
        slope, curvature = 0.5, 2.0

    target = np.full((2, 10), 0.3)
    found = GraphDictLog(2, atom_priors=[Pull(target, 0.5)], max_iter=5, random_state=0).fit(X)
    same = GraphDictLog(2, atom_priors=[CloseTo(target, 0.5)], max_iter=5, random_state=0).fit(X)
    assert_allclose(found.atoms_, same.atoms_)


def test_sparsity_of_atoms_is_the_same_where_a_node_is_silent():
    silent = np.insert(X, 2, 0.0, axis=1)
    given = {"alpha_w": 0.0, "random_state": 0, "rescale": False, "solver": "mm"}
    by_prior = GraphDictLog(2, atom_priors=[L1(0.2)], **given)
    with pytest.warns(SilentNodeWarning):
        by_prior.fit(silent)
    with pytest.warns(SilentNodeWarning):
        by_alpha = GraphDictLog(2, **{**given, "alpha_w": 0.2}).fit(silent)
    assert_allclose(by_prior.atoms_, by_alpha.atoms_)


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("prox", None, "prox of the term CloseTo is None, not a method"),
        ("gradient", 1.0, "gradient of the term CloseTo is 1.0, not a method"),
        ("elementwise", lambda self: False, "elementwise of the term CloseTo must be True or"),
    ],
)
@pytest.mark.filterwarnings("ignore::graphdict.exceptions.SilentNodeWarning")
def test_what_stands_in_the_place_of_a_method_is_refused(monkeypatch, name, wrong, said, silent):
    monkeypatch.setattr(CloseTo, name, wrong, raising=False)
    x = X * (np.arange(5) < 4) if silent else X
    with pytest.raises(TypeError, match=said):
        GraphDictLog(2, atom_priors=[CloseTo(0.5, 1.0)]).fit(x)


class EdgeCosts:
    """``sum of costs * atoms``, with costs (K, E), or (E,) that are used by ``how``."""

    entrywise = True

    def __init__(self, costs, how=None):
        self.costs, self.how = costs, how

    def of(self, rows):
        return self.costs[rows] if self.how is None else self.how(self.costs, rows)

    def value(self, atoms, rows):
        return float((self.of(rows) * atoms).sum())

    def prox(self, atoms, step, rows):
        return atoms - step * self.of(rows)


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.SilentNodeWarning")
@pytest.mark.parametrize("silent", [False, True])
def test_costs_of_edges_are_not_taken_for_those_of_the_one_atom(silent):
    settings = {"max_iter": 300, "tol": 1e-8, "random_state": 0}
    x = X * (np.arange(5) < 4) if silent else X
    costs = np.linspace(0, 20, 10)
    with pytest.raises(TypeError, match="prior EdgeCosts has arrays with a number for each edge"):
        GraphDictLog(1, atom_priors=[EdgeCosts(costs)], **settings).fit(x)
    right = [
        EdgeCosts(costs[None]),  # (1, E)
        EdgeCosts(np.stack([costs, costs])),  # rows for more atoms
        EdgeCosts(costs, lambda costs, rows: costs),
        EdgeCosts(costs, lambda costs, rows: np.stack([costs for _ in range(*rows.indices(9))])),
    ]
    found = [GraphDictLog(1, atom_priors=[prior], **settings).fit(x).atoms_ for prior in right]
    for atoms in found[1:]:
        assert np.array_equal(atoms, found[0])
