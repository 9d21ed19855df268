"""The compiled pass of the log model equals the plain formulas, whatever the shapes."""

import numpy as np
import pytest

from graphdict import barriers, graphs, kernels, padding, splitting, tiles

SHAPES = [
    (1, 2, 1), (5, 3, 2), (padding.TILE - 1, 4, 3), (padding.TILE, 5, 1), (padding.TILE + 1, 9, 4),
    (2 * padding.TILE + 7, 12, 5),
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
    }
    case = {name: array.astype(dtype) for name, array in case.items()}
    case["degrees"] = graphs.degrees(case["atoms"])
    tolerance = {"rtol": 1e-10} if dtype == np.float64 else {"rtol": 2e-4, "atol": 1e-5}
    return case, tolerance


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(shape, dtype):
    case, tolerance = _case(shape, dtype)
    signals, atoms, coefficients = case["signals"], case["atoms"], case["coefficients"]
    energies = tiles.energies(signals, atoms)
    distances = tiles.weighted_distances(signals, coefficients)
    np.testing.assert_allclose(energies, kernels.energies(signals, atoms), **tolerance)
    expected = kernels.weighted_distances(signals, coefficients)
    np.testing.assert_allclose(distances, expected, **tolerance)
    assert energies.dtype == distances.dtype == dtype


@pytest.mark.parametrize("modal", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_advance_takes_the_dual_step_and_finds_all_gradients(shape, dtype, modal):
    case, tolerance = _case(shape, dtype)
    sigma, degrees, after = 0.3, case["degrees"], case["coefficients"]
    packed = padding.pack(case["atoms"], degrees, 2 * degrees, sigma)
    found = splitting.advance(
        case["signals"], case["weights"], packed, case["before"], case["dual"],
        splitting.Moved(after, 0.25), modal,
    )  # fmt: skip
    plain = {name: array.astype(float) for name, array in case.items()}
    degrees, after, weights = plain["degrees"], plain["coefficients"], plain["weights"]
    step = plain["dual"] + sigma * (2 * after - plain["before"]) @ (2 * degrees)
    raised = (step - np.sqrt(step**2 + 4 * sigma)) / 2
    weighted = weights[:, None] * after
    mixed = weighted.T @ raised
    if modal:
        energies, distances = plain["signals"] @ degrees.T, 0.0
        mixed += weighted.T @ plain["signals"]
    else:
        energies = kernels.energies(plain["signals"], plain["atoms"])
        distances = kernels.weighted_distances(plain["signals"], weighted)
    gradient = 0.25 + energies + raised @ degrees.T
    np.testing.assert_allclose(found.energies, energies, **tolerance)
    np.testing.assert_allclose(found.distances, distances, **tolerance)
    assert found.coefficients is case["coefficients"]
    np.testing.assert_allclose(found.dual, raised, **tolerance)
    np.testing.assert_allclose(found.gradient, gradient, **tolerance)
    np.testing.assert_allclose(found.mixed, mixed, **tolerance)
    np.testing.assert_allclose(found.gram, weighted.T @ after, **tolerance)
    arrays = [array for array in found if isinstance(array, np.ndarray)]
    assert {array.dtype for array in arrays} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_advance_moves_coefficients_within_their_box(shape, dtype):
    case, tolerance = _case(shape, dtype)
    packed = padding.pack(case["atoms"], case["degrees"], case["degrees"], 0.3)
    slope = np.linspace(-3, 3, case["before"].size, dtype=dtype).reshape(case["before"].shape)
    arguments = case["signals"], case["weights"], packed, case["before"], case["dual"]
    move = splitting.Move(slope, 0.5, 0.1, 0.2, 0.9, 0.25)
    found = splitting.advance(*arguments, move, False)
    after = np.clip(case["before"] - dtype(0.5) * slope - dtype(0.1), dtype(0.2), dtype(0.9))
    np.testing.assert_allclose(found.coefficients, after, **tolerance)
    moved = splitting.Moved(found.coefficients, 0.25)
    wanted = splitting.advance(*arguments, moved, False)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_push_on_atoms(shape, dtype):
    case, tolerance = _case(shape, dtype)
    push = barriers.push_on_atoms(case["coefficients"], case["weights"], case["degrees"])
    weighted = case["weights"][:, None] * case["coefficients"]
    expected = weighted.T @ (1 / (case["coefficients"] @ case["degrees"]))
    np.testing.assert_allclose(push, expected, **tolerance)


@pytest.mark.parametrize("stretch", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_recode(shape, dtype, stretch):
    case, tolerance = _case(shape, dtype)
    recoded, (value, gradient, scale) = barriers.recode(
        case["coefficients"], case["weights"], case["degrees"],
        kernels.energies(case["signals"], case["atoms"]), dtype(0.1), 3, stretch,
    )  # fmt: skip
    energies = kernels.energies(case["signals"], case["atoms"]).astype(float)
    degrees = case["degrees"].astype(float)
    c = case["coefficients"].astype(float)
    for inner in range(3):
        push = (1 / (c @ degrees)) @ degrees.T
        if inner == 0:
            slope = energies + 0.1 - push
            free = np.where((c >= 1) & (slope < 0), 0, c * slope)
            np.testing.assert_allclose(gradient, np.sum(free**2), rtol=1e-3)
            np.testing.assert_allclose(scale, np.sum((c * (energies + 0.1)) ** 2), rtol=1e-3)
        c = np.minimum(1, c * (push / (energies + 0.1)) ** (1.5 if stretch else 1))
    logs = np.log(c @ degrees).sum(axis=1)
    np.testing.assert_allclose(recoded, c, rtol=tolerance["rtol"] * 10)
    expected = case["weights"] @ (np.sum(c * energies, axis=1) - logs)
    np.testing.assert_allclose(value, expected, rtol=1e-4 if dtype == np.float32 else 1e-9)


def _value(case, atoms):
    """Of the coefficients as they are."""
    energies = kernels.energies(case["signals"], atoms)
    recoded, (value, _, _) = barriers.recode(
        case["coefficients"], case["weights"], graphs.degrees(atoms), energies, 0.0, 0, False
    )
    np.testing.assert_array_equal(recoded, case["coefficients"])
    return value


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
