"""Signals of every odd kind: what users have, what sensors give, and what nobody should have."""

import numpy as np
import pandas as pd

FILL = 9.96921e36  # what NetCDF writes where there is no value


def draw_signals(rng, *, nodes=None, samples=None, gaps=True):
    """An array (T, N) with up to three things wrong, in any of NumPy's types of numbers."""
    samples = samples or int(rng.choice([2, 3, 5, 8, 16, 30, 60]))
    nodes = nodes or int(rng.choice([2, 3, 4, 6, 9]))
    x = rng.choice([gaussian, smooth, low_rank, few_rows, bursts])(rng, samples, nodes)
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            rng.choice(WRONG)(rng, x)
        dtype = np.dtype(rng.choice(["f8"] * 6 + ["f4"] * 3 + ["f2", "i8", "i2", "u1", "?", ">f8"]))
        most = {"f8": 300, "f4": 36, "f2": 3}.get(dtype.str[1:], 1)  # which leaves some to vary
        x *= 10.0 ** rng.choice(
            [0, 0, 0, rng.uniform(-1, 1) * min(most, 15), rng.uniform(-1, 1) * most]
        )
        x = np.clip(np.nan_to_num(x), -1e308, 1e308)
        if rng.random() < 0.1 and nodes > 2:
            x[:, rng.integers(nodes)] = rng.choice([FILL, -9999, 1e300, 0])
        if gaps and rng.random() < 0.1:
            x[rng.random(x.shape) < rng.choice([0.02, 0.3, 0.9])] = np.nan
    return as_type(dtype, x)


def draw_recordings(rng, *, nodes=None, samples=None, gaps=True):
    """A list or a dict of such arrays, as different in length, kind and unit as they come.

    Some have names for nodes, of which each recording may lack a few.
    """
    nodes = nodes or int(rng.choice([2, 3, 4, 6]))
    count = int(rng.choice([1, 2, 2, 3, 5]))
    lengths = [1, 2, 3, 8, 20] if samples is None else [1, samples // 4 + 1, samples]
    found = [
        draw_signals(rng, nodes=nodes, samples=int(rng.choice(lengths)), gaps=gaps)
        for _ in range(count)
    ]
    if rng.random() < 0.3:
        names = np.array([f"node {i}" for i in range(nodes)])
        some = gaps and nodes > 2 and rng.random() < 0.5
        found = [
            pd.DataFrame(x.astype(x.dtype.newbyteorder("=")), columns=names)[
                list(rng.permutation(names)[: nodes - some])
            ]
            for x in found
        ]
    if rng.random() < 0.4:
        return {f"recording {place}": x for place, x in enumerate(found)}
    return found


def as_type(dtype, x):
    """Signals in a type, within its bounds; one with NaN has to be of numbers with a point."""
    if dtype.kind != "f" and np.isnan(x).any():
        return x
    limit = float(np.finfo(dtype).max) if dtype.kind == "f" else 100.0
    limit = 1.0 if dtype.kind == "b" else limit
    return np.clip(x, 0 if dtype.kind in "ub" else -limit, limit).astype(dtype)


def gaussian(rng, samples, nodes):
    return rng.standard_normal((samples, nodes))


def smooth(rng, samples, nodes):
    return np.cumsum(np.cumsum(rng.standard_normal((samples, nodes)), axis=1), axis=0)


def low_rank(rng, samples, nodes):
    return rng.standard_normal((samples, 1)) @ rng.standard_normal((1, nodes))


def few_rows(rng, samples, nodes):
    return rng.standard_normal((2, nodes))[
        np.append(rng.integers(2, size=samples - 1), rng.random() < 0.9)
    ]


def bursts(rng, samples, nodes):
    return rng.standard_t(1.1, (samples, nodes))


def constant_column(rng, x):
    if x.shape[1] > 2 or rng.random() < 0.1:
        x[:, rng.integers(x.shape[1])] = rng.normal()


def equal_columns(rng, x):
    x[:, 0] = x[:, -1] * rng.choice([1, -1, 1 + 1e-12])


def zero_rows(rng, x):
    x[rng.random(len(x)) < 0.5] = 0


def zero_stretch(rng, x):
    x[: len(x) // 2, 0] = 0


def equal_nodes(rng, x):
    x[:] = x[:, :1]


def outlier(rng, x):
    x[rng.integers(len(x)), rng.integers(x.shape[1])] *= 10.0 ** rng.uniform(2, 15)


def rounded(rng, x):
    x[:] = np.round(x)


def levels(rng, x):
    x += 10.0 ** rng.uniform(0, 8, x.shape[1])


def units(rng, x):
    x *= 10.0 ** rng.uniform(-9, 9, x.shape[1])


def decades(rng, x):
    x *= 10.0 ** rng.uniform(-300, 300, x.shape)


def one_change(rng, x):
    x[:] = x[0]
    x[-1, : rng.integers(1, x.shape[1] + 1)] += 1


WRONG = (
    constant_column, equal_columns, zero_rows, zero_stretch, equal_nodes, outlier, rounded, levels,
    units, decades, one_change,
)  # fmt: skip
