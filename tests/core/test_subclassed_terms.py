"""Subclasses of the built-in terms: what they override counts, whatever the solver."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from graphdict import GraphDictLog, GraphDictSpectral
from graphdict.terms import (
    L1,
    ConstantOverWindows,
    Interval,
    NonNegative,
    Orthogonality,
    TotalVariation,
    UnitBox,
)

X = np.random.default_rng(0).standard_normal((30, 5))
EDGE_COSTS = np.linspace(1, 20, 10)
SAMPLE_COSTS = np.random.default_rng(1).uniform(0, 20, (30, 2))
HELD = np.random.default_rng(2).uniform(0.1, 0.3, (2, 10))


def _shrunk(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


class EdgesApart(L1):
    def value(self, atoms):
        return self.alpha * float((EDGE_COSTS * np.abs(atoms)).sum())

    def prox(self, atoms, step):
        return _shrunk(atoms, self.alpha * step * EDGE_COSTS)


class EntriesApart(L1):
    elementwise = False
    entrywise = True

    def value(self, coefficients, rows):
        return self.alpha * float((SAMPLE_COSTS[rows] * np.abs(coefficients)).sum())

    def prox(self, coefficients, step, rows):
        return _shrunk(coefficients, self.alpha * step * SAMPLE_COSTS[rows])


def _capped(parent):
    class Capped(parent):
        def value(self, x):
            return 0.0 if ((x >= 0) & (x <= 0.3)).all() else np.inf

        def prox(self, x, step):
            return np.clip(x, 0, 0.3)

    return Capped


class AllPairs(Orthogonality):
    def value(self, atoms):
        return self.alpha / 2 * float(np.square(atoms.sum(axis=0)).sum())

    def gradient(self, atoms):
        return np.broadcast_to(self.alpha * atoms.sum(axis=0), atoms.shape)

    def lipschitz(self, atoms):
        return self.alpha * len(atoms)


class Stiffer(TotalVariation):
    def value(self, coefficients):
        return TotalVariation(3 * self.alpha).value(coefficients)

    def prox(self, coefficients, step):
        return TotalVariation(3 * self.alpha).prox(coefficients, step)


class Longer(ConstantOverWindows):
    def value(self, coefficients):
        return ConstantOverWindows(2 * self.size).value(coefficients)

    def prox(self, coefficients, step):
        return ConstantOverWindows(2 * self.size).prox(coefficients, step)


CASES = [
    ("atom_priors", EdgesApart, L1, (0.05,)),
    ("atom_priors", AllPairs, Orthogonality, (0.5,)),
    ("atom_priors", _capped(NonNegative), NonNegative, ()),
    ("atom_priors", _capped(Interval), Interval, (0.0, 5.0)),
    ("coefficient_priors", EntriesApart, L1, (0.1,)),
    ("coefficient_priors", _capped(UnitBox), UnitBox, ()),
    ("coefficient_priors", _capped(NonNegative), NonNegative, ()),
    ("coefficient_priors", Stiffer, TotalVariation, (0.1,)),
    ("coefficient_priors", Longer, ConstantOverWindows, (3,)),
]
WAYS = [
    {"solver": "auto"},
    {"solver": "mm"},
    {"solver": "bipds"},
    {"solver": "alternating", "max_iter": 2},
    {"fix": "atoms", "atoms": HELD},
    {"fix": "coefficients", "coefficients": np.full((30, 2), 0.25)},
]


def _unrelated(kind):
    """Return a class with the methods of another, and none of its parents."""
    classes = reversed(kind.__mro__[:-1])
    found = {name: x for one in classes for name, x in vars(one).items()}
    own = {name: x for name, x in found.items() if name not in ("__dict__", "__weakref__")}
    return type(kind.__name__, (), own)


def _fit(model, place, prior, way):
    """Return what a fit finds, or why it refuses."""
    settings = {"alpha_w": 0.1, "alpha_c": 0.05, "max_iter": 30, "random_state": 0}
    try:
        found = model(2, **{**settings, **way}, **{place: [prior]}).fit(X)
    except TypeError as error:
        return str(error)
    return found.objective_, found.atoms_, found.coefficients_


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::graphdict.exceptions.DeadAtomWarning")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: next(iter(way.values())))
@pytest.mark.parametrize(("place", "kind", "parent", "settings"), CASES)
def test_subclass_is_fitted_as_an_unrelated_class(place, kind, parent, settings, way):
    found = _fit(GraphDictLog, place, kind(*settings), way)
    if way.get("solver") == "mm":
        assert isinstance(found, str)
        assert f"{kind.__name__} has no multiplicative update" in found
    expected = _fit(GraphDictLog, place, _unrelated(kind)(*settings), way)
    _assert_same(found, expected)
    held = way.get("fix") == place.replace("_priors", "s")
    if not (held or isinstance(found, str)):  # and it matters which of the two is meant
        assert found[0] != _fit(GraphDictLog, place, parent(*settings), way)[0]


@pytest.mark.filterwarnings("ignore::graphdict.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::graphdict.exceptions.DeadAtomWarning")
@pytest.mark.parametrize(("place", "kind", "parent", "settings"), CASES)
def test_subclass_in_the_model_of_shared_modes(place, kind, parent, settings):
    found = _fit(GraphDictSpectral, place, kind(*settings), {"solver": "auto"})
    expected = _fit(GraphDictSpectral, place, _unrelated(kind)(*settings), {"solver": "auto"})
    _assert_same(found, expected)


def _assert_same(found, expected):
    if isinstance(found, str):
        assert found == expected
        return
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)
