"""Functions of the compiled part, called with arrays that mostly do not fit: refused, or done."""

import re

import numpy as np

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


def attack(rng):
    """One call; what it is given has the types of the signature, or mostly has not."""
    function = getattr(compiled, FUNCTIONS[rng.integers(len(FUNCTIONS))])
    signatures = re.findall(r"\w+\((.*)\) ->", function.__doc__ or "")
    if signatures and rng.random() < 0.8:
        chosen = signatures[rng.integers(len(signatures))]
        nodes = int(rng.choice([2, 3, 4]))
        sizes = [nodes, nodes * (nodes - 1) // 2, int(rng.choice([1, 2, 5]))]
        kinds = re.split(r", (?=\w+: )", chosen)
        given = [fitting_argument(rng, kind.partition(": ")[2], sizes) for kind in kinds if kind]
        if given and rng.random() < 0.3:
            given[rng.integers(len(given))] = any_argument(rng)
    else:
        given = [any_argument(rng) for _ in range(rng.integers(1, 11))]
    try:
        found = function(*given)
        if isinstance(found, compiled.Job):
            found()
    except (TypeError, ValueError):
        return "refused"
    return "done"
