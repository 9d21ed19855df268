"""Any estimator with any options on any signals: numbers, or an error that names what is wrong."""

import pickle
import re
import tempfile
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from odd_signals import draw_recordings, draw_signals

from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    GraphDictSpectralRelaxed,
    load_model,
)
from graphdict.baselines import (
    GLMM,
    TGFA,
    GaussianMixtureGraphs,
    KGraphs,
    LogModel,
    WindowLogModel,
)
from graphdict.models import soft
from graphdict.related import ConsensusGraphs

CODING_STEPS = 300  # of which many take long where coefficients are tied together
WORST = 1 + 1e-6  # above which a coefficient is wrong: one, and rounding of float32


def any_size(rng):
    """A penalty: mostly of a size that is used, sometimes of any size at all.

    Of the latter, few are so large that they are refused at once.
    """
    if rng.random() < 0.15:
        return float(10.0 ** pick(*rng.uniform([-300, -60, -15, 0], [300, 12, 12, 12]))(rng))
    return float(rng.choice([0, 1e-8, 1e-3, 0.04, 0.1, 1, 10, 1e4]))


def any_step(rng):
    return float(pick(0, *10 ** rng.uniform([-4, -30, -2], [1, 30, 2]), any_size(rng))(rng))


def pick(*choices):
    return lambda rng: choices[rng.integers(len(choices))]


def any_power(rng):
    return rng.choice([1.0, 1.5, 2.0, 4.0, 30.0, 10.0 ** rng.uniform(0, rng.choice([1, 300]))])


def any_tails(rng):
    return float(rng.choice([2.0001, 3, 30, 1e6, 2 + 10.0 ** rng.uniform(-15, 300), np.inf]))


def or_nothing(draw):
    return lambda rng: pick(None, None, draw(rng))(rng)


count, seed, window = pick(1, 2, 3, 5), pick(0, 1, 2), pick(1, 1, 2, 5)
tolerance = pick(0.0, 1e-12, 1e-4, 1e-2, 1.0, 1e300)
unit = pick(True, True, True, False, False, "recording")
SOFT = {
    "n_atoms": count, "alpha_w": any_size, "alpha_c": any_size, "alpha_orth": any_size,
    "alpha_diff": any_size, "window_size": window,
    "solver": pick("auto", "auto", "bipds", "bipds", "bipds", "mm", "alternating"),
    "init": pick("k-means++", "uniform", "discrete"), "n_init": pick(1, 2), "tol": tolerance,
    "max_iter": pick(1, 4, 20), "rescale": unit, "random_state": seed,
}  # fmt: skip
ALGORITHM_1 = {
    **SOFT, "tau_atoms": or_nothing(any_step), "tau_coefficients": or_nothing(any_step),
    "sigma": or_nothing(any_step), "last_iterate": pick(False, True),
}  # fmt: skip
MODAL = {**ALGORITHM_1, "modes": pick("covariance", "covariance", None)}
LOG_DEGREE = {
    "avg_degree": pick(1, 2.5, 5, 1e3, 1e300), "beta": lambda rng: pick(None, any_size(rng))(rng),
    "alpha_w": any_size, "rescale": unit,
}  # fmt: skip
CLUSTERS = {
    "n_clusters": count, "n_init": pick(1, 2), "max_iter": pick(1, 8), "tol": tolerance,
    "random_state": seed,
}  # fmt: skip
OPTIONS = {
    GraphDictLog: {**ALGORITHM_1, "forgetting": pick(1.0, 0.9, 1e-300)},
    GraphDictSpectral: MODAL,
    GraphDictSpectralRelaxed: {**MODAL, "alpha_modes": any_size},
    GraphDictExact: {
        **SOFT, "max_iter": pick(1, 5),
        "filter_power": lambda rng: pick(1, 1, "auto", any_power(rng))(rng),
        "tails": lambda rng: pick("gaussian", "gaussian", "auto", any_tails(rng))(rng),
    },
    GraphDictHier: {
        "depth": pick(0, 1, 2, 9), "n_windows": pick(None, None, 1, 3), "alpha_w": any_size,
        "likelihood": pick("log-det", "log-degree"), "beta": any_size,
        "avg_degree": pick(None, 1, 2, 1e300), "max_iter": pick(1, 7, 60), "tol": tolerance,
        "rescale": unit,
    },
    GraphDictMarginal: {
        "n_atoms": pick(1, 2, 3, 7), "max_active": pick(None, 1, 2),
        "alpha_w": lambda rng: pick("auto", any_size(rng))(rng),
        "levels": pick(1, 1, 2, 3), "signed": pick(False, False, True),
        "filter_power": lambda rng: pick("auto", "auto", 1, "heat", any_power(rng))(rng),
        "tails": lambda rng: pick("auto", "auto", "gaussian", any_tails(rng))(rng),
        "sparsity": any_size, "prior": pick("independent", "free", "markov", "hierarchy"),
        "average": pick(0, 0, 0, 3), "window_size": window, "forgetting": pick(1.0, 0.9),
        "n_init": pick(1, 2), "max_iter": pick(1, 8), "tol": tolerance,
        "rescale": unit, "random_state": seed,
    },
    LogModel: LOG_DEGREE,
    WindowLogModel: {"window_size": window, "stride": pick(None, 1, 3), **LOG_DEGREE},
    TGFA: {
        **LOG_DEGREE, "window_size": window, "alpha_diff": any_size, "penalty": pick("l1", "l2"),
        "max_iter": pick(1, 20), "tol": tolerance,
    },
    GLMM: {**CLUSTERS, **LOG_DEGREE, "responsibilities": pick("log-degree", "log-det")},
    KGraphs: {**CLUSTERS, **LOG_DEGREE},
    GaussianMixtureGraphs: {
        **CLUSTERS, "reg_covar": any_size, "rescale": unit,
        "matrix": pick("covariance", "correlation"),
    },
    ConsensusGraphs: {
        "alpha_views": any_size, "penalty": pick("l1", "l2"), "alpha_w": any_size, "beta": any_size,
        "likelihood": pick("log-degree", "log-det"), "avg_degree": pick(None, 1, 2.5, 1e300),
        "max_iter": pick(1, 20), "tol": tolerance, "rescale": unit,
    },
}  # fmt: skip
KINDS = list(OPTIONS)


def draw_model(rng, kind):
    """An estimator of the kind, each option drawn or left as it is by default."""
    bold = rng.random()
    options = {name: draw(rng) for name, draw in OPTIONS[kind].items() if rng.random() < bold}
    # Defaults would take long, vary, or be refused: windows of 20 samples.
    for name in ("max_iter", "n_init", "random_state", "window_size"):
        if name in OPTIONS[kind]:
            options.setdefault(name, OPTIONS[kind][name](rng))
    return kind(**options)


def attack(rng):
    """One estimator, one array or several. Returns how it ended; whatever is wrong is raised."""
    model = draw_model(rng, KINDS[rng.integers(len(KINDS))])
    draw = draw_recordings if rng.random() < 0.25 else draw_signals
    return one_fit(rng, model, draw(rng, gaps=model._takes_gaps or rng.random() < 0.1))


def attack_filters(rng):
    """Models that learn power and tails, from enough samples for them."""
    model = draw_model(rng, GraphDictExact if rng.random() < 0.2 else GraphDictMarginal)
    power = pick("auto", "auto", 1, 2, any_power(rng))(rng)
    tails = pick("auto", "auto", "gaussian", 5.0, any_tails(rng))(rng)
    model.set_params(filter_power=power, tails=tails, n_atoms=pick(1, 2, 3)(rng))
    if isinstance(model, GraphDictMarginal):
        model.set_params(
            filter_power=pick(power, power, power, "heat")(rng), average=pick(0, 0, 0, 0, 2)(rng),
            prior=pick("independent", "free", "markov")(rng),
        )  # fmt: skip
    draw = draw_recordings if rng.random() < 0.2 else draw_signals
    return one_fit(rng, model, draw(rng, nodes=pick(2, 3, 4, 5)(rng), samples=pick(30, 60)(rng)))


def attack_given(rng):
    """Models that begin with given atoms and coefficients, or hold them, of any size."""
    kind = pick(*(kind for kind in KINDS if "fix" in kind().get_params()))(rng)
    x = draw_signals(rng, gaps=kind._takes_gaps)
    model = draw_model(rng, kind)
    nodes, atoms = x.shape[1], model.n_atoms
    if rng.random() < 0.8:
        size = pick(1, 1, *10 ** rng.uniform([-20, -300], [20, 300]))(rng)
        given = rng.random((atoms, nodes * (nodes - 1) // 2)) * size
        given *= pick(1, 1, rng.random(given.shape) < 0.4)(rng)
        if rng.random() < 0.1:
            given *= 10 ** rng.uniform(-300, 8, given.shape)
        with np.errstate(over="ignore"):
            model.set_params(atoms=given.astype(pick("f8", "f4")(rng)))
    if rng.random() < 0.5:
        given = rng.random((len(x), atoms)) * pick(1, 1, 10 ** rng.uniform(-300, 0))(rng)
        model.set_params(coefficients=given * pick(1, 1, rng.random(given.shape) < 0.4)(rng))
    return one_fit(rng, model.set_params(fix=pick(None, "atoms", "coefficients")(rng)), x)


def one_fit(rng, model, x):
    """Fit, and use all methods. One array has views, where the estimator asks for them."""
    several = isinstance(x, (list, dict))
    arrays = list(x.values() if isinstance(x, dict) else x) if several else [x]
    shapes = ", ".join(f"{part.shape} {np.asarray(part).dtype}" for part in arrays)
    told = f"{model!r} on {type(x).__name__} of {shapes}"
    given = [x]
    if isinstance(model, ConsensusGraphs) and rng.random() < 0.8:
        given.append(rng.integers(3, size=sum(map(len, arrays))))
    with (
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="ignore"),
        patch.object(soft, "CODING_STEPS", CODING_STEPS),
    ):
        warnings.simplefilter("always")
        try:
            copies = [part.copy() for part in arrays]
            said = refusal(model, model.fit, *given)
            for part, copy in zip(arrays, copies):
                np.testing.assert_array_equal(part, copy)
            if said:
                return "refused"
            check_fitted(model)
            check_use(rng, model, *given)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n  {told}") from error
    odd = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
    assert not odd, f"{odd[0]}\n  {told}"
    if is_infeasible(model):
        assert any("the objective is infinite" in str(w.message) for w in caught), told
    return "fitted several" if several else "fitted"


def refusal(model, function, *given):
    """What an error says that names an argument; None where there is no error."""
    try:
        function(*given)
    except np.linalg.LinAlgError:
        raise
    except (ValueError, TypeError) as error:
        said = str(error)
    else:
        return None
    names = "|".join(map(re.escape, ["X", "y", *model.get_params()]))
    assert re.search(rf"\b({names})\b", said), f"names no argument: {said}"
    return said


def is_infeasible(model):
    """Whether the last iterate of Algorithm 1 was asked for, which has no finite objective."""
    return getattr(model, "last_iterate", False) and model.objective_ == np.inf


def check_fitted(model):
    """All that was learned are numbers inside their bounds."""
    for name, value in vars(model).items():
        if name == "tails_" or (name == "objective_" and is_infeasible(model)):
            continue
        if name.endswith("_") and isinstance(value, (float, np.ndarray)):
            numbers = np.asarray(value)
            if name == "edge_intervals_":  # without end where nothing is known
                numbers = np.where(np.isinf(numbers), 0, numbers)
            assert numbers.dtype.kind != "f" or np.isfinite(numbers).all(), f"{name} not finite"
    assert getattr(model, "signed", False) or (model.atoms_ >= 0).all(), "negative weights"
    if hasattr(model, "alpha_c") and not is_infeasible(model):
        assert model.atoms_.any(), "no edges: an infinite cost"
    for name, values in getattr(model, "history_", {}).items():
        assert not np.isnan(values).any(), f"history_[{name!r}] has NaN"
    if hasattr(model, "coefficients_"):
        check_coefficients(model.coefficients_)


def check_coefficients(found):
    assert np.isfinite(found).all(), "coefficients not finite"
    assert found.min(initial=0) >= 0, "coefficients below zero"
    assert found.max(initial=0) <= WORST, "coefficients above one"


def together(found):
    """What a method gives for several recordings, one after the other."""
    return np.concatenate(found) if isinstance(found, list) else np.asarray(found)


def check_use(rng, model, x, *views):
    """What fit accepts, all methods accept, and give numbers of."""
    weights = model.instantaneous_graphs(x, *views).weights
    assert np.isfinite(weights).all(), "graphs not finite"
    assert getattr(model, "signed", False) or (weights >= 0).all(), "graphs below zero"
    if hasattr(model, "transform"):
        check_coefficients(together(model.transform(x)))
    if hasattr(model, "score"):
        assert np.isfinite(model.score(x, *views)), "score not finite"
    if hasattr(model, "score_samples"):
        assert np.isfinite(together(model.score_samples(x))).all(), "scores not finite"
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(together(model.predict_proba(x)).sum(axis=1), 1, rtol=1e-3)
    if hasattr(model, "predict"):
        model.predict(x)
    if rng.random() < 0.1:
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.atoms_, model.atoms_)
    if hasattr(model, "save") and rng.random() < 0.1:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            np.testing.assert_array_equal(load_model(Path(folder) / "model").atoms_, model.atoms_)
    if hasattr(model, "partial_fit") and rng.random() < 0.3:
        batch = x if isinstance(x, (list, dict)) else x[::-1]
        if refusal(model, model.partial_fit, batch) is None:
            check_fitted(model)
