"""What a comparison found: effects, intervals, p-values, as a table and in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from graphdict.core.annotations import Booleans, Floats
from graphdict.exceptions import import_extra

if TYPE_CHECKING:  # pragma: no cover
    import pandas

LEVEL = 0.05
NAMED = 5


@dataclass(frozen=True)
class Comparison:
    """A test of values of recordings, for each of M columns (a measure of an atom, or an edge).

    Attributes
    ----------
    question : str
        What was asked, in words.
    columns : list of (measure, item)
        What each column is.
    statistic_name, size_name : str
        Such as "t" and "Hedges' g".
    levels : list of str
        The groups or conditions, in the order of their names; effects of two are second minus
        first.
    means : array (levels, M)
        Means over units; none for a covariate.
    effect, effect_interval : arrays (M,), (M, 2)
        Difference of means, or slope, in the unit of the values, with its interval. Of three or
        more levels, the share of the variance that they explain.
    size, size_interval : arrays (M,), (M, 2)
        The same without a unit.
    statistic, p_values, p_corrected : arrays (M,)
        The statistic, its p-value alone, and corrected over all columns by the maximum statistic.
    n_units : list of int
        Exchangeable units of each level, or of all.
    n_permutations : int
        Arrangements compared, the observed one included.
    exact : bool
        Whether these are all that exist.
    confidence : float
        Of the intervals.
    smallest_p : float
        The smallest p-value that so many units, or permutations, allow.
    """

    question: str
    columns: list[tuple[str, str]]
    statistic_name: str
    size_name: str
    levels: list[str]
    means: Floats = field(repr=False)
    effect: Floats
    effect_interval: Floats = field(repr=False)
    size: Floats = field(repr=False)
    size_interval: Floats = field(repr=False)
    statistic: Floats = field(repr=False)
    p_values: Floats = field(repr=False)
    p_corrected: Floats
    n_units: list[int]
    n_permutations: int
    exact: bool
    confidence: float
    smallest_p: float

    @property
    def significant(self) -> Booleans:
        """Which columns (M,) have a corrected p-value of at most 0.05."""
        return self.p_corrected <= LEVEL

    def with_columns(self, columns: list[tuple[str, str]]) -> Comparison:
        """Return the same with other names of the columns.

        Parameters
        ----------
        columns : list of M pairs of str
            Measure and item of each.

        Returns
        -------
        Comparison
        """
        if len(columns) != len(self.columns):
            raise ValueError(f"columns must be {len(self.columns)} pairs, got {len(columns)}")
        return replace(self, columns=list(columns))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each column, with everything that was found of it.

        Returns
        -------
        pandas.DataFrame
        """
        tables = import_extra("pandas", "a table of tests", "tables")
        table: dict[str, object] = {
            "measure": [measure for measure, _ in self.columns],
            "atom": [item for _, item in self.columns],
        }
        for level, means in zip(self.levels, self.means):
            table[f"mean {level}"] = means
        low, high = self.effect_interval.T
        table |= {"effect": self.effect, "effect_low": low, "effect_high": high}
        low, high = self.size_interval.T
        table |= {"size": self.size, "size_low": low, "size_high": high}
        table |= {
            self.statistic_name: self.statistic, "p": self.p_values,
            "p_corrected": self.p_corrected,
        }  # fmt: skip
        return tables.DataFrame(table)

    def in_words(self) -> str:
        """Return the finding in a few sentences.

        Returns
        -------
        str
        """
        count = len(self.columns)
        how = (
            f"all {self.n_permutations} arrangements" if self.exact
            else f"{self.n_permutations - 1} random arrangements"
        )  # fmt: skip
        over = f", corrected over {count} values by the maximum statistic" if count > 1 else ""
        said = [f"{self.question} ({how}{over})."]
        found = np.flatnonzero(self.significant)
        found = found[np.argsort(self.p_corrected[found], kind="stable")]
        said += [self._sentence(m) for m in found[:NAMED]]
        if len(found) > NAMED:
            said.append(f"And {len(found) - NAMED} more.")
        if not len(found):
            m = int(np.argmin(self.p_corrected))
            said.append(f"No difference is clear; the clearest: {self._sentence(m)}")
        if self.smallest_p > LEVEL:
            said.append(
                f"So few units allow no p-value below {self.smallest_p:.2g}: more are needed."
            )
        return " ".join(said)

    def _sentence(self, m: int) -> str:
        measure, item = self.columns[m]
        item = f"atom {item}" if item.isdigit() else item
        what = f"{measure.replace('_', ' ')} of {item}" if measure != "value" else item
        low, high = self.effect_interval[m]
        wide = f"{self.confidence:.0%} interval {low:.3g} to {high:.3g}"
        p = f"p = {self.p_corrected[m]:.2g}"
        if len(self.levels) == 2:
            first, second = self.means[:, m]
            text = (
                f"{first:.3g} in {self.levels[0]}, {second:.3g} in {self.levels[1]}: "
                f"{self.effect[m]:+.3g}, {wide}"
            )
        elif self.levels:
            named = ", ".join(f"{v:.3g} in {n}" for n, v in zip(self.levels, self.means[:, m]))
            text = f"{named}: {self.effect[m]:.0%} of the variance, {wide}"
        else:
            text = f"slope {self.effect[m]:+.3g}, {wide}"
        sized = f"; {self.size_name} {self.size[m]:+.2f}" if len(self.levels) < 3 else ""
        return f"{what[:1].upper()}{what[1:]}: {text}{sized}, {p}."
