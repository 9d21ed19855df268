"""Batches of a stream: the first samples are fitted together, later ones move running averages.

What a model learns from samples it learns from averages over them (its *statistics*). A batch of B
samples replaces the share

    rho = b / (f^B n + b)      b = 1 + f + ... + f^(B-1)

of every average, where ``n`` is the number of samples that the averages stand for and ``f`` the
forgetting factor: with ``f = 1`` each sample counts alike, however the stream is cut. Signals are
divided by a running root mean square, and the statistics follow it. What a model does with its
statistics is its own (:mod:`graphdict.engine.online.log_barrier`,
:mod:`graphdict.engine.online.marginal`).

A start from few samples is poor, and no later step mends it. The first samples are therefore kept,
and fitted again each time that their number has doubled, until there are enough of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphdict.core import graphs
from graphdict.core.annotations import Booleans, Signals
from graphdict.core.recordings import Recordings
from graphdict.engine.estimator_protocols import Streamed
from graphdict.engine.penalties import weights_in
from graphdict.engine.recordings import are_several
from graphdict.engine.signals import Preparation
from graphdict.exceptions import ConvergenceWarning, DeadAtomWarning, SilentNodeWarning

LEAST_KEPT = 100  # samples for each atom that are fitted together, however short the memory
SILENT = 1e-20  # of the variance so far: less is rounding, and no unit to measure by
GROWTH = 2  # by which their number grows from one such fit to the next
OF_EDGES = ("atoms", "shown", "moments", "gains")  # statistics with one column for each edge
GRAPHS = {"atoms", "shown"}  # those in units of edges, which change with the scale

Statistics = dict[str, NDArray[Any]]


class Batch(NamedTuple):
    """A batch of prepared signals, and the share of the averages that it replaces."""

    signals: NDArray[Any]  # (B, active nodes)
    share: float
    of_edges: NDArray[Any]  # (E',) the share for each edge: 1 where a node is new
    weight: float  # number of samples that the averages then stand for
    recordings: Recordings


class StreamRules(NamedTuple):
    """How a kind of model learns from a stream."""

    check: Callable[[Any], None]  # raises where parameters cannot be used in a stream
    statistics_of_fit: Callable[[Any], Statistics]  # at which a fitted model would stay
    update: Callable[[Any, Statistics, Batch], tuple[Statistics, dict[str, Any]]]
    # returns new statistics and fitted attributes
    first_samples: int  # for each atom, that are fitted together at first
    starts: int  # least number of starts of these fits: a stream cannot begin again


def take_batch(model: Streamed, X: Signals, rules: StreamRules) -> None:
    """Learn from the next batch of a stream: the whole of ``partial_fit``."""
    model._validate_params()
    rules.check(model)
    if not hasattr(model, "atoms_"):
        _fit(model, X, rules)
        samples, recordings = _read(model, X)
        _start(model, samples, recordings, rules)
        model.n_samples_seen_ = len(samples)
        return
    samples, recordings = _read(model, X)
    if not hasattr(model, "stream_"):
        _start_after_fit(model, rules)
    _check_stream(model)
    stream = dict(model.stream_)
    new_nodes = _new_nodes(model.active_nodes_, stream, samples)
    if "kept" in stream:
        stream["kept"] = np.concatenate((stream["kept"], samples.astype(stream["kept"].dtype)))
        stream["pieces"] = _with_pieces(stream, recordings, goes_on=not are_several(X))
        count = len(stream["kept"])
        if new_nodes.any() or count >= min(_enough(model, rules), GROWTH * int(stream["fitted"])):
            _refit(model, stream, rules)
            return
    _update(model, stream, samples, rules, recordings=recordings, new_nodes=new_nodes)


def forget_stream(model: Streamed) -> None:
    """Remove the attributes of a stream, if there was any: called by ``fit``."""
    for name in ("stream_", "n_samples_seen_"):
        vars(model).pop(name, None)


def share_of(weight: float, batch: int, forgetting: float) -> tuple[float, float]:
    """Return the share ``rho`` of a batch, and the number of samples of the averages after it."""
    old = weight * forgetting**batch
    new = batch if forgetting == 1 else (1 - forgetting**batch) / (1 - forgetting)
    return new / (old + new), old + new


# The first samples ----------------------------------------------------------------------------


def _enough(model: Streamed, rules: StreamRules) -> float:
    """Return how many samples to fit together; hardly more than are remembered."""
    enough = rules.first_samples * model.n_atoms
    if model.forgetting == 1:
        return enough
    return min(enough, max(LEAST_KEPT * model.n_atoms, 1 / (1 - model.forgetting)))


def _fit(model: Streamed, X: Signals, rules: StreamRules) -> None:
    """Fit the model, from at least as many starts as the rules ask for."""
    n_init = model.n_init
    model.n_init = max(n_init, rules.starts)
    try:
        model.fit(X)
    finally:
        model.n_init = n_init


def _start(
    model: Streamed, samples: NDArray[Any], recordings: Recordings, rules: StreamRules
) -> None:
    """Start the stream with the statistics of samples that the model has just been fitted to."""
    signals = model._preparation.apply(samples)
    everything = np.ones(graphs.n_edges(signals.shape[1]))
    weight = share_of(0, len(samples), model.forgetting)[1]
    found, _ = rules.update(
        model, rules.statistics_of_fit(model), Batch(signals, 1.0, everything, weight, recordings)
    )
    model.stream_ = {
        **_embedded(model._preparation, found),
        "weight": np.array(weight),
        "levels": np.where(model.active_nodes_, np.nan, np.fmin.reduce(samples, axis=0)),
    }
    if len(samples) < _enough(model, rules):
        model.stream_ |= {
            "kept": samples, "fitted": np.array(len(samples)), "pieces": recordings.piece_lengths,
        }  # fmt: skip


def _with_pieces(stream: Statistics, recordings: Recordings, goes_on: bool) -> NDArray[Any]:
    """Return the lengths of the pieces of all samples kept, those of a new batch included.

    A batch that is one array ``goes_on`` where the one before it ended; recordings begin anew.
    """
    lengths = recordings.piece_lengths
    before = stream.get("pieces", np.array([len(stream["kept"]) - recordings.total]))
    if len(lengths) > 1 or not goes_on:
        return np.concatenate((before, lengths))
    return np.append(before[:-1], before[-1] + lengths[0])


def _refit(model: Streamed, stream: Statistics, rules: StreamRules) -> None:
    """Fit all samples that were kept; warnings are given once there are enough of them."""
    samples, pieces = stream["kept"], stream["pieces"]
    names, seen = getattr(model, "feature_names_in_", None), model.n_samples_seen_
    before = seen - len(model.stream_["kept"])
    with warnings.catch_warnings():
        if len(samples) < _enough(model, rules):
            for kind in (ConvergenceWarning, DeadAtomWarning, SilentNodeWarning):
                warnings.simplefilter("ignore", kind)
        whole = np.split(samples, np.cumsum(pieces)[:-1]) if len(pieces) > 1 else samples
        _fit(model, whole, rules)
    if names is not None:
        model.feature_names_in_ = names
    _start(model, samples, model.recordings_, rules)
    model.n_samples_seen_ = before + len(samples)


def _start_after_fit(model: Streamed, rules: StreamRules) -> None:
    """Start the stream of a model that was fitted before, whose samples are not known."""
    model.n_samples_seen_ = len(model.coefficients_)
    model.stream_ = {
        **_embedded(model._preparation, rules.statistics_of_fit(model)),
        "weight": np.array(share_of(0, model.n_samples_seen_, model.forgetting)[1]),
        "levels": np.full(model.n_features_in_, np.nan),
    }


# All others -----------------------------------------------------------------------------------


def _update(
    model: Streamed,
    stream: Statistics,
    samples: NDArray[Any],
    rules: StreamRules,
    *,
    recordings: Recordings,
    new_nodes: NDArray[Any],
) -> None:
    """Let a batch replace its share of the statistics, and update the model by them."""
    share, weight = share_of(float(stream["weight"]), len(samples), model.forgetting)
    old = model._preparation
    preparation = Preparation(old.active | new_nodes, old.scale)
    signals = preparation.apply(samples)
    scale = old.scale
    change = 1 - share + share * _mean_square(signals)
    if model.rescale and change > SILENT:
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
    batch = Batch(signals, share, np.where(known > 0, share, 1), weight, recordings)
    found, attributes = rules.update(model, {**stream, **found}, batch)
    atoms = weights_in(model, attributes["atoms_"], model.atoms_.dtype)
    attributes["atoms_"] = preparation.embed(atoms)
    for name in ("objective_", "log_likelihood_"):
        if name in attributes and np.isfinite(getattr(model, name)):
            attributes[name] = (1 - share) * getattr(model, name) + share * attributes[name]
    vars(model).update(attributes, scale_=scale, recordings_=recordings)
    model.stream_ = {**_embedded(preparation, found), "weight": np.array(weight)}
    model.n_samples_seen_ += len(samples)


def _new_nodes(active: NDArray[Any], stream: Statistics, samples: NDArray[Any]) -> Booleans:
    """Return which silent nodes (N,) begin to vary; levels so far are kept in the stream."""
    low = np.fmin(stream["levels"], np.fmin.reduce(samples, axis=0))
    high = np.fmax(stream["levels"], np.fmax.reduce(samples, axis=0))
    stream["levels"] = np.where(active, np.nan, low)
    return ~active & (high > low)


def _mean_square(signals: NDArray[Any]) -> float:
    """Return the mean square of prepared signals; with missing values, per degree of freedom."""
    nodes = signals.shape[1]
    freedom = np.maximum(np.isfinite(signals).sum(axis=1) - 1, 0).sum()
    if freedom == 0:
        return 1.0
    with np.errstate(over="ignore"):
        squares = float(np.nansum(np.square(signals, dtype=np.float64)))
    if not squares < float(np.finfo(signals.dtype).max) / 1e6:
        raise ValueError(
            "X holds values too large compared with earlier batches (their squares would overflow)"
        )
    return squares / float(freedom) * (nodes - 1) / nodes


def _read(model: Streamed, X: Signals) -> tuple[NDArray[Any], Recordings]:
    """Return a batch (B, N) in memory, checked against what the model has seen."""
    samples, recordings = model._read(X, reset=False)
    return samples if isinstance(samples, np.ndarray) else samples[: len(samples)], recordings


def _check_stream(model: Streamed) -> None:
    """Raise where the number of atoms is not that of the stream."""
    began = len(model.stream_["atoms"])
    if model.n_atoms != began:
        raise ValueError(
            f"n_atoms={model.n_atoms}, but the model has {began} atoms: a stream keeps their "
            "number; call fit to begin again"
        )


def _embedded(preparation: Preparation, statistics: Statistics) -> Statistics:
    """Return statistics whose edges are those between all nodes."""
    return {
        name: preparation.embed(value) if name in OF_EDGES else value
        for name, value in statistics.items()
    }
