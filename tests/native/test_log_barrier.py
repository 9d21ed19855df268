"""The compiled pass of the log model equals the plain formulas, whatever the shapes."""

from importlib import import_module

import numpy as np
import pytest

from graphdict import native
from graphdict.core import graphs, kernels
from graphdict.native import log_barrier, products, proxes

# Some fill the last register, tile or group of six, some do not.
SHAPES = [
    (1, 2, 1), (5, 3, 2), (159, 4, 3), (160, 5, 1), (321, 9, 4), (647, 12, 5), (50, 13, 7),
]  # fmt: skip


def _case(shape, dtype):
    samples, nodes, count = shape
    rng = np.random.default_rng(samples)
    case = {
        "signals": rng.normal(size=(samples, nodes)),
        "coefficients": rng.uniform(0.01, 1, size=(samples, count)),
        "atoms": rng.uniform(size=(count, graphs.n_edges(nodes))),
        "weights": rng.dirichlet(np.ones(samples)),
        "dual": rng.normal(size=(samples, nodes)),
        "before": rng.uniform(size=(samples, count)),
        "slope": rng.normal(size=(samples, count)),
    }
    case = {name: a if name == "weights" else a.astype(dtype) for name, a in case.items()}
    case["degrees"] = graphs.degrees(case["atoms"])
    tolerance = {"rtol": 1e-10} if dtype == np.float64 else {"rtol": 2e-4, "atol": 1e-5}
    return case, tolerance


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(shape, dtype):
    case, tolerance = _case(shape, dtype)
    signals, atoms, coefficients = case["signals"], case["atoms"], case["coefficients"]
    energies = products.energies(signals, atoms)
    distances = products.weighted_distances(signals, coefficients)
    np.testing.assert_allclose(energies, kernels.energies(signals, atoms), **tolerance)
    expected = kernels.weighted_distances(signals, coefficients)
    np.testing.assert_allclose(distances, expected, **tolerance)
    assert energies.dtype == distances.dtype == dtype


def _advance(case, sigma, goal, modal, check):
    dtype = case["signals"].dtype
    lead = log_barrier.AtomMove.of(case["atoms"], case["degrees"], -case["degrees"], sigma)
    stand = log_barrier.SampleArrays(case["before"], case["slope"], case["dual"])
    weights = case["weights"].astype(dtype)
    job, found = log_barrier.primal_dual_pass(
        case["signals"], weights, lead, stand, goal, modal, check
    )
    job()
    return found


@pytest.mark.parametrize("modal", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_advance_takes_the_dual_step_and_finds_all_gradients(shape, dtype, modal):
    case, tolerance = _case(shape, dtype)
    sigma, tau = 0.3, 0.5
    goal = log_barrier.CoefficientMove(case["coefficients"], 0.25, tau, None)
    found = _advance(case, sigma, goal, modal, check=True)
    plain = {name: array.astype(float) for name, array in case.items()}
    degrees, after, weights = plain["degrees"], plain["coefficients"], plain["weights"]
    ahead = (2 * after - plain["before"]) @ (3 * degrees)
    step = plain["dual"] + sigma * ahead
    raised = (step - np.sqrt(step**2 + 4 * sigma)) / 2
    weighted = weights[:, None] * after
    mixed = weighted.T @ raised
    if modal:
        energies, distances = plain["signals"] @ degrees.T, np.empty((len(degrees), 0))
        mixed += weighted.T @ plain["signals"]
    else:
        energies = kernels.energies(plain["signals"], plain["atoms"])
        distances = kernels.weighted_distances(plain["signals"], weighted)
    gradient = 0.25 + energies + raised @ degrees.T
    np.testing.assert_allclose(found.energies, energies, **tolerance)
    np.testing.assert_allclose(found.distances, distances, **tolerance)
    np.testing.assert_allclose(found.dual, raised, **tolerance)
    np.testing.assert_allclose(found.gradient, gradient, **tolerance)
    np.testing.assert_allclose(found.mixed_dual, mixed, **tolerance)
    np.testing.assert_allclose(found.gram, weighted.T @ after, **tolerance)
    assert {array.dtype for array in found[:-1]} == {np.dtype(dtype)}

    image = after @ degrees
    gap = ahead - image + (plain["dual"] - raised) / sigma
    slack = gradient - plain["slope"] - (after - plain["before"]) / tau
    numbers = [
        weights @ (np.sum(after * energies, axis=1) - np.log(image).sum(axis=1)),
        np.sum(gap**2), np.sum(image**2), weights @ np.sum(energies**2, axis=1),
        weights @ np.sum(slack**2, axis=1), np.sum(after**2),
    ]  # fmt: skip
    np.testing.assert_allclose(found.numbers, numbers, rtol=1e-8 if dtype == np.float64 else 2e-3)
    unchecked = _advance(case, sigma, goal, modal, check=False)
    np.testing.assert_array_equal(unchecked.gradient, found.gradient)
    assert not unchecked.numbers.size


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_advance_moves_coefficients_within_their_box(shape, dtype):
    case, _ = _case(shape, dtype)
    box = proxes.Box(0.2, 0.9, 0.2, 0.25)
    goal = log_barrier.CoefficientMove(np.empty_like(case["before"]), 0.0, 0.5, box)
    found = _advance(case, 0.3, goal, False, check=True)
    after = np.clip(
        case["before"] - dtype(0.5) * case["slope"] - dtype(0.1), dtype(0.2), dtype(0.9)
    )
    np.testing.assert_allclose(found.coefficients, after, rtol=1e-6)
    descended = proxes.projected_step(case["before"], case["slope"], 0.5, box)
    np.testing.assert_array_equal(found.coefficients, descended)
    goal = log_barrier.CoefficientMove(found.coefficients, 0.25, 0.5, None)
    wanted = _advance(case, 0.3, goal, False, check=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_gap_of_the_dual_is_zero_where_nothing_moves():
    case, _ = _case((321, 9, 4), np.float64)
    case["before"] = case["coefficients"]
    lead = log_barrier.AtomMove.of(case["atoms"], case["degrees"], case["degrees"], 0.3)
    image = case["coefficients"] @ case["degrees"]
    dual = -1 / image
    for _ in range(500):  # until rounding leaves it where it is
        stand = log_barrier.SampleArrays(case["before"], case["slope"], dual)
        goal = log_barrier.CoefficientMove(case["coefficients"], 0.0, 0.5, None)
        job, found = log_barrier.primal_dual_pass(
            case["signals"], case["weights"], lead, stand, goal, False, True
        )
        job()
        if np.array_equal(dual, found.dual):
            break
        dual = found.dual
    assert found.numbers[1] == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_push_on_atoms(shape, dtype):
    case, tolerance = _case(shape, dtype)
    job, push = log_barrier.atom_slopes(case["coefficients"], case["weights"], case["degrees"])
    job()
    weighted = case["weights"][:, None] * case["coefficients"]
    expected = weighted.T @ (1 / (case["coefficients"] @ case["degrees"]))
    np.testing.assert_allclose(push, expected, **tolerance)


def _recode(case, atoms, shrinkage, rounds, stretch, modal=False):
    degrees = graphs.degrees(atoms)
    given = case["signals"], case["weights"], atoms, degrees, case["coefficients"]
    job, found = log_barrier.update_coefficients(*given, shrinkage, rounds, stretch, modal)
    job()
    return found


@pytest.mark.parametrize("modal", [False, True])
@pytest.mark.parametrize("stretch", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_recode(shape, dtype, stretch, modal):
    case, tolerance = _case(shape, dtype)
    if modal:
        case["signals"] = np.square(case["signals"])
    found = _recode(case, case["atoms"], 0.1, 3, stretch, modal)
    value, gradient, scale = found.numbers
    plain = {name: array.astype(float) for name, array in case.items()}
    degrees, c, signals = plain["degrees"], plain["coefficients"], plain["signals"]
    energies = signals @ degrees.T if modal else kernels.energies(signals, plain["atoms"])
    for inner in range(3):
        push = (1 / (c @ degrees)) @ degrees.T
        if inner == 0:
            slope = energies + 0.1 - push
            free = np.where((c >= 1) & (slope < 0), 0, c * slope)
            np.testing.assert_allclose(gradient, np.sum(free**2), rtol=1e-3)
            np.testing.assert_allclose(scale, np.sum((c * (energies + 0.1)) ** 2), rtol=1e-3)
        c = np.minimum(1, c * (push / (energies + 0.1)) ** (1.5 if stretch else 1))
    logs = np.log(c @ degrees).sum(axis=1)
    np.testing.assert_allclose(found.coefficients, c, rtol=tolerance["rtol"] * 10)
    expected = case["weights"] @ (np.sum(c * energies, axis=1) - logs)
    np.testing.assert_allclose(value, expected, rtol=1e-3 if dtype == np.float32 else 1e-9)
    weighted = plain["weights"][:, None] * c
    sums = weighted.T @ signals if modal else kernels.weighted_distances(signals, weighted)
    np.testing.assert_allclose(found.distances, sums, rtol=tolerance["rtol"] * 10, atol=1e-6)


def _value(case, atoms):
    """Of the coefficients as they are."""
    found = _recode(case, atoms, 0.0, 0, False)
    np.testing.assert_array_equal(found.coefficients, case["coefficients"])
    return found.numbers[0]


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_value_where_products_of_degrees_leave_the_range(size):
    case, _ = _case((300, 8, 2), np.float64)
    atoms = size * case["atoms"]
    energies = kernels.energies(case["signals"], atoms)
    logs = np.log(case["coefficients"] @ graphs.degrees(atoms)).sum(axis=1)
    expected = case["weights"] @ (np.sum(case["coefficients"] * energies, axis=1) - logs)
    np.testing.assert_allclose(_value(case, atoms), expected, rtol=1e-10)


def test_a_graph_without_edges_has_no_finite_value():
    case, _ = _case((20, 4, 2), np.float64)
    assert _value(case, np.zeros_like(case["atoms"])) == np.inf


def test_arrays_that_do_not_fit_are_refused():
    case, _ = _case((20, 4, 2), np.float64)
    atoms, signals = case["atoms"], case["signals"]
    with pytest.raises(ValueError, match="edges of the signals"):
        native.energies(signals, atoms[:, :5].copy(), np.empty((20, 2)))
    with pytest.raises(ValueError, match="samples, atoms"):
        native.energies(signals, atoms, np.empty((19, 2)))
    with pytest.raises(TypeError, match="incompatible"):
        native.energies(signals, atoms.astype(np.float32), np.empty((20, 2)))
    with pytest.raises(TypeError, match="incompatible"):
        native.energies(np.asfortranarray(signals), atoms, np.empty((20, 2)))
    fixed = np.empty((20, 2))
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        native.energies(signals, atoms, fixed)


def test_both_builds_agree(monkeypatch):
    portable = import_module("graphdict.native._portable")
    case, tolerance = _case((647, 12, 5), np.float64)
    found = _recode(case, case["atoms"], 0.1, 3, True)
    monkeypatch.setattr(native, "compiled", portable)
    wanted = _recode(case, case["atoms"], 0.1, 3, True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)
