"""What models with a filter and tails say of these: whether they are asked for, and were found."""

from __future__ import annotations

import numpy as np

from graphdict.core.marginal.filters import FILTERS, GraphFilter


class FilteredFit:
    """Base of the models that have ``filter_power`` and ``tails``."""

    filter_power: float | str
    tails: float | str
    filter_: str
    filter_power_: float
    tails_: float

    @property
    def _may_be_filtered(self) -> bool:
        """Whether the parameters leave room for another power than 1, or for tails."""
        return self.filter_power != 1 or self.tails not in ("gaussian", np.inf)

    @property
    def _is_papers_model(self) -> bool:
        """Whether the fit has a power of 1 and Gaussian tails, as those of old files have."""
        power, tails = getattr(self, "filter_power_", 1.0), getattr(self, "tails_", np.inf)
        return getattr(self, "filter_", "power") == "power" and power == 1 and tails == np.inf

    @property
    def _found_filter(self) -> GraphFilter:
        """The filter of the fit."""
        return FILTERS[self.filter_](self.filter_power_)
