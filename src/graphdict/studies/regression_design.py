"""The design of a regression on a covariate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.annotations import Floats, Integers
from graphdict.studies import arrangements
from graphdict.studies.designs import NOTHING, CentredValues, Effects, divide
from graphdict.studies.intervals import correlation_interval, mean_interval


@dataclass
class Regression:
    """Values on a covariate: the slope over its error, t; the size is the correlation.

    Under no effect the covariate of units of one block could have come in any order. With several
    blocks, values and covariate are taken relative to the means of their block.
    """

    values: Floats  # (U, M)
    covariate: Floats  # (U,)
    blocks: Integers  # (U,)
    statistic_name: str = "t"
    size_name: str = "correlation"

    @cached_property
    def _members(self) -> list[Integers]:
        """The units of each block."""
        return [np.flatnonzero(self.blocks == block) for block in np.unique(self.blocks)]

    @cached_property
    def _within(self) -> tuple[CentredValues, Floats]:
        """Values and covariate relative to the means of their block; values may be missing."""
        values, covariate = self.values.copy(), self.covariate.astype(np.float64)
        for own in self._members:
            covariate[own] -= covariate[own].mean()
            known = np.isfinite(values[own])
            sums = np.where(known, values[own], 0.0).sum(axis=0)
            values[own] -= sums / np.maximum(known.sum(axis=0), 1)
        return CentredValues(values), covariate

    def arrangements(self, count: int, rng: np.random.RandomState) -> tuple[NDArray[Any], bool]:
        return arrangements.block_orders(self.blocks, count, rng)

    def statistics(self, rows: NDArray[Any]) -> Floats:
        slope, error, _, _ = self._slopes(self._within[1][rows])
        return np.where(np.isnan(error), 0.0, divide(slope, error))

    def effects(self, confidence: float) -> Effects:
        slopes, errors, correlations, free = self._slopes(self._within[1][None])
        slope, error, correlation = slopes[0], errors[0], correlations[0]
        pairs = free + 2  # with which one block has as many degrees of freedom
        x, values = self._centred_covariate, self._within[0].values
        spread = np.square(x).sum(axis=0)
        # What the error of each unit (U, M) adds to that of the slope.
        pulls = x * (values - slope * x) / np.where(spread > 0, spread, 1.0)
        if len(self._members) > 1:  # what recordings of a subject have in common is one error
            pulls = np.stack([pulls[own].sum(axis=0) for own in self._members])
            parts = np.stack([np.square(x[own]).sum(axis=0) for own in self._members])
            free = (parts > NOTHING * spread).sum(axis=0) - 1.0  # by subjects that say something
            scale = np.where(free > 0, (free + 1) / np.maximum(free, 1), np.nan)
            error = np.sqrt(scale * np.square(pulls).sum(axis=0))
        skewness = np.nan_to_num(divide((pulls**3).sum(axis=0), error**3), posinf=0, neginf=0)
        return Effects(
            slope, mean_interval(slope, error, free, skewness, confidence), correlation,
            correlation_interval(correlation, pairs, confidence),
        )  # fmt: skip

    @cached_property
    def _centred_covariate(self) -> Floats:
        """The covariate (U, M) without its mean over what is known of a block; 0 for the rest."""
        mask, covariate = self._within[0].mask, self._within[1]
        centred = mask * covariate[:, None]
        for own in self._members:
            count = np.maximum(mask[own].sum(axis=0), 1)
            centred[own] -= mask[own] * centred[own].sum(axis=0) / count
        return centred

    def _slopes(self, covariates: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return slopes, their errors and correlations (P, M), and degrees of freedom (M,)."""
        within = self._within[0]
        xx, free = np.square(covariates) @ within.mask, within.mask.sum(axis=0) - 1
        for own in self._members:
            mask = within.mask[own]
            free -= mask.any(axis=0)
            if not mask.all():  # the mean of what is left in the block
                xx -= np.square(covariates[:, own] @ mask) / np.maximum(mask.sum(axis=0), 1)
        xy, yy = covariates @ within.values, within.squares.sum(axis=0)
        tiny = NOTHING * float(np.square(covariates[0]).sum()) + np.finfo(float).tiny
        varied = xx > tiny
        slope = np.where(varied, xy / np.where(varied, xx, 1.0), 0.0)
        left = np.maximum(yy - slope * xy, 0)
        left = np.where(left > within.nothing, left, 0.0)
        error = np.sqrt(left / np.maximum(free, 1) / np.where(varied, xx, 1.0))
        error = np.where(varied & (free > 0), error, np.nan)
        correlation = divide(xy, np.sqrt(np.where(varied, xx, 0.0) * yy))
        return slope, error, np.clip(np.nan_to_num(correlation), -1, 1), free
