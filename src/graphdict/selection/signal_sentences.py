"""How signals follow the graphs that were learned from them, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphdict.core.marginal.filters import FILTERS

EQUALLY_LOUD = 1.2  # ratio of amplitudes up to which samples are about as loud


def describe_signals(model: Any) -> list[str]:
    """Say in words how signals follow their graphs, where a model has learned it.

    Parameters
    ----------
    model : fitted estimator
        A :class:`graphdict.GraphDictMarginal`; others have learned nothing of the kind.

    Returns
    -------
    list of str
        A sentence on the filter and one on the tails; none where the model has neither.
    """
    said = []
    kind = getattr(model, "filter_", None)
    if kind is not None:
        said.append(FILTERS[kind](model.filter_power_).in_words())
    tails = getattr(model, "tails_", None)
    if tails is None:
        return said
    if np.isinf(tails):
        said.append("Samples differ in loudness no more than a Gaussian allows.")
        return said
    sentence = "Some samples are louder than others, whatever their graph"
    gains = np.asarray(getattr(model, "gains_", ()))
    if gains.size:
        low, high = np.quantile(gains**-0.5, [0.05, 0.95])
        if high < EQUALLY_LOUD * low:
            sentence = "Samples are about as loud as one another"
        else:
            sentence += f": nine in ten have {low:.2g} to {high:.2g} times the usual amplitude"
    said.append(f"{sentence} (Student t with {tails:.2g} degrees of freedom).")
    return said
