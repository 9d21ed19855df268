"""GraphDict: a graph dictionary with any likelihood, of yours or of ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from graphdict.core.annotations import Floats
from graphdict.core.likelihood_checks import check_likelihood
from graphdict.core.likelihoods import Likelihood, LogDeterminant
from graphdict.core.protocols import Backend, Executor
from graphdict.engine.logs import printable
from graphdict.models.docs import document
from graphdict.models.soft import SoftDictionary


@document
@dataclass(repr=False, eq=False, kw_only=True)
class GraphDict(SoftDictionary):
    """Graph dictionary with any likelihood.

    Minimises, over atoms ``W >= 0`` and coefficients ``Delta`` in [0, 1],

        1/T sum_t [ x_t' L_t x_t + h(M(L_t)) ] + the penalties of :class:`GraphDictLog`

    where the likelihood says what ``h`` is and what it sees of a graph. :class:`GraphDictLog`,
    :class:`GraphDictExact` and :class:`GraphDictSpectral` are this model with likelihoods that have
    compiled backends. See the page "Add your own likelihood".
    """

    _own_parameters = """
    likelihood : Likelihood, optional
        What the density of a signal sees of its graph: a :class:`graphdict.terms.Likelihood`. By
        default the exact Gaussian one, as in :class:`GraphDictExact`.
    """
    _own_attributes = """
    likelihood_ : str
        The name of the class of the likelihood that was fitted.
    """
    _objects = (*SoftDictionary._objects, "likelihood")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SoftDictionary._parameter_constraints,
        "likelihood": [Likelihood, None],
    }

    likelihood: Likelihood | None = None
    likelihood_: str = field(init=False)

    def _likelihood(self) -> Likelihood:
        likelihood, name = self._unrestricted, type(self._unrestricted).__name__
        learned = getattr(self, "likelihood_", name)  # older files do not say
        if self.likelihood is None and name != learned:
            raise ValueError(
                f"this GraphDict was fitted with the likelihood {printable(learned)}, and "
                "likelihood=None stands for another density: likelihoods are not saved, so give it "
                "back by set_params(likelihood=...), or fit again"
            )
        try:
            return likelihood.on_nodes(self.active_nodes_)
        except (IndexError, ValueError) as error:
            raise TypeError(
                f"on_nodes(active) of the likelihood {name} fails on an array "
                f"that says which of the {len(self.active_nodes_)} nodes of X vary: {error}"
            ) from error

    @property
    def _unrestricted(self) -> Likelihood:
        """The likelihood of all nodes, silent ones included."""
        return LogDeterminant() if self.likelihood is None else self.likelihood

    def _barrier(self) -> Any:
        return getattr(self._unrestricted, "barrier", None)  # one that has none is refused later

    def _map_of(self, nodes: int) -> Any:
        likelihood = self._unrestricted
        if not hasattr(self._barrier(), "slope"):
            return None
        try:
            check_likelihood(likelihood, nodes)
        except Exception:  # which the fit says, of the nodes that vary
            return None
        return likelihood.linear_map(nodes)

    def _learn_likelihood(self, signals: Any) -> None:
        self.likelihood_ = type(self._unrestricted).__name__
        check_likelihood(self._likelihood(), signals.shape[1], self.window_size > 1)

    def _check_energies(self, executor: Executor, atoms: Floats) -> None:
        likelihood = self._unrestricted
        if type(likelihood).signal_term is Likelihood.signal_term:
            return
        finite = executor.gather(executor.map_blocks(_finite_rows, [], np.ones_like(atoms))[0])
        if not finite.all():
            raise ValueError(
                f"signal_term(signals, counts) of the likelihood {type(likelihood).__name__} has "
                f"energies that are not finite, first in row {int(np.argmin(finite))} of the "
                "samples (or windows), counted from 0"
            )

    def _image_size(self, nodes: int) -> int:
        return nodes**2  # at most: Laplacians


def _finite_rows(backend: Backend, rows: slice, atoms: Floats) -> Any:
    """Return of each row of a block whether its energies are finite."""
    return np.isfinite(backend.problem.signal_term.energies(atoms, rows)).all(axis=1), ()
