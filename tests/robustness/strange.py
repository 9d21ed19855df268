"""Every estimator with every option, and signals of every strange kind, for Hypothesis to draw."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

from graphdict import (
    GraphDictExact,
    GraphDictHier,
    GraphDictLog,
    GraphDictMarginal,
    GraphDictSpectral,
)
from graphdict.baselines import (
    GLMM,
    TGFA,
    GaussianMixtureGraphs,
    KGraphs,
    LogModel,
    WindowLogModel,
)

EXAMPLES = int(os.environ.get("GRAPHDICT_EXAMPLES", "8"))
few = settings(
    max_examples=EXAMPLES, deadline=None, derandomize="GRAPHDICT_EXAMPLES" not in os.environ
)

count = st.sampled_from([1, 2, 3, 9])
penalty = st.sampled_from([0.0, 0.1, 1.0, 100.0])
small_penalty = st.sampled_from([0.01, 0.1, 1.0])
seed = st.integers(0, 3)
window = st.sampled_from([1, 2, 5])

SOFT = {
    "n_atoms": count,
    "alpha_w": small_penalty,
    "alpha_c": penalty,
    "alpha_orth": penalty,
    "alpha_diff": st.sampled_from([0.0, 0.0, 0.5]),
    "window_size": window,
    "solver": st.sampled_from(["auto", "bipds"]),
    "init": st.sampled_from(["k-means++", "uniform", "discrete"]),
    "n_init": st.sampled_from([1, 2]),
    "max_iter": st.sampled_from([1, 12]),
    "tol": st.sampled_from([0.0, 1e-4]),
    "rescale": st.just(True),
    "random_state": seed,
}
LOG_DEGREE = {
    "avg_degree": st.sampled_from([1, 2.5, 50]),
    "beta": st.sampled_from([None, None, 0.5]),
    "alpha_w": st.sampled_from([0.0, 0.2]),
}
CLUSTERS = {"n_clusters": count, "n_init": st.sampled_from([1, 2]), "random_state": seed}
OPTIONS = {
    GraphDictLog: SOFT,
    GraphDictSpectral: SOFT,
    GraphDictExact: {**SOFT, "max_iter": st.sampled_from([1, 5]), "alpha_diff": st.just(0.0)},
    GraphDictHier: {
        "depth": st.sampled_from([0, 2, 9]),
        "alpha_w": small_penalty,
        "likelihood": st.sampled_from(["log-det", "log-degree"]),
        "beta": st.sampled_from([0.0, 0.3]),
        "avg_degree": st.sampled_from([None, 2]),
        "max_iter": st.just(60),
    },
    GraphDictMarginal: {
        "n_atoms": st.sampled_from([1, 3, 7]),
        "max_active": st.sampled_from([None, 1, 2]),
        "alpha_w": st.sampled_from([0.0, 0.04]),
        "sparsity": st.sampled_from([0.0, 1.0]),
        "prior": st.sampled_from(["independent", "free", "markov", "hierarchy"]),
        "window_size": window,
        "n_init": st.sampled_from([1, 2]),
        "max_iter": st.sampled_from([1, 8]),
        "random_state": seed,
    },
    LogModel: LOG_DEGREE,
    WindowLogModel: {"window_size": window, **LOG_DEGREE},
    TGFA: {
        "window_size": window,
        "alpha_diff": st.sampled_from([0.0, 1.0]),
        "penalty": st.sampled_from(["l1", "l2"]),
        "avg_degree": st.sampled_from([1, 5]),
        "max_iter": st.just(20),
    },
    GLMM: {**CLUSTERS, **LOG_DEGREE, "max_iter": st.sampled_from([1, 8])},
    KGraphs: {**CLUSTERS, **LOG_DEGREE, "max_iter": st.sampled_from([1, 8])},
    GaussianMixtureGraphs: {**CLUSTERS, "max_iter": st.sampled_from([1, 8])},
}
KINDS = list(OPTIONS)


def models(kind):
    """Estimators of one kind with drawn options."""
    return st.fixed_dictionaries(OPTIONS[kind]).map(lambda options: kind(**options))


def plain(kind):
    """One small estimator of the kind, quick and random in nothing but its seed."""
    return {
        GraphDictLog: GraphDictLog(2, max_iter=15, random_state=1),
        GraphDictSpectral: GraphDictSpectral(2, max_iter=15, random_state=1),
        GraphDictExact: GraphDictExact(2, max_iter=5, random_state=1),
        GraphDictHier: GraphDictHier(1, max_iter=40),
        GraphDictMarginal: GraphDictMarginal(2, n_init=2, max_iter=10, random_state=1),
        LogModel: LogModel(3),
        WindowLogModel: WindowLogModel(10),
        TGFA: TGFA(10, max_iter=30),
        GLMM: GLMM(2, max_iter=10, n_init=2, random_state=1),
        KGraphs: KGraphs(2, max_iter=10, n_init=2, random_state=1),
        GaussianMixtureGraphs: GaussianMixtureGraphs(2, max_iter=10, random_state=1),
    }[kind]


# What may be wrong with numbers ---------------------------------------------------------------


def constant(x, rng):
    x[:, rng.integers(x.shape[1])] = rng.normal()


def twins(x, rng):
    x[:, 0] = x[:, -1]


def mirrored(x, rng):
    x[:, 0] = -x[:, -1]


def outlier(x, rng):
    x[rng.integers(len(x)), 0] = 10.0 ** rng.integers(3, 15)


def silent_rows(x, rng):
    x[: len(x) // 2 + 1] = 0


def silent_stretch(x, rng):
    x[: len(x) // 2, 0] = 0


def alike(x, rng):
    x[:] = x[:, :1]


def rounded(x, rng):
    x[:] = np.round(x)


def repeated(x, rng):
    x[:] = x[0]
    x[-1] += rng.normal(size=x.shape[1])


def offsets(x, rng):
    x += 10.0 ** rng.uniform(0, 6, x.shape[1])


def tiny(x, rng):
    x *= 1e-300


def huge(x, rng):
    x *= 1e300


def denormal(x, rng):
    x *= 1e-310


def any_decade(x, rng):
    x *= 10.0 ** rng.uniform(-300, 300, x.shape)


def decades_by_column(x, rng):
    x *= 10.0 ** rng.uniform(-300, 300, x.shape[1])


WRONG = (
    constant, twins, mirrored, outlier, silent_rows, silent_stretch, alike, rounded, repeated,
    offsets, tiny, huge, denormal, any_decade, decades_by_column,
)  # fmt: skip
DTYPES = (np.float64, np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, bool)


@st.composite
def signals(draw):
    """An array of up to 24 samples on up to 6 nodes, with up to two things wrong."""
    shape = draw(st.sampled_from([(1, 2), (2, 2), (2, 6), (3, 2), (7, 4), (24, 3), (24, 6)]))
    rng = np.random.default_rng(draw(st.integers(0, 50)))
    x = rng.standard_normal(shape)
    for edit in draw(st.lists(st.sampled_from(WRONG), max_size=2, unique=True)):
        with np.errstate(over="ignore"):
            edit(x, rng)
    x = np.clip(x, -1e308, 1e308)
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    if dtype.kind == "f":
        limit = float(np.finfo(dtype).max)
    else:
        limit = 100.0 if dtype.kind in "iu" else 1.0
    lowest = 0.0 if dtype.kind in "ub" else -limit
    return np.clip(x, lowest, limit).astype(dtype)


# How the same numbers may lie in memory -------------------------------------------------------


def fortran(x):
    return np.asfortranarray(x)


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def strided(x):
    wide = np.zeros((2 * len(x), 3 * x.shape[1]), x.dtype)
    wide[::2, ::3] = x
    return wide[::2, ::3]


def backwards(x):
    return x[::-1, ::-1].copy()[::-1, ::-1]


def big_endian(x):
    return x.astype(x.dtype.newbyteorder(">"))


def memory_mapped(x):
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, x)
        return np.load(file.name, mmap_mode="r")


def nested_list(x):
    return x.tolist()


def frame(x):
    names = ["", " ", "ä/ö", "x" * 300, "\x1b[31m", "<b>", "a\nb", "0"]
    return pd.DataFrame(x, columns=names[: x.shape[1]])


def frame_of_columns(x):
    """Columns of several types, an odd index, names that are numbers."""
    table = pd.DataFrame(x, index=pd.date_range("2024-01-01", periods=len(x)))
    return table.astype({0: np.float32})


LAYOUTS = (
    fortran, read_only, strided, backwards, big_endian, memory_mapped, nested_list, frame,
    frame_of_columns,
)  # fmt: skip
