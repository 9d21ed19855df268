"""Whether GraphDictMarginal learns a filter and tails: what its parameters and signals allow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.marginal.filters import FILTERS, IDENTITY, GraphFilter, PowerFilter
from graphdict.engine.logs import logger
from graphdict.engine.marginal.learn_filtered import MOST_FILTERED
from graphdict.engine.marginal.redundant import are_one_graph
from graphdict.engine.marginal.settings import Settings
from graphdict.engine.marginal.silent_nodes import fall_apart
from graphdict.engine.signals import has_gaps
from graphdict.models.signed import check_signed

if TYPE_CHECKING:
    from graphdict.models.marginal import GraphDictMarginal

SAMPLES_FOR_FILTERS = 20  # with fewer, power 1 and Gaussian tails


def check_parameters(model: GraphDictMarginal) -> None:
    """Raise where parameters, each of them valid, do not go together."""
    _check_filter(model)
    check_signed(model)
    if model.average and model.prior == "hierarchy":
        raise ValueError(
            f'average={model.average} draws whole activations, but prior="hierarchy" gives '
            "shares of them: set average=0"
        )
    if model.levels > 1 and model.prior == "hierarchy":
        raise ValueError(
            f'levels={model.levels} cannot be used with prior="hierarchy", which has '
            "activations of its own: set levels=1"
        )


def _check_filter(model: GraphDictMarginal) -> None:
    """Raise where a filter or tails are asked for that other parameters do not allow."""
    asked = []
    if model.filter_power not in ("auto", 1):
        asked.append(f"filter_power={model.filter_power!r}")
    if model.tails not in ("auto", "gaussian", np.inf):
        asked.append(f"tails={model.tails!r}")
    for name, wrong in (("prior", model.prior == "hierarchy"), ("average", model.average > 0)):
        if wrong and asked:
            raise ValueError(
                f"{asked[0]} cannot be used with {name}={getattr(model, name)!r}: use "
                'filter_power=1 and tails="gaussian" there'
            )


def settings_for(model: GraphDictMarginal, signals: Any, patterns: NDArray[Any]) -> Settings:
    """Return the settings with power and tails, None each where it is to be learned.

    "auto" stands for 1 and Gaussian where nothing else is known, which the log says.
    """
    chosen, filter_from = _given_filter(model.filter_power), model._request.filter_from
    if filter_from is not None and not model.signed:
        chosen = filter_from._found_filter
    given = {"auto": None, "gaussian": np.inf}
    tails = given[model.tails] if isinstance(model.tails, str) else float(model.tails)
    if model.signed:
        return replace(model._settings, filter=IDENTITY, tails=tails, signed=True)
    settings = replace(model._settings, filter=chosen, tails=tails)
    if filter_from is not None:
        same = are_one_graph(filter_from.atoms_)
        settings = replace(settings, pooled=None if same else filter_from._pooled)
    if not settings.filtered:
        return settings
    fixed = model.max_active is not None
    reasons = {
        'prior="hierarchy"': model.prior == "hierarchy",
        f"average={model.average}": model.average > 0,
        "a stream": model._in_stream,
        f"{len(patterns)} sets of atoms": fixed and len(patterns) > MOST_FILTERED,
    }
    if chosen is None and tails is None:
        few = len(signals) < SAMPLES_FOR_FILTERS
        reasons[f"fewer than {SAMPLES_FOR_FILTERS} samples"] = few
    plain = chosen in (None, IDENTITY)
    apart = fall_apart(signals)
    if apart and plain and tails in (None, np.inf):
        text = "nodes that are exactly silent, as on graphs that fall apart, and missing values"
        reasons[text] = has_gaps(signals)
    reason = next((text for text, holds in reasons.items() if holds), None)
    if reason is None:
        return replace(settings, falls_apart=apart)
    if not plain or tails not in (None, np.inf):
        name, value = ("filter_power", model.filter_power)
        if plain:
            name, value = "tails", model.tails
        raise ValueError(
            f"{name}={value!r} cannot be used with {reason}: use filter_power=1 and "
            'tails="gaussian" there'
        )
    logger.info("GraphDictMarginal: power 1 and Gaussian tails, because of %s", reason)
    return model._settings


def _given_filter(filter_power: float | str) -> GraphFilter | None:
    """Return the filter that a parameter stands for; None where it is to be learned."""
    if isinstance(filter_power, str):
        return None if filter_power == "auto" else FILTERS[filter_power](1.0)
    return PowerFilter(float(filter_power))
