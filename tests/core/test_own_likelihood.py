"""A likelihood written by a user, in a few lines, through the public door: precision L + eps I."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from graphdict import GraphDict, GraphDictExact, GraphDictLog, graphs, load_model
from graphdict.core.graphs import zero_sum_basis
from graphdict.core.likelihood_checks import check_likelihood
from graphdict.core.terms.barriers import log_determinants
from graphdict.operators import Laplacians
from graphdict.terms import CachedSmoothness, Likelihood, LogDegrees, LogDet, LogDeterminant

RNG = np.random.default_rng(5)
X = RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5))


class ShiftedLogDet:
    """``-log det(L + eps I)`` of each Laplacian, on signals of zero mean."""

    def __init__(self, eps):
        self.eps, self.plain = eps, LogDet()

    def shift(self, laplacians):
        return laplacians.astype(float) + self.eps * np.eye(laplacians.shape[-1])

    def values(self, laplacians):
        return self.plain.values(self.shift(laplacians))

    def slope(self, laplacians):
        return self.plain.slope(self.shift(laplacians))

    def curvature(self, laplacians, images):
        return self.plain.curvature(self.shift(laplacians), images)

    def prox(self, laplacians, step):
        return self.plain.prox(self.shift(laplacians), step) - self.eps * np.eye(
            laplacians.shape[-1]
        )


class Shifted(Likelihood):
    """Gaussian signals whose precision is ``L + eps I``."""

    def __init__(self, eps):
        self.eps, self.barrier = eps, ShiftedLogDet(eps)

    def linear_map(self, nodes):
        return Laplacians(nodes)

    def rest(self, signals):
        return self.eps * signals.shape[1] * np.nanmean(np.square(signals), axis=1)


def fit(eps=0.5, signals=X, **settings):
    settings = {"max_iter": 3000, "tol": 1e-8, "random_state": 0, **settings}
    return GraphDict(2, likelihood=Shifted(eps), **settings).fit(signals)


def test_scores_are_densities():
    model = fit()
    basis = zero_sum_basis(5)
    new = RNG.standard_normal((7, 5))
    found = model.score_samples(new)
    signals = (new - new.mean(axis=1, keepdims=True)) / model.scale_ @ basis
    for x, weights, score in zip(signals, model.instantaneous_graphs(new).weights, found):
        precision = basis.T @ (graphs.laplacian(weights) + 0.5 * np.eye(5)) @ basis
        wanted = multivariate_normal.logpdf(x, np.zeros(4), np.linalg.inv(precision))
        assert score == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("solver", ["mm", "bipds"])
def test_the_convex_half_is_solved(solver):
    coefficients = RNG.uniform(0.2, 1, (60, 2))
    settings = {"coefficients": coefficients, "fix": "coefficients", "alpha_w": 0.05}
    model = fit(solver=solver, max_iter=20_000, **settings)
    signals = (X - X.mean(axis=1, keepdims=True)) / model.scale_
    basis = zero_sum_basis(5)

    def objective(weights):
        total = 0.05 * weights.sum()
        mixed = graphs.laplacian(coefficients @ weights.reshape(2, 10))
        for x, laplacian in zip(signals, mixed):
            inner = basis.T @ (laplacian + 0.5 * np.eye(5)) @ basis
            total += (x @ laplacian @ x - np.linalg.slogdet(inner)[1]) / len(signals)
        return total

    best = minimize(
        objective, np.full(20, 0.1), bounds=[(0, None)] * 20, method="L-BFGS-B",
        options={"maxfun": 10**5, "ftol": 1e-15},
    )  # fmt: skip
    assert model.objective_ == pytest.approx(best.fun, abs=1e-5)
    assert model.objective_ == pytest.approx(objective(model.atoms_.ravel()), rel=1e-9)


def test_coefficients_of_new_signals_are_optimal():
    model = fit()
    new = RNG.standard_normal((5, 5))
    found = model.transform(new)
    signals = (new - new.mean(axis=1, keepdims=True)) / model.scale_
    laplacians, basis = graphs.laplacian(model.atoms_), zero_sum_basis(5)
    for x, coefficients in zip(signals, found):

        def cost(c, x=x):
            laplacian = np.tensordot(c, laplacians, 1)
            inner = basis.T @ (laplacian + 0.5 * np.eye(5)) @ basis
            return x @ laplacian @ x - np.linalg.slogdet(inner)[1]

        best = minimize(cost, [0.5, 0.5], bounds=[(0, 1)] * 2).fun
        assert cost(coefficients) <= best + 1e-6


def test_without_a_shift_it_is_the_exact_model():
    settings = {"max_iter": 50, "random_state": 0}
    own = fit(eps=0.0, **settings, tol=1e-4)
    exact = GraphDictExact(2, **settings).fit(X)
    named = GraphDict(2, likelihood=LogDeterminant(), **settings).fit(X)
    assert_allclose(own.objective_, exact.objective_, rtol=1e-7)
    assert_allclose(named.atoms_, exact.atoms_, rtol=1e-12)
    degrees = GraphDict(2, likelihood=LogDegrees(), **settings).fit(X)
    assert_allclose(degrees.atoms_, GraphDictLog(2, **settings).fit(X).atoms_, rtol=1e-12)


def test_which_backend_serves_can_be_asked():
    assert fit(max_iter=5, tol=0.1).backend_ == "plain"
    settings = {"max_iter": 3, "random_state": 0}
    assert GraphDictExact(2, **settings).fit(X).backend_ == "compiled log-determinant"
    assert GraphDictLog(2, **settings).fit(X).backend_ == "compiled log-barrier of degrees"

    class Mine(LogDet):
        """Inherits from ours, and may compute something else: it is not taken for ours."""

    class Own(LogDeterminant):
        def __init__(self):
            self.barrier = Mine()

    assert GraphDict(2, likelihood=Own(), **settings).fit(X).backend_ == "plain"


@pytest.mark.parametrize("settings", [{"window_size": 4}, {"alpha_diff": 0.1}, {"alpha_orth": 0.1}])
def test_other_settings_work_with_it(settings):
    model = fit(max_iter=60, tol=1e-3, **settings)
    assert np.isfinite(model.score(X))
    assert_allclose(model.transform(X), model.coefficients_, atol=1e-3)


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="likelihood"):
        GraphDict(2, likelihood=3).fit(X)

    class Nothing(Likelihood):
        pass

    with pytest.raises(TypeError, match="Nothing lacks a barrier"):
        GraphDict(2, likelihood=Nothing()).fit(X)
    Nothing.barrier = LogDet()
    with pytest.raises(NotImplementedError, match=r"Nothing lacks linear_map\(nodes\)"):
        GraphDict(2, likelihood=Nothing()).fit(X)
    Nothing.barrier = type("Empty", (), {"prox": lambda self, rows, step: rows})()
    with pytest.raises(TypeError, match=r"barrier Empty needs values\(rows\)"):
        GraphDict(2, likelihood=Nothing()).fit(X)
    Nothing.on_nodes = lambda self, active: None
    with pytest.raises(TypeError, match=r"on_nodes\(active\).*not NoneType"):
        GraphDict(2, likelihood=Nothing()).fit(X)
    Nothing.on_nodes = lambda self, active: np.ones(4)[active]
    with pytest.raises(TypeError, match=r"(?s)on_nodes\(active\).*Nothing.*the 5 nodes of X"):
        GraphDict(2, likelihood=Nothing()).fit(X)
    with pytest.raises(ValueError, match="likelihood holds Python objects"):
        fit(max_iter=3, tol=0.1).save("nowhere")


@pytest.mark.parametrize(
    ("method", "wrong", "said"),
    [
        ("values", lambda self, rows: 3.0, r"values\(rows\).*shape \(\)"),
        ("slope", None, "slope of the barrier ShiftedLogDet is None, not a method"),
        ("curvature", None, "curvature of the barrier ShiftedLogDet is None, not a method"),
        ("prox_conjugate", None, "prox_conjugate of the barrier ShiftedLogDet is None"),
        ("slope", lambda self, rows: -LogDet().slope(self.shift(rows)), "minus the gradient"),
        ("slope", lambda self, rows: np.ones(3), r"slope\(rows\).*shape \(3,\)"),
        ("curvature", lambda self, rows, images: np.ones((3, 2)), r"curvature.*shape \(3, 2\)"),
        ("curvature", lambda self, rows, images: np.ones((3, 2, 2)), "the second derivative"),
        ("values", lambda self, rows: np.full(3, np.nan), r"values\(rows\).* are nan for graphs"),
        ("values", lambda self, rows: np.full(3, np.inf), r"values\(rows\).* are inf for graphs"),
        ("prox", lambda self, rows, step: rows * np.nan, "that are not finite"),
        ("prox", lambda self, rows, step: rows, "does not minimise"),
        ("prox", lambda self, rows, step: self.plain.prox(rows, 2 * step), "does not minimise"),
    ],
)
def test_a_barrier_that_contradicts_itself_is_refused(monkeypatch, method, wrong, said):
    monkeypatch.setattr(ShiftedLogDet, method, wrong, raising=False)
    with pytest.raises(TypeError, match=f"(?s){said}"):
        fit(max_iter=3)


@pytest.mark.parametrize(
    ("part", "wrong", "said"),
    [
        ("norm", lambda self: 1.0, "must be a property"),
        ("norm", 0.5, "it must be the largest singular value"),
        ("adjoint", lambda self, values: 2 * Laplacians(5).adjoint(values), "not the adjoint of"),
        ("adjoint", lambda self, values: values, r"returns shape \(2, 5, 5\)"),
        ("apply", lambda self, weights: weights.tolist(), r"returns a list of shape \(2, 10\)"),
    ],
)
def test_a_map_that_contradicts_itself_is_refused(part, wrong, said):
    class Mine(Shifted):
        def linear_map(self, nodes):
            return type("Map", (Laplacians,), {part: wrong})(nodes)

    with pytest.raises(TypeError, match=f"(?s)linear map of Mine.*{said}"):
        GraphDict(2, likelihood=Mine(0.5)).fit(X)


class Absolute(LogDegrees):
    """Absolute differences in place of squared ones; ``term`` makes the signal term of them."""

    def __init__(self, term=CachedSmoothness, mean=True):
        super().__init__()
        self.term, self.mean = term, mean

    def signal_term(self, signals, counts, keep=None, gaps=None):
        rows, cols = np.triu_indices(signals.shape[1], 1)
        distances = np.abs(signals[:, rows] - signals[:, cols])
        sums = np.add.reduceat(distances, np.cumsum(counts) - counts)
        return self.term(sums / counts[:, None] if self.mean else sums)


@pytest.mark.parametrize(
    ("method", "wrong", "said"),
    [
        ("features", None, "lacks features; graphdict.terms.CachedSmoothness"),
        ("features", lambda self, rows: self.distances, r"features\(slice\(1, 2.*shape \(3, 10\)"),
        ("features", lambda self, rows: self.distances[rows, 0], r"features.*shape \(3,\)"),
        ("energies", lambda self, atoms, rows: -np.ones((3, 2)), "are -1 for graphs of positive"),
        ("energies", lambda self, atoms, rows: self.distances @ atoms.T, r"energies.*\(3, 2\)"),
        ("energies", lambda self, atoms, rows: self.distances[rows] @ atoms.T * 2, "contradict"),
        ("weighted_distances", lambda self, c, rows: c.T, r"weighted_distances.*shape \(2, 3\)"),
    ],
)
def test_a_signal_term_that_contradicts_itself_is_refused(method, wrong, said):
    term = type("Term", (CachedSmoothness,), {method: wrong})
    with pytest.raises(TypeError, match=f"(?s){said}") as refused:
        GraphDict(2, likelihood=Absolute(term)).fit(X)
    assert "of Absolute" in str(refused.value)


def test_energies_of_windows_are_means():
    settings = {"window_size": 3, "max_iter": 5, "tol": 1, "random_state": 0}
    GraphDict(2, likelihood=Absolute(), **settings).fit(X)
    with pytest.raises(TypeError, match=r"Absolute has energies of a window.*not the mean"):
        GraphDict(2, likelihood=Absolute(mean=False), **settings).fit(X)


def without_number(distances):
    """Return a term whose energies are NaN in the row of the largest differences, if they are."""
    sizes = distances.sum(axis=1)
    return CachedSmoothness(np.where(sizes[:, None] > 50, np.nan, distances))


@pytest.mark.parametrize("settings", [{}, {"solver": "bipds"}, {"atoms": np.ones((2, 10))}])
def test_a_signal_term_that_is_no_number_is_named(settings):
    model = GraphDict(2, likelihood=Absolute(without_number), random_state=0, **settings)
    large = np.where(np.arange(60)[:, None] == 7, 100 * X, X)
    with pytest.raises(ValueError, match=r"of the likelihood Absolute has energies.* row 7 "):
        model.fit(large)
    model.set_params(max_iter=5, tol=1).fit(X)
    with pytest.raises(ValueError, match=r"Absolute has energies.* row 7 "):
        model.transform(large)


def test_a_barrier_that_is_no_number_is_not_blamed_on_the_priors(monkeypatch):
    right = ShiftedLogDet.curvature

    def curvature(self, rows, images):  # right where it is tried
        return right(self, rows, images) * (np.nan if len(rows) > 3 else 1.0)

    monkeypatch.setattr(ShiftedLogDet, "curvature", curvature)
    with pytest.raises(ValueError, match="because of overflow or its barrier"):
        fit(max_iter=3, alpha_c=0.1)


@pytest.mark.parametrize("nodes", [2, 3, 9, 40])
@pytest.mark.parametrize("likelihood", [LogDegrees(), LogDeterminant(), Shifted(0.3)])
def test_what_is_right_passes_the_checks(likelihood, nodes):
    check_likelihood(likelihood, nodes)


class Anchored(Likelihood):
    """Precision ``L + eps I`` with a number for each node in ``rest``, as an example of such."""

    def __init__(self, strengths):
        self.strengths, self.barrier = np.asarray(strengths), ShiftedLogDet(0.5)

    def linear_map(self, nodes):
        return Laplacians(nodes)

    def rest(self, signals):
        return np.square(signals) @ self.strengths


class AnchoredWhereActive(Anchored):
    def on_nodes(self, active):
        return AnchoredWhereActive(self.strengths[active])


def test_numbers_of_nodes_follow_those_that_vary():
    silent = X.copy()
    silent[:, 2] = 1.0
    strengths = np.arange(1.0, 6.0)
    anchored, shifted = AnchoredWhereActive(strengths), Shifted(0.5)
    with pytest.warns(UserWarning, match="never vary"):
        model = GraphDict(2, likelihood=anchored, random_state=0).fit(silent)
    with pytest.warns(UserWarning, match="never vary"):
        plain = GraphDict(2, likelihood=shifted, random_state=0).fit(silent)
    kept = np.delete(silent, 2, axis=1)
    signals = (kept - kept.mean(axis=1, keepdims=True)) / model.scale_
    wanted = np.square(signals) @ (0.5 - np.delete(strengths, 2)) / 2
    assert_allclose(model.score_samples(silent) - plain.score_samples(silent), wanted)
    with (
        pytest.warns(UserWarning, match="never vary"),
        pytest.raises(TypeError, match=r"Anchored cannot be used on graphs of 4 nodes.*on_nodes"),
    ):
        GraphDict(2, likelihood=Anchored(strengths)).fit(silent)


class WithoutRest(Shifted):
    def rest(self, signals):
        return np.zeros(len(signals))


class BlindToGaps(Shifted):
    def rest(self, signals):
        return np.square(signals).sum(axis=1)


def test_missing_values_reach_what_does_not_depend_on_the_graph():
    gappy = X.copy()
    gappy[::7, 1] = np.nan
    gappy[3] = np.nan
    model = fit(signals=gappy, tol=1e-4)
    found = model.score_samples(gappy)
    without = model.set_params(likelihood=WithoutRest(0.5)).score_samples(gappy)
    known = np.delete(np.arange(60), 3)
    centred = gappy[known] - np.nanmean(gappy[known], axis=1, keepdims=True)
    rest = 0.5 * 5 * np.nanmean(np.square(centred / model.scale_), axis=1)
    assert_allclose((without - found)[known], rest / 2)
    assert (without - found)[3] == pytest.approx(rest.mean() / 2)  # an average sample
    nothing = np.full((2, 5), np.nan)
    assert np.isfinite(model.set_params(likelihood=Shifted(0.5)).score(nothing))
    model.set_params(likelihood=BlindToGaps(0.5))
    assert np.isfinite(model.score(X))
    with pytest.raises(ValueError, match=r"rest\(signals\) of the likelihood BlindToGaps.*missing"):
        model.score(gappy)


@pytest.mark.parametrize("solver", ["mm", "bipds"])
def test_single_precision_stays_whatever_a_barrier_computes_in(solver):
    model = fit(signals=X.astype(np.float32), solver=solver, max_iter=50, tol=1e-3)
    assert model.atoms_.dtype == model.coefficients_.dtype == np.float32
    double = fit(solver=solver, max_iter=50, tol=1e-3)
    assert model.objective_ == pytest.approx(double.objective_, rel=1e-4)


def test_a_model_that_lost_its_likelihood_says_which_it_was(tmp_path):
    model = fit(max_iter=20, tol=0.1)
    wanted, own = model.transform(X), model.likelihood
    model.set_params(likelihood=None).save(tmp_path / "own.graphdict")
    again = load_model(tmp_path / "own.graphdict")
    for method in (again.transform, again.score):
        with pytest.raises(ValueError, match=r"fitted with the likelihood Shifted.*set_params"):
            method(X)
    assert_allclose(again.set_params(likelihood=own).transform(X), wanted)
    assert again.set_params(likelihood=None).fit(X).likelihood_ == "LogDeterminant"


def test_what_is_no_likelihood_is_refused_by_the_public_name():
    with pytest.raises(ValueError, match=r"instance of 'graphdict\.terms\.Likelihood'"):
        GraphDict(2, likelihood=LogDet()).fit(X)


def test_log_determinants_of_what_is_no_graph_are_refused():
    with pytest.raises(ValueError, match="weights are not finite"):
        log_determinants(np.array([[[-1.0, np.nan], [np.nan, 1.0]]]))


def test_log_determinants_of_matrices_that_only_rounding_makes_singular():
    matrices = np.array([np.diag([4.0, 1.0]), np.diag([1.0, 0.0])])
    assert_allclose(log_determinants(matrices), [np.log(4), -np.inf])
    assert_allclose(log_determinants(matrices, raised=True), [np.log(4), np.log(2.0**-52)])
    assert_allclose(log_determinants(matrices[:1], raised=True), [np.log(4)])


class LinearlyPulled(ShiftedLogDet):
    """Its cost of edges makes it grow with graphs that are large: no barrier for MM."""

    def values(self, laplacians):
        return super().values(laplacians) + 0.3 * np.trace(laplacians, axis1=1, axis2=2)

    def prox(self, laplacians, step):
        return super().prox(laplacians - 0.3 * step * np.eye(laplacians.shape[-1]), step)

    def slope(self, laplacians):
        return super().slope(laplacians) - 0.3 * np.eye(laplacians.shape[-1])


class LinearlyPulledByProx(LinearlyPulled):
    slope = property()  # not there


class Pulled(Shifted):
    def __init__(self, barrier):
        self.eps, self.barrier = 0.5, barrier


def test_a_barrier_that_grows_with_edges_is_kept_from_majorise_minimise():
    reason = r"LinearlyPulled grows with the weight of some edge; solver='bipds' can"
    with pytest.raises(TypeError, match=reason):
        GraphDict(2, likelihood=Pulled(LinearlyPulled(0.5)), solver="mm").fit(X)
    own = Pulled(LinearlyPulledByProx(0.5))
    given = {"coefficients": RNG.uniform(0.2, 1, (60, 2)), "fix": "coefficients"}
    settings = {"max_iter": 20_000, "tol": 1e-8, **given}
    found = GraphDict(2, likelihood=own, alpha_w=0.0, **settings).fit(X)
    # The pull is a price of twice 0.3 for an edge, where its coefficient is one.
    price = 0.6 * given["coefficients"].mean(axis=0)[:, None]
    same = fit(alpha_w=0.0, atom_priors=[Price(price)], solver="bipds", **settings)
    assert found.objective_ == pytest.approx(same.objective_, abs=1e-6)
    assert found.transform(X).shape == (60, 2)  # with a curvature, and no slope
    derived = GraphDict(2, likelihood=Pulled(LinearlyPulled(0.5)), alpha_w=0.0, **settings).fit(X)
    assert_array_equal(derived.atoms_, found.atoms_)
    assert derived.history_["residual_dual"].size  # of the primal-dual solver
    needs = [
        GraphDict(2, likelihood=Pulled(b(0.5))) for b in (LinearlyPulled, LinearlyPulledByProx)
    ]
    assert len({model._memory_needed(1000, 5, 8) for model in needs}) == 1  # foreseen alike


def test_a_barrier_that_grows_with_edges_is_coded_by_its_derivatives():
    atoms = np.random.default_rng(0).uniform(0.5, 2, (2, 10))
    held = {"atoms": atoms, "fix": "atoms", "max_iter": 20_000, "tol": 1e-8}
    newton = GraphDict(2, likelihood=Pulled(LinearlyPulled(0.5)), **held).fit(X)
    splitting = GraphDict(2, likelihood=Pulled(LinearlyPulledByProx(0.5)), **held).fit(X)
    assert newton.n_iter_ == 1
    assert splitting.n_iter_ > 1
    assert ((newton.coefficients_ > 0.01) & (newton.coefficients_ < 0.99)).any()
    assert_allclose(newton.coefficients_, splitting.coefficients_, atol=1e-4)
    assert newton.objective_ <= splitting.objective_ + 1e-9


class Price:
    def __init__(self, price):
        self.price = price

    def value(self, atoms):
        return float((self.price * atoms).sum())

    def gradient(self, atoms):
        return self.price * np.ones_like(atoms)

    def lipschitz(self, atoms):
        return 0.0


def test_coding_leaves_the_arrays_of_a_barrier_as_they_are():
    class Cached(ShiftedLogDet):
        def curvature(self, laplacians, images):
            self.last = super().curvature(laplacians, images)
            self.last.flags.writeable = False
            return self.last

    model = GraphDict(2, likelihood=Pulled(Cached(0.5)), max_iter=5, tol=0.1, random_state=0)
    assert_allclose(model.fit(X).coefficients_, fit(max_iter=5, tol=0.1).coefficients_)
