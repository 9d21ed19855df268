"""Signals in any container, layout and shape: the result of the plain array, or an error that says.

The same small numbers are given as other types, orders of bytes and memory, frames with odd names,
masked, lazy and sparse arrays, lists, recordings of other shapes, and as what is no signal at all.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
from estimators import KINDS, WORST, refusal, together
from sklearn.base import clone

SMALL = {
    "GraphDictHier": {"depth": 1, "max_iter": 15},
    "GraphDictMarginal": {"n_atoms": 2, "n_init": 1, "max_iter": 4, "random_state": 0},
    "GraphDictExact": {"n_atoms": 2, "max_iter": 4, "random_state": 0},
    "GLMM": {"n_clusters": 2, "max_iter": 5, "n_init": 1, "random_state": 0},
    "KGraphs": {"n_clusters": 2, "max_iter": 5, "n_init": 1, "random_state": 0},
    "GaussianMixtureGraphs": {"n_clusters": 2, "max_iter": 5, "n_init": 1, "random_state": 0},
    "TGFA": {"window_size": 5, "max_iter": 10},
    "ConsensusGraphs": {"max_iter": 10},
    "LogModel": {},
    "WindowLogModel": {"window_size": 5},
}


def small(kind):
    soft = {"n_atoms": 2, "max_iter": 8, "random_state": 0}
    return kind(**SMALL.get(kind.__name__, soft))


# The same numbers, elsewhere ------------------------------------------------------------------


def fortran(rng, x, folder):
    return np.asfortranarray(x)


def read_only(rng, x, folder):
    x = x.copy()
    x.setflags(write=False)
    return x


def strided(rng, x, folder):
    wide = np.full((2 * x.shape[0], 3 * x.shape[1]), np.nan, x.dtype)
    wide[::2, ::3] = x
    return wide[::2, ::3]


def backwards(rng, x, folder):
    return x[::-1, ::-1].copy()[::-1, ::-1]


def other_bytes(rng, x, folder):
    return x.astype(x.dtype.newbyteorder())


def misaligned(rng, x, folder):
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    found = raw.view(x.dtype).reshape(x.shape)
    found[:] = x
    return found


def as_objects(rng, x, folder):
    return x.astype(object)


def as_text(rng, x, folder):
    return [[repr(float(value)) for value in row] for row in x]


def nested_lists(rng, x, folder):
    return x.tolist()


def tuples(rng, x, folder):
    return tuple(map(tuple, x.tolist()))


def masked(rng, x, folder):
    return np.ma.masked_array(x, mask=np.zeros(x.shape, bool))


def matrix(rng, x, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(x)


def mapped(rng, x, folder):
    np.save(folder / "x.npy", x)
    return np.load(folder / "x.npy", mmap_mode=str(rng.choice(["r", "c", "r+"])))


def zarr_array(rng, x, folder):
    import zarr

    chunks = tuple(int(rng.integers(1, size + 1)) for size in x.shape)
    array = zarr.create_array(folder / "x.zarr", shape=x.shape, dtype=x.dtype, chunks=chunks)
    array[:] = x
    return array


def dask_array(rng, x, folder):
    import dask.array

    return dask.array.from_array(x, chunks=tuple(int(rng.integers(1, n + 1)) for n in x.shape))


def frame(rng, x, folder):
    names = [
        [f"n{i}" for i in range(x.shape[1])],
        list(range(x.shape[1])),
        [f"a\n\x1b[31m{i}<b>é\u202e" for i in range(x.shape[1])],
        ["" if i == 0 else " " * i for i in range(x.shape[1])],
        pd.MultiIndex.from_product([["g"], range(x.shape[1])]),
        ["same"] * x.shape[1],
        [i if i % 2 else f"n{i}" for i in range(x.shape[1])],
    ][rng.integers(7)]
    index = [
        None,
        pd.date_range("2020-01-01", periods=len(x), freq="h")[::-1],
        ["twice"] * len(x),
        np.full(len(x), np.nan),
        pd.MultiIndex.from_product([range(len(x)), ["a"]]),
    ][rng.integers(5)]
    found = pd.DataFrame(x, columns=names, index=index)
    return found.convert_dtypes() if rng.random() < 0.3 and x.dtype == np.float64 else found


def polars_frame(rng, x, folder):
    try:
        import polars
    except ImportError:
        return x
    return polars.DataFrame({f"n{i}": column for i, column in enumerate(x.T)})


SAME = (
    fortran, read_only, strided, backwards, other_bytes, misaligned, as_objects, as_text,
    nested_lists, tuples, masked, matrix, mapped, zarr_array, dask_array, frame, frame,
    polars_frame,
)  # fmt: skip


# Other numbers, or none -----------------------------------------------------------------------


def other_types(rng, x, folder):
    limit = rng.choice([3, 100])
    whole = np.clip(np.round(x * 10), -limit, limit)
    kind = str(rng.choice(["f2", "i1", "u1", "?", ">i4", "u8", "i8", "g", ">f4"]))
    return np.abs(whole).astype(kind) if kind in ("u1", "u8", "?") else whole.astype(kind)


def complex_numbers(rng, x, folder):
    return x + 1j * rng.integers(2)


def times(rng, x, folder):
    return np.abs(x * 1e9).astype("m8[ns]" if rng.random() < 0.5 else "M8[ns]")


def words(rng, x, folder):
    found = x.astype(object)
    found[rng.integers(len(x)), rng.integers(x.shape[1])] = rng.choice(["a", "", "1,5", "nan", "∞"])
    return found


def nothing_there(rng, x, folder):
    shapes = [(0, 4), (5, 0), (0, 0), (1, 4), (5, 1), (1, 1), (2, 2), (2, 1), (3, 2)]
    shape = shapes[rng.integers(len(shapes))]
    return rng.standard_normal(shape)


def other_dimensions(rng, x, folder):
    return [x[0], x[None], x[:, :, None], x[0, 0], x[0][None], [x]][rng.integers(6)]


def ragged(rng, x, folder):
    found = x.tolist()
    found[rng.integers(len(found))].pop()
    return found


def sparse(rng, x, folder):
    kinds = (scipy.sparse.csr_matrix, scipy.sparse.coo_matrix, scipy.sparse.csc_array)
    return kinds[rng.integers(3)](np.where(np.abs(x) > 0.5, x, 0))


def infinite(rng, x, folder):
    x = x.copy()
    x[rng.integers(len(x)), rng.integers(x.shape[1])] = rng.choice([np.inf, -np.inf])
    return x


def missing(rng, x, folder):
    x = x.copy()
    how = rng.integers(5)
    if how == 0:
        x[:] = np.nan
    elif how == 1:
        x[:, rng.integers(x.shape[1])] = np.nan
    elif how == 2:
        x[rng.integers(len(x))] = np.nan
    elif how == 3:  # no two nodes are ever observed together
        x[np.arange(x.shape[1]) != (np.arange(len(x)) % x.shape[1])[:, None]] = np.nan
    else:
        x[rng.random(x.shape) < 0.5] = np.nan
    return np.ma.masked_invalid(x) if rng.random() < 0.3 else x


def missing_in_a_frame(rng, x, folder):
    found = pd.DataFrame(x).convert_dtypes()
    found.iloc[int(rng.integers(len(x))), int(rng.integers(x.shape[1]))] = pd.NA
    return found


def no_signals(rng, x, folder):
    things = [None, "x.npy", 5, {"a": [1, 2]}, {1, 2}, object(), iter(x), x.tobytes(), b"", [],
              [[]], [None], np.array(None), pd.Series(x[:, 0]), Path("x")]  # fmt: skip
    return things[rng.integers(len(things))]


def categories(rng, x, folder):
    found = pd.DataFrame(x)
    found[0] = pd.Categorical(np.where(x[:, 0] > 0, "up", "down"))
    return found


def recordings(rng, x, folder):
    """Several, of any lengths and nodes, by number or by name."""
    parts = []
    for _ in range(rng.integers(1, 5)):
        part = rng.standard_normal((int(rng.choice([0, 1, 2, 5, 12])), x.shape[1]))
        part *= 10.0 ** rng.choice([0, 0, -9, 9])
        part = part[:, : int(rng.choice([x.shape[1], x.shape[1], x.shape[1] - 1]))]
        how = rng.integers(6)
        if how == 0:
            names = list("abcdef"[: part.shape[1]])
            rng.shuffle(names)
            part = pd.DataFrame(part, columns=names)
        elif how == 1:
            part = part.astype(np.float32)
        elif how == 2 and part.size:
            part[rng.integers(len(part)), 0] = rng.choice([np.nan, np.inf, 0])
        elif how == 3:
            part = [part.tolist(), part[:, 0], None, "x"][rng.integers(4)]
        parts.append(part)
    if rng.random() < 0.3:
        return {["one", "", "ü", 4][place]: part for place, part in enumerate(parts)}
    return tuple(parts) if rng.random() < 0.2 else parts


OTHER = (
    other_types, other_types, complex_numbers, times, words, nothing_there, nothing_there,
    other_dimensions, ragged, sparse, infinite, missing, missing, missing_in_a_frame, no_signals,
    categories, recordings, recordings, recordings,
)  # fmt: skip


NO_NUMBERS = (complex_numbers, times)  # though NumPy makes some of them, without a word


def attack(rng):
    """One estimator on signals that are somewhere or something else."""
    kind = KINDS[rng.integers(len(KINDS))]
    model = small(kind)
    x = rng.standard_normal((int(rng.choice([12, 20])), int(rng.choice([2, 3, 5]))))
    if rng.random() < 0.3:
        x = x.astype(np.float32)
    same = rng.random() < 0.5
    choices = SAME if same else OTHER
    make = choices[rng.integers(len(choices))]
    with (
        tempfile.TemporaryDirectory() as name,
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("always")
        given = make(rng, x, Path(name))
        told = f"{kind.__name__} on {make.__name__}: {given!r:.200}"
        try:
            said = refusal(model, model.fit, given)
            if said is not None:
                assert not same or make in (frame, matrix), f"refused: {said}"
                assert len(said) < 1500, "says too much"
                return f"refused {make.__name__}"
            assert make not in NO_NUMBERS, "taken for numbers"
            if same:
                if make in (as_objects, as_text, nested_lists, tuples):
                    x = x.astype(np.float64)
                check_same(model, clone(model).fit(x), given, x)
            else:
                check_numbers(model, given)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n  {told}") from error
    odd = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
    assert not odd, f"{odd[0]}\n  {told}"
    return "same" if same else "fitted"


def check_same(model, expected, given, x):
    precise = 1e-3 if x.dtype == np.float32 else 1e-5
    scale = np.abs(expected.atoms_).max(initial=1e-12)
    np.testing.assert_allclose(model.atoms_, expected.atoms_, atol=precise * scale)
    weights = model.instantaneous_graphs(given).weights
    wanted = expected.instantaneous_graphs(x).weights
    np.testing.assert_allclose(weights, wanted, atol=10 * precise * scale)


def check_numbers(model, given):
    assert np.isfinite(model.atoms_).all(), "atoms not finite"
    weights = model.instantaneous_graphs(given).weights
    assert np.isfinite(weights).all(), "graphs not finite"
    if hasattr(model, "transform"):
        found = together(model.transform(given))
        assert found.min(initial=0) >= 0, "coefficients below zero"
        assert found.max(initial=0) <= WORST, "coefficients above one"
    if hasattr(model, "score"):
        assert np.isfinite(model.score(given)), "score not finite"
