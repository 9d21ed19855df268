"""Functions of the compiled part, called with arrays that may not fit: refused, or done.

Half of the calls are those of real fits with up to three things changed, the others are made up
from signatures. ``make sanitize`` runs them where every access to memory is checked.
"""

import functools
import re
import warnings

import numpy as np

from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
    native,
)
from graphdict.native import compiled

TYPES = (np.float64, np.float64, np.float64, np.float32, np.int64, np.uint8, bool, complex)
FUNCTIONS = sorted(
    name
    for name in dir(compiled)
    if not name.startswith("_") and callable(getattr(compiled, name))
    and name not in ("Job", "ThreadPool")
)  # fmt: skip


def any_array(rng):
    """An array of some shape, type and layout, with any numbers in it."""
    shape = tuple(rng.choice([0, 1, 2, 3, 4, 6, 10], size=rng.integers(0, 4)))
    with np.errstate(all="ignore"):
        array = (rng.standard_normal(shape) * 10.0 ** rng.choice([0, 0, 5, 300])).astype(
            TYPES[rng.integers(len(TYPES))]
        )
    if array.dtype.kind == "f" and array.size and rng.random() < 0.2:
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 0.0])
    layout = rng.integers(8)
    if layout == 0:
        array = np.asfortranarray(array)
    elif layout == 1:
        array.setflags(write=False)
    elif layout == 2 and array.ndim:
        array = np.repeat(array, 2, axis=0)[::2]
    elif layout == 3:  # begins where no number of its kind may begin
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
        array = raw.view(array.dtype)[: array.size].reshape(array.shape)
    return array


def any_argument(rng):
    kind = rng.integers(10)
    if kind == 0:
        return float(rng.choice([0.0, 1.0, -1.0, 1e-300, np.nan, np.inf]))
    if kind == 1:
        return int(rng.choice([0, 1, 3, -1, 100, 2**40]))
    if kind == 2:
        return tuple(any_array(rng) for _ in range(rng.integers(1, 5)))
    if kind == 3:
        return None
    return any_array(rng)


def fitting_argument(rng, kind, sizes):
    """An argument of the kind that a signature names, of sizes that others of the call have."""
    if kind.startswith(("tuple[", "collections")):
        return tuple(
            fitting_argument(rng, part, sizes)
            for part in re.findall(r"numpy\.ndarray\[numpy\.\w+|\bfloat\b|\bint\b", kind)
        )
    if "ndarray" in kind:
        dtype = re.search(r"ndarray\[numpy\.(\w+)", kind)[1]
        shape = tuple(rng.choice(sizes, size=rng.choice([1, 2, 2, 3])))
        numbers = np.abs(rng.standard_normal(shape))
        return np.ascontiguousarray(numbers * (2 if dtype.startswith("int") else 1)).astype(dtype)
    if kind == "bool":
        return bool(rng.integers(2))
    return int(rng.choice([1, 2, 5])) if kind == "int" else float(rng.choice([0.1, 1.0]))


@functools.cache
def recorded():
    """What small fits of all kinds give to each compiled function: lists of arguments by name."""
    found = {}

    def listen(name, *given):
        kept = found.setdefault(name, [])
        if len(kept) < 8:
            kept.append(deep_copy(given))
        return getattr(compiled, name)(*given)

    for name in FUNCTIONS:
        setattr(native, name, functools.partial(listen, name))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for model, x in some_fits():
                model.fit(x)
                model.instantaneous_graphs(x)
    finally:
        for name in FUNCTIONS:
            delattr(native, name)
    return found


def some_fits():
    """Models and signals that reach the compiled functions, in both precisions."""
    x = np.random.default_rng(0).standard_normal((30, 4))
    gaps = np.where(np.random.default_rng(1).random(x.shape) < 0.1, np.nan, x)
    short = {"max_iter": 3, "random_state": 0}
    for kind in (GraphDictLog, GraphDictSpectral, GraphDictExact):
        for solver in ("bipds",) if kind is GraphDictSpectral else ("mm", "bipds"):
            for dtype in (np.float64, np.float32):
                yield kind(2, solver=solver, **short), x.astype(dtype)
        yield kind(2, alpha_diff=0.1, **short), x
    for prior in ("independent", "markov"):
        for signals in (x, gaps, [x, x[:10]]):
            given = {"prior": prior, "average": 2, "n_init": 1, **short}
            yield GraphDictMarginal(2, **given), signals
    for likelihood in ("log-det", "log-degree"):
        yield GraphDictHier(2, likelihood=likelihood, max_iter=3), x


def deep_copy(given):
    """Arguments with their arrays copied, so that a call changes nothing that is kept."""
    if isinstance(given, np.ndarray):
        return given.copy()
    if type(given) in (tuple, list):
        return type(given)(map(deep_copy, given))
    return given


def changed(rng, given):
    """One argument with something changed: its size, its numbers, its kind."""
    if type(given) in (tuple, list):
        if not given:
            return given
        place = rng.integers(len(given))
        parts = [changed(rng, part) if i == place else part for i, part in enumerate(given)]
        return type(given)(parts)
    if isinstance(given, bool) or given is None:
        return any_argument(rng)
    if isinstance(given, (int, np.integer)):
        return int(rng.choice([0, 1, 3, -1, 100]))
    if isinstance(given, (float, np.floating)):
        return float(rng.choice([0.0, -1.0, 1e-300, 1e300, np.nan, np.inf]))
    if not isinstance(given, np.ndarray):
        return given
    return changed_array(rng, given.copy())


def changed_array(rng, array):
    how = rng.integers(8)
    axis = int(rng.integers(array.ndim)) if array.ndim else 0
    if how == 0 and array.ndim:
        return np.delete(array, slice(-1, None), axis=axis)
    if how == 1 and array.ndim:
        return np.concatenate([array, array], axis=axis)
    if how == 2:
        return np.ascontiguousarray(array.T)
    if how == 3:
        return np.asfortranarray(array)[..., None][..., 0]
    if how == 4:
        return any_array(rng)
    if how == 5:
        return array.astype(TYPES[rng.integers(len(TYPES))])
    if not array.size:
        return array
    if array.dtype.kind == "f":  # numbers that no fit would have
        worst = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e300, 5e-324]
        array.flat[rng.integers(array.size)] = worst[rng.integers(len(worst))]
    elif array.dtype.kind in "iu":  # places that are not there
        info = np.iinfo(array.dtype)
        worst = [info.max - 1, 0, min(array.size, info.max), info.max, info.min]
        array.flat[rng.integers(array.size)] = worst[rng.integers(len(worst))]
    return array


def made_up(rng, function):
    """Arguments by the types of a signature, or by nothing at all."""
    signatures = re.findall(r"\w+\((.*)\) ->", function.__doc__ or "")
    if not signatures or rng.random() < 0.2:
        return [any_argument(rng) for _ in range(rng.integers(1, 11))]
    chosen = signatures[rng.integers(len(signatures))]
    nodes = int(rng.choice([2, 3, 4]))
    sizes = [nodes, nodes * (nodes - 1) // 2, int(rng.choice([1, 2, 5]))]
    kinds = re.split(r", (?=\w+: )", chosen)
    given = [fitting_argument(rng, kind.partition(": ")[2], sizes) for kind in kinds if kind]
    if given and rng.random() < 0.3:
        given[rng.integers(len(given))] = any_argument(rng)
    return given


def attack(rng):
    """One call, of a fit but for what is changed, or made up."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name, given = draw_call(rng)
        try:
            found = getattr(compiled, name)(*given)
            if isinstance(found, compiled.Job):
                found()
        except (TypeError, ValueError):
            return "refused"
    return "done"


def draw_call(rng):
    """The name of a function and its arguments."""
    if rng.random() < 0.5:
        name = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        return name, made_up(rng, getattr(compiled, name))
    names = sorted(recorded())
    name = names[rng.integers(len(names))]
    given = deep_copy(recorded()[name][rng.integers(len(recorded()[name]))])
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        given = changed(rng, given)
    return name, given
