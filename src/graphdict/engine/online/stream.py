"""Batches of a stream: the first samples are fitted together, later ones move running averages.

What a model learns from samples it learns from averages over them (its *statistics*). A batch of B
samples replaces the share

    rho = b / (f^B n + b)      b = 1 + f + ... + f^(B-1)

of every average, where ``n`` is the number of samples that the averages stand for and ``f`` the
forgetting factor: with ``f = 1`` each sample counts alike, however the stream is cut. Signals are
divided by a running root mean square, and the statistics follow it. What a model does with its
statistics is its own (:mod:`graphdict.engine.online.log`, :mod:`graphdict.engine.online.marginal`).

A start from few samples is poor, and no later step mends it. The first samples are therefore kept,
and fitted anew each time that their number has doubled, until there are enough of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphdict.core import graphs
from graphdict.engine.signals import Preparation
from graphdict.exceptions import ConvergenceWarning, DeadAtomWarning, SilentNodeWarning

__all__ = ["Batch", "Rules", "Statistics", "restart", "take_batch"]

LEAST_KEPT = 100  # samples for each atom that are fitted together, however short the memory
GROWTH = 2  # by which their number grows from one such fit to the next
OF_EDGES = ("atoms", "shown", "moments", "gains")  # statistics with one column for each edge
GRAPHS = {"atoms", "shown"}  # those in units of edges, which change with the scale

Statistics = dict[str, NDArray]


class Batch(NamedTuple):
    """Prepared signals, and how much of the averages they replace."""

    signals: NDArray  # (B, active nodes)
    share: float
    of_edges: NDArray  # (E',) the same for each edge: all where a node is new
    weight: float  # number of samples that the averages then stand for


class Rules(NamedTuple):
    """What a kind of model does in a stream."""

    check: Callable[[Any], None]  # refuses settings under which there can be no stream
    recall: Callable[[Any], Statistics]  # of a model that was fitted to all samples at once
    follow: Callable[[Any, Statistics, Batch], tuple[Statistics, dict[str, Any]]]
    # new statistics, and the fitted attributes that come of them
    kept: int  # samples for each atom that are fitted together at first
    starts: int  # of these fits, at least: a stream cannot begin again


def take_batch(model: Any, X: ArrayLike, rules: Rules) -> None:
    """Learn from the next batch of a stream: the whole of ``partial_fit``."""
    model._validate_params()
    rules.check(model)
    if not hasattr(model, "atoms_"):
        _fit(model, X, rules)
        samples = _read(model, X)
        _open(model, samples, rules)
        model.n_samples_seen_ = len(samples)
        return
    samples = _read(model, X)
    if not hasattr(model, "stream_"):
        _go_on(model, rules)
    _check_stream(model)
    stream = dict(model.stream_)
    newcomers = _newcomers(model.active_nodes_, stream, samples)
    if "kept" in stream:
        stream["kept"] = np.concatenate((stream["kept"], samples.astype(stream["kept"].dtype)))
        count = len(stream["kept"])
        if newcomers.any() or count >= min(_enough(model, rules), GROWTH * int(stream["fitted"])):
            _refit(model, stream["kept"], rules)
            return
    _follow(model, stream, samples, newcomers, rules)


def restart(model: Any) -> None:
    """Forget the stream, if there was any: called by ``fit``."""
    for name in ("stream_", "n_samples_seen_"):
        vars(model).pop(name, None)


def share_of(weight: float, batch: int, forgetting: float) -> tuple[float, float]:
    """The share ``rho`` of a batch, and the number of samples the averages then stand for."""
    old = weight * forgetting**batch
    new = batch if forgetting == 1 else (1 - forgetting**batch) / (1 - forgetting)
    return new / (old + new), old + new


# The first samples ----------------------------------------------------------------------------


def _enough(model: Any, rules: Rules) -> float:
    """How many samples to fit together: of what drifts, hardly more than are remembered."""
    enough = rules.kept * model.n_atoms
    if model.forgetting == 1:
        return enough
    return min(enough, max(LEAST_KEPT * model.n_atoms, 1 / (1 - model.forgetting)))


def _fit(model: Any, X: ArrayLike, rules: Rules) -> None:
    n_init = model.n_init
    model.n_init = max(n_init, rules.starts)
    try:
        model.fit(X)
    finally:
        model.n_init = n_init


def _open(model: Any, samples: NDArray, rules: Rules) -> None:
    """Statistics of samples that the model has just been fitted to."""
    signals = model._preparation.apply(samples)
    everything = np.ones(graphs.n_edges(signals.shape[1]))
    weight = share_of(0, len(samples), model.forgetting)[1]
    found, _ = rules.follow(model, rules.recall(model), Batch(signals, 1.0, everything, weight))
    model.stream_ = {
        **_embedded(model._preparation, found),
        "weight": np.array(weight),
        "levels": np.where(model.active_nodes_, np.nan, np.fmin.reduce(samples, axis=0)),
    }
    if len(samples) < _enough(model, rules):
        model.stream_ |= {"kept": samples, "fitted": np.array(len(samples))}


def _refit(model: Any, samples: NDArray, rules: Rules) -> None:
    """Fit all samples that were kept; what falls short is said once there are enough of them."""
    names, seen = getattr(model, "feature_names_in_", None), model.n_samples_seen_
    before = seen - len(model.stream_["kept"])
    with warnings.catch_warnings():
        if len(samples) < _enough(model, rules):
            for kind in (ConvergenceWarning, DeadAtomWarning, SilentNodeWarning):
                warnings.simplefilter("ignore", kind)
        _fit(model, samples, rules)
    if names is not None:
        model.feature_names_in_ = names
    _open(model, samples, rules)
    model.n_samples_seen_ = before + len(samples)


def _go_on(model: Any, rules: Rules) -> None:
    """Begin the stream of a model that was fitted to all samples at once."""
    model.n_samples_seen_ = len(model.coefficients_)
    model.stream_ = {
        **_embedded(model._preparation, rules.recall(model)),
        "weight": np.array(share_of(0, model.n_samples_seen_, model.forgetting)[1]),
        "levels": np.full(model.n_features_in_, np.nan),
    }


# All others -----------------------------------------------------------------------------------


def _follow(
    model: Any, stream: Statistics, samples: NDArray, newcomers: NDArray, rules: Rules
) -> None:
    """Let a batch replace its share of the statistics, and the model follow them."""
    share, weight = share_of(float(stream["weight"]), len(samples), model.forgetting)
    old = model._preparation
    preparation = Preparation(old.active | newcomers, old.scale)
    signals = preparation.apply(samples)
    scale = old.scale
    if model.rescale:
        change = 1 - share + share * _mean_square(signals)
        scale *= float(np.sqrt(change))
        signals = signals / signals.dtype.type(np.sqrt(change))
        for name in GRAPHS & stream.keys():
            stream[name] = stream[name] * change
        stream["moments"] = stream["moments"] / change
    known = preparation.restrict(old.embed(np.ones(graphs.n_edges(int(old.active.sum())))))
    found = {name: preparation.restrict(stream[name]) for name in OF_EDGES if name in stream}
    for name in GRAPHS & stream.keys():  # a node that joins begins with typical weights
        typical = found[name] @ known / known.sum()
        found[name] = np.where(known > 0, found[name], typical[:, None])
    model.active_nodes_ = preparation.active
    batch = Batch(signals, share, np.where(known > 0, share, 1), weight)
    found, attributes = rules.follow(model, {**stream, **found}, batch)
    attributes["atoms_"] = preparation.embed(attributes["atoms_"].astype(model.atoms_.dtype))
    for name in ("objective_", "log_likelihood_"):
        if name in attributes:
            attributes[name] = (1 - share) * getattr(model, name) + share * attributes[name]
    vars(model).update(attributes, scale_=scale)
    model.stream_ = {**_embedded(preparation, found), "weight": np.array(weight)}
    model.n_samples_seen_ += len(samples)


def _newcomers(active: NDArray, stream: Statistics, samples: NDArray) -> NDArray[np.bool_]:
    """Silent nodes (N,) that begin to vary; their level so far is remembered in the stream."""
    low = np.fmin(stream["levels"], np.fmin.reduce(samples, axis=0))
    high = np.fmax(stream["levels"], np.fmax.reduce(samples, axis=0))
    stream["levels"] = np.where(active, np.nan, low)
    return ~active & (high > low)


def _mean_square(signals: NDArray) -> float:
    """Of prepared signals; where values are missing, of as many as were observed freely."""
    nodes = signals.shape[1]
    freedom = np.maximum(np.isfinite(signals).sum(axis=1) - 1, 0).sum()
    if freedom == 0:
        return 1.0
    with np.errstate(over="ignore"):
        squares = float(np.nansum(np.square(signals, dtype=np.float64)))
    if not squares < float(np.finfo(signals.dtype).max) / 1e6:
        raise ValueError("X holds values too large beside those of earlier batches to be squared")
    return squares / float(freedom) * (nodes - 1) / nodes


def _read(model: Any, X: ArrayLike) -> NDArray:
    """A batch, checked against what the model has seen; a batch is small enough for memory."""
    samples = model._read(X, reset=False)
    return samples if isinstance(samples, np.ndarray) else samples[: len(samples)]


def _check_stream(model: Any) -> None:
    """Whether settings still are those that the stream began with."""
    began = len(model.stream_["atoms"])
    if model.n_atoms != began:
        raise ValueError(
            f"n_atoms={model.n_atoms}, but the model has {began} atoms: a stream keeps their "
            "number; call fit to begin again"
        )


def _embedded(preparation: Preparation, statistics: Statistics) -> Statistics:
    """Statistics with edges between all nodes."""
    return {
        name: preparation.embed(value) if name in OF_EDGES else value
        for name, value in statistics.items()
    }
