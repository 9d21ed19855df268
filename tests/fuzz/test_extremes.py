"""Every setting of every estimator that is a number, from the least to the largest there is."""

from numbers import Real

import estimators
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from graphdict import GraphDictExact, GraphDictLog, GraphDictMarginal, GraphDictSpectralRelaxed

STEPPING = [kind for kind in estimators.KINDS if "tau_atoms" in estimators.OPTIONS[kind]]
SIZES = (1e-300, 1e-130, 1e-70, 1e11, 1e20)
QUICK = {"max_iter": 5, "n_init": 1, "random_state": 0, "window_size": 4, "n_atoms": 2, "depth": 4}


def settings(kind):
    """The parameters that may be any number in a range."""
    return [
        name
        for name, allowed in kind._parameter_constraints.items()
        if any(isinstance(a, Interval) and a.type is Real for a in allowed)
        and name in kind().get_params()
    ]


def plain(rng):
    return rng.standard_normal((12, 4)) @ rng.standard_normal((4, 4))


def few_rows(rng):
    """Clusters of samples that are all alike, in single precision."""
    return np.repeat(rng.standard_normal((2, 4)), 5, axis=0).astype(np.float32)


def twins(rng):
    """Two nodes that have the same signal, in single precision."""
    x = plain(rng).astype(np.float32)
    x[:, 0] = x[:, 1]
    return x


def all_alike(rng):
    return np.repeat(rng.integers(-5, 6, (12, 1)), 2, axis=1)


def mostly_silent(rng):
    """Windows in which few nodes differ, or none, in single precision."""
    return (rng.integers(-1, 2, (16, 4)) * (rng.random((16, 4)) < 0.3)).astype(np.float32)


def lonely_giant(rng):
    """One value, with no other beside it, that is out of all proportion."""
    x = plain(rng)
    x[3] = np.nan
    x[3, 0] = 1e200
    return x


def giants_that_agree(rng):
    """Samples in which all nodes have one value, out of all proportion, that leaves no trace."""
    x = rng.standard_normal((12, 6))  # of six equal numbers, the mean is rounded
    x[::3] = 1e200 * rng.standard_normal((4, 1))
    return x


def giants_that_agree_with_gaps(rng):
    x = giants_that_agree(rng)
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


def all_alike_with_gaps(rng):
    x = np.repeat(rng.standard_normal((12, 1)), 4, axis=1)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


GAPS = (lonely_giant, giants_that_agree_with_gaps, all_alike_with_gaps)
SIGNALS = (plain, few_rows, twins, all_alike, mostly_silent, giants_that_agree, *GAPS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", estimators.KINDS, ids=lambda kind: kind.__name__)
def test_settings_of_any_size_give_numbers_or_are_named(kind):
    model = kind()
    quick = {name: QUICK[name] for name in set(QUICK) & set(model.get_params())}
    model.set_params(**quick)
    drawn = [draw for draw in SIGNALS if draw not in GAPS or kind._takes_gaps]
    for name in settings(kind):
        others = {"avg_degree": None} if name == "beta" and hasattr(model, "likelihood") else {}
        for number, size in enumerate(SIZES):
            given = clone(model).set_params(**{name: size}, **others)
            some = drawn
            if "n_atoms" in quick:  # which takes longer
                some = [drawn[number % len(drawn)]]
            for draw in some:
                rng = np.random.default_rng(number)
                estimators.one_fit(rng, given, draw(rng))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("draw", SIGNALS, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("kind", estimators.KINDS, ids=lambda kind: kind.__name__)
def test_penalties_next_to_nothing_are_nothing(kind, draw):
    """All at once, on signals that cost edges nothing."""
    model = kind()
    quick = {name: QUICK[name] for name in set(QUICK) & set(model.get_params())}
    rng = np.random.default_rng(0)
    for size in (1e-300, 1e-100, 1e-45):
        names = {"alpha_w", "beta", "alpha_views", "alpha_diff", "alpha_orth", "reg_covar"}
        given = {**quick, **dict.fromkeys(names & set(model.get_params()), size)}
        estimators.one_fit(rng, clone(model).set_params(**given), draw(rng))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("last", [False, True], ids=["best", "last"])
@pytest.mark.parametrize("kind", STEPPING, ids=lambda kind: kind.__name__)
def test_steps_of_any_size_give_numbers_or_are_named(kind, last):
    """Iterates may diverge, and with a generous tolerance that is where they end."""
    for name in ("tau_atoms", "tau_coefficients", "sigma"):
        for number, size in enumerate((0.0, 1e-20, 1e5, 1e11, 1e20)):
            for tol, alpha_c in ((1e-4, 0.0), (1e300, 1e4)):
                rng = np.random.default_rng(number)
                model = kind(
                    2, solver="bipds", max_iter=20, n_init=2, tol=tol, alpha_c=alpha_c,
                    last_iterate=last, random_state=0, rescale=number % 2 == 0, **{name: size},
                )  # fmt: skip
                estimators.one_fit(rng, model, SIGNALS[number](rng))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("penalties", [{"alpha_c": 700.0, "alpha_diff": 0.04}, {}])
@pytest.mark.parametrize("iterations", [1, 4])
def test_a_stream_goes_on_from_last_iterates(penalties, iterations):
    """Even where samples have no graph yet, which have no slope, and no objective."""
    for seed in range(4):
        x = plain(np.random.default_rng(seed))
        model = GraphDictLog(
            2, solver="bipds", last_iterate=True, max_iter=iterations, random_state=seed,
            **penalties,
        )  # fmt: skip
        if estimators.refusal(model, model.fit, x) is None:
            estimators.check_fitted(model.partial_fit(x[::-1]))
            assert np.isfinite(model.objective_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("draw", SIGNALS, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("kind", [GraphDictLog, GraphDictMarginal], ids=lambda kind: kind.__name__)
def test_streams_in_which_weights_cost_next_to_nothing(kind, draw):
    """Batch for batch, forgetting all before it; some signals cost edges nothing at all."""
    for number, size in enumerate((0.0, 1e-300, 1e-45)):
        x = draw(np.random.default_rng(number))
        model = kind(1, alpha_w=size, forgetting=1e-300, max_iter=4, n_init=1, random_state=0)
        if estimators.refusal(model, model.fit, x) is None:
            for batch in (x, x[::-1], x):
                estimators.check_fitted(model.partial_fit(batch))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", estimators.KINDS, ids=lambda kind: kind.__name__)
def test_weights_that_cost_next_to_nothing_beside_other_penalties(kind):
    """Weights are then large, and their squares too large for single precision."""
    allowed = set(kind().get_params())
    for size in (1e-13, 1e-23, 1e-30):
        for atoms in (1, 3):
            options = {**QUICK, "alpha_w": size, "alpha_orth": 10.0, "n_atoms": atoms}
            given = {name: options[name] for name in options.keys() & allowed}
            rng = np.random.default_rng(atoms)
            estimators.one_fit(rng, kind(**given), all_alike(rng).astype(np.float32))


@pytest.mark.parametrize("kind", [GraphDictLog, GraphDictExact, GraphDictSpectralRelaxed])
def test_given_atoms_are_measured_by_signals_in_their_own_unit(kind):
    """Without rescaling, weights go with the inverse of the signals' mean square."""
    signals = 1e7 * np.random.default_rng(0).standard_normal((20, 4))
    light = kind(2, atoms=np.full((2, 6), 1e-14), rescale=False, max_iter=5, random_state=0)
    assert np.isfinite(light.fit(signals).score(signals))
    with pytest.raises(ValueError, match="largest of atoms must lie between"):
        kind(2, atoms=np.full((2, 6), 1e12), rescale=False).fit(signals)
