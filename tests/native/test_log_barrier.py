"""The compiled pass of the log model equals the plain formulas, whatever the shapes."""

from importlib import import_module

import numpy as np
import pytest

import explicit_products as explicit
from graphdict import native
from graphdict.core import graphs
from graphdict.core.term_group import Box
from graphdict.native import log_barrier, products, proxes
from graphdict.native.coefficients import UpdateRule

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
    np.testing.assert_allclose(energies, explicit.energies(signals, atoms), **tolerance)
    expected = explicit.weighted_distances(signals, coefficients)
    np.testing.assert_allclose(distances, expected, **tolerance)
    assert energies.dtype == distances.dtype == dtype


def _run_pass(case, sigma, move, powers, check):
    dtype = case["signals"].dtype
    atoms_moved = log_barrier.AtomMove(case["atoms"], case["degrees"], 3 * case["degrees"], sigma)
    before = log_barrier.SampleArrays(case["before"], case["slope"], case["dual"])
    weights = case["weights"].astype(dtype)
    job, found = log_barrier.primal_dual_pass(
        case["signals"], weights, atoms_moved, before, move, powers, check
    )
    job()
    return found


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_pass_takes_the_dual_step_and_finds_all_gradients(shape, dtype, powers):
    case, tolerance = _case(shape, dtype)
    sigma, tau = 0.3, 0.5
    move = log_barrier.CoefficientMove(case["coefficients"], 0.25, tau, None)
    found = _run_pass(case, sigma, move, powers, check=True)
    plain = {name: array.astype(float) for name, array in case.items()}
    degrees, after, weights = plain["degrees"], plain["coefficients"], plain["weights"]
    extrapolated = (2 * after - plain["before"]) @ (3 * degrees)
    step = plain["dual"] + sigma * extrapolated
    new_dual = (step - np.sqrt(step**2 + 4 * sigma)) / 2
    weighted = weights[:, None] * after
    mixed = weighted.T @ new_dual
    if powers:
        energies, distances = plain["signals"] @ degrees.T, np.empty((len(degrees), 0))
        mixed += weighted.T @ plain["signals"]
    else:
        energies = explicit.energies(plain["signals"], plain["atoms"])
        distances = explicit.weighted_distances(plain["signals"], weighted)
    gradient = 0.25 + energies + new_dual @ degrees.T
    np.testing.assert_allclose(found.energies, energies, **tolerance)
    np.testing.assert_allclose(found.distances, distances, **tolerance)
    np.testing.assert_allclose(found.dual, new_dual, **tolerance)
    np.testing.assert_allclose(found.gradient, gradient, **tolerance)
    np.testing.assert_allclose(found.mixed_dual, mixed, **tolerance)
    np.testing.assert_allclose(found.gram, weighted.T @ after, **tolerance)
    assert {array.dtype for array in found[:-1]} == {np.dtype(dtype)}

    image = after @ degrees
    gap = extrapolated - image + (plain["dual"] - new_dual) / sigma
    slack = gradient - plain["slope"] - (after - plain["before"]) / tau
    numbers = [
        weights @ (np.sum(after * energies, axis=1) - np.log(image).sum(axis=1)),
        np.sum(gap**2), np.sum(image**2), weights @ np.sum(energies**2, axis=1),
        weights @ np.sum(slack**2, axis=1), np.sum(after**2),
    ]  # fmt: skip
    np.testing.assert_allclose(found.numbers, numbers, rtol=1e-8 if dtype == np.float64 else 2e-3)
    unchecked = _run_pass(case, sigma, move, powers, check=False)
    np.testing.assert_array_equal(unchecked.gradient, found.gradient)
    assert not unchecked.numbers.size


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_pass_moves_coefficients_within_their_box(shape, dtype):
    case, _ = _case(shape, dtype)
    box = Box(0.2, 0.9, 0.2, 0.25)
    move = log_barrier.CoefficientMove(np.empty_like(case["before"]), 0.0, 0.5, box)
    found = _run_pass(case, 0.3, move, False, check=True)
    after = np.clip(
        case["before"] - dtype(0.5) * case["slope"] - dtype(0.1), dtype(0.2), dtype(0.9)
    )
    np.testing.assert_allclose(found.coefficients, after, rtol=1e-6)
    descended = proxes.projected_step(case["before"], case["slope"], 0.5, box)
    np.testing.assert_array_equal(found.coefficients, descended)
    move = log_barrier.CoefficientMove(found.coefficients, 0.25, 0.5, None)
    wanted = _run_pass(case, 0.3, move, False, check=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_gap_of_the_dual_is_zero_where_nothing_moves():
    case, _ = _case((321, 9, 4), np.float64)
    case["before"] = case["coefficients"]
    atoms_moved = log_barrier.AtomMove(case["atoms"], case["degrees"], case["degrees"], 0.3)
    image = case["coefficients"] @ case["degrees"]
    dual = -1 / image
    for _ in range(500):  # until rounding leaves it where it is
        before = log_barrier.SampleArrays(case["before"], case["slope"], dual)
        move = log_barrier.CoefficientMove(case["coefficients"], 0.0, 0.5, None)
        job, found = log_barrier.primal_dual_pass(
            case["signals"], case["weights"], atoms_moved, before, move, False, True
        )
        job()
        if np.array_equal(dual, found.dual):
            break
        dual = found.dual
    assert found.numbers[1] == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_atom_slopes(shape, dtype):
    case, tolerance = _case(shape, dtype)
    job, slope = log_barrier.atom_slopes(case["coefficients"], case["weights"], case["degrees"])
    job()
    weighted = case["weights"][:, None] * case["coefficients"]
    expected = weighted.T @ (1 / (case["coefficients"] @ case["degrees"]))
    np.testing.assert_allclose(slope, expected, **tolerance)


def _update(case, atoms, shrinkage, rounds, over_relaxed, powers=False):
    degrees = graphs.degrees(atoms)
    given = case["signals"], case["weights"], atoms, degrees, case["coefficients"]
    rule = UpdateRule(shrinkage, rounds, over_relaxed)
    job, found = log_barrier.update_coefficients(*given, rule, powers)
    job()
    return found


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize("over_relaxed", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_update_coefficients(shape, dtype, over_relaxed, powers):
    case, tolerance = _case(shape, dtype)
    if powers:
        case["signals"] = np.square(case["signals"])
    found = _update(case, case["atoms"], 0.1, 3, over_relaxed, powers)
    value, gradient, scale = found.numbers
    plain = {name: array.astype(float) for name, array in case.items()}
    degrees, c, signals = plain["degrees"], plain["coefficients"], plain["signals"]
    energies = signals @ degrees.T if powers else explicit.energies(signals, plain["atoms"])
    for inner in range(3):
        slope = (1 / (c @ degrees)) @ degrees.T
        if inner == 0:
            in_c = energies + 0.1 - slope
            free = np.where((c >= 1) & (in_c < 0), 0, c * in_c)
            np.testing.assert_allclose(gradient, np.sum(free**2), rtol=1e-3)
            np.testing.assert_allclose(scale, np.sum((c * (energies + 0.1)) ** 2), rtol=1e-3)
        c = np.minimum(1, c * (slope / (energies + 0.1)) ** (1.5 if over_relaxed else 1))
    logs = np.log(c @ degrees).sum(axis=1)
    np.testing.assert_allclose(found.coefficients, c, rtol=tolerance["rtol"] * 10)
    expected = case["weights"] @ (np.sum(c * energies, axis=1) - logs)
    np.testing.assert_allclose(value, expected, rtol=1e-3 if dtype == np.float32 else 1e-9)
    weighted = plain["weights"][:, None] * c
    sums = weighted.T @ signals if powers else explicit.weighted_distances(signals, weighted)
    np.testing.assert_allclose(found.distances, sums, rtol=tolerance["rtol"] * 10, atol=1e-6)


def _value(case, atoms):
    """Of the coefficients as they are."""
    found = _update(case, atoms, 0.0, 0, False)
    np.testing.assert_array_equal(found.coefficients, case["coefficients"])
    return found.numbers[0]


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_value_where_products_of_degrees_leave_the_range(size):
    case, _ = _case((300, 8, 2), np.float64)
    atoms = size * case["atoms"]
    energies = explicit.energies(case["signals"], atoms)
    logs = np.log(case["coefficients"] @ graphs.degrees(atoms)).sum(axis=1)
    expected = case["weights"] @ (np.sum(case["coefficients"] * energies, axis=1) - logs)
    np.testing.assert_allclose(_value(case, atoms), expected, rtol=1e-10)


def test_a_graph_without_edges_has_no_finite_value():
    case, _ = _case((20, 4, 2), np.float64)
    assert _value(case, np.zeros_like(case["atoms"])) == np.inf


def _misaligned(array):
    """The same numbers, one byte off."""
    memory = np.empty(array.nbytes + 1, np.uint8)
    found = memory[1:].view(array.dtype).reshape(array.shape)
    found[:] = array
    assert found.flags.c_contiguous
    assert not found.flags.aligned
    return found


def test_groups_of_arrays_that_do_not_fit_are_refused():
    case, _ = _case((20, 4, 2), np.float64)
    box = Box(0.0, 1.0, 0.2, 0.25)
    move = log_barrier.CoefficientMove(np.empty((20, 2)), 0.0, 0.5, box)
    _run_pass(case, 0.3, move, False, check=True)
    with pytest.raises(ValueError, match="coefficients must be"):
        _run_pass(case, 0.3, move._replace(coefficients=np.empty((20, 3))), False, check=True)
    for name, wrong in [("dual", np.float32), ("before", np.float32), ("atoms", np.float32)]:
        with pytest.raises(TypeError, match="incompatible"):
            _run_pass({**case, name: case[name].astype(wrong)}, 0.3, move, False, check=True)
    with pytest.raises(TypeError, match="incompatible"):
        _run_pass({**case, "dual": np.asfortranarray(case["dual"])}, 0.3, move, False, check=True)
    with pytest.raises(ValueError, match="not aligned"):
        _run_pass({**case, "dual": _misaligned(case["dual"])}, 0.3, move, False, check=True)
    with pytest.raises(TypeError, match="incompatible"):
        _run_pass(case, 0.3, move._replace(box=(0.0, 1.0, 0.2)), False, check=True)


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
    with pytest.raises(ValueError, match="not aligned"):
        native.energies(signals, _misaligned(atoms), np.empty((20, 2)))
    with pytest.raises(ValueError, match="not aligned"):
        native.energies(signals, atoms, _misaligned(np.empty((20, 2))))
    fixed = np.empty((20, 2))
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        native.energies(signals, atoms, fixed)


def test_both_builds_agree(monkeypatch):
    portable = import_module("graphdict.native._portable")
    case, tolerance = _case((647, 12, 5), np.float64)
    found = _update(case, case["atoms"], 0.1, 3, True)
    monkeypatch.setattr(native, "compiled", portable)
    wanted = _update(case, case["atoms"], 0.1, 3, True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)
