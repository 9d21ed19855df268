"""Write the HTML report of a fitted dictionary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from graphdict.core.annotations import Floats
from graphdict.engine.storage.atomic import write_atomically
from graphdict.results import InstantaneousGraphs
from graphdict.viz.report.content import describe
from graphdict.viz.report.page import assemble

if TYPE_CHECKING:  # pragma: no cover
    from graphdict.models.base import GraphDictionary
    from graphdict.viz.drawing import Positions


def write_report(
    model: GraphDictionary,
    path: str | os.PathLike[str],
    *,
    coefficients: ArrayLike | InstantaneousGraphs | None = None,
    times: ArrayLike | None = None,
    time_unit: str = "samples",
    positions: Positions | None = None,
    source: str | None = None,
    title: str | None = None,
    findings: Sequence[str] = (),
    remarks: Sequence[str] = (),
    min_confidence: float = 0.5,
) -> None:
    """Write an HTML page to explore atoms, coefficients and instantaneous graphs.

    The page is a single file that needs no network. It shows a drawing of every atom, the
    coefficients as a timeline, and the graph of the sample under the cursor as a mixture of atoms.
    Many samples are merged into windows, and the page says so. Of a model that was fitted to
    several recordings, one can be chosen or two compared.

    Parameters
    ----------
    model : fitted graph dictionary
        Any of the dictionaries of ``graphdict``.
    path : path
        Where to write. An existing file is replaced.
    coefficients : array (T, K) or InstantaneousGraphs, optional
        Coefficients to show, such as ``model.transform(X_new)``; by default those of the training
        samples. With ``prior="hierarchy"``, ``model.instantaneous_graphs(X_new)`` also has the
        silent nodes of each sample.
    times : array (T,), optional
        Times of the samples: numbers in ``time_unit`` or datetimes. Sample numbers by default.
    time_unit : str, default="samples"
        Unit of numeric ``times``, such as ``"s"``.
    positions : array (N, 2) or dict of name -> (x, y), optional
        Positions of the nodes, y upwards; nodes without a finite one are drawn below the others. By
        default a layout is computed, the same at every call.
    source : str, optional
        Name of the data, for example of their file.
    title : str, optional
        Title of the page.
    findings : sequence of str, optional
        What was found, in sentences, which the page begins with; by default those of
        :func:`graphdict.selection.describe_findings`.
    remarks : sequence of str, optional
        Remarks on the data, such as how they were preprocessed.
    min_confidence : float, default=0.5
        Least confidence of an edge that is drawn; 0 draws all.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        For a model that is not fitted.
    ValueError
        For coefficients, times or positions that do not fit the model.

    Examples
    --------
    >>> from graphdict.viz.report import write_report
    >>> write_report(model, "report.html", times=times, time_unit="s")  # doctest: +SKIP
    """
    check_is_fitted(model, "atoms_")
    own = coefficients is None
    silent = getattr(model, "silent_", None) if own else None
    if isinstance(coefficients, InstantaneousGraphs):
        silent, coefficients = coefficients.silent, coefficients.coefficients
    rows = _coefficients(model, coefficients)
    content = describe(
        model, rows, own=own, silent=silent, times=_times(times, len(rows)),
        time_unit=time_unit, positions=positions, source=source, title=title, findings=findings,
        remarks=remarks, min_confidence=min_confidence,
    )  # fmt: skip
    write_atomically(path, assemble(content))


def _coefficients(model: Any, given: ArrayLike | None) -> Floats:
    """Return coefficients (T, K), by default of the training samples; raise if they are invalid."""
    if given is None:
        given = getattr(model, "coefficients_", None)
    if given is None:
        raise ValueError(
            f"this {type(model).__name__} holds no coefficients_; pass coefficients=, for example "
            "model.transform(X)"
        )
    rows, count = np.asarray(given), len(model.atoms_)
    if rows.ndim != 2 or rows.shape[1] != count or len(rows) == 0:
        raise ValueError(
            f"coefficients have shape {rows.shape}; they need one row or more, and one column for "
            f"each of the {count} atoms"
        )
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"coefficients are of type {rows.dtype}; they need to be numbers")
    if not np.isfinite(rows).all() or rows.min() < 0:
        bad = int(np.flatnonzero(~(np.isfinite(rows) & (rows >= 0)).all(axis=1))[0])
        raise ValueError(
            f"coefficients of sample {bad} are {rows[bad].tolist()}; they need to be finite and "
            "not negative"
        )
    return rows


def _times(given: ArrayLike | None, samples: int) -> NDArray[Any] | None:
    """Return times (T,) as float64, or as datetime64 in UTC."""
    if given is None:
        return None
    times = np.asarray(given)
    if times.dtype == object:  # datetimes of Python or pandas, with or without a time zone
        times = _from_datetimes(times)
    if times.shape != (samples,):
        raise ValueError(f"times have shape {times.shape}; there are {samples} samples")
    if times.dtype.kind == "M":
        finite = ~np.isnat(times)
    elif times.dtype.kind in "fiu":
        finite = np.isfinite(times)
    else:
        raise ValueError(f"times are of type {times.dtype}; they need to be numbers or datetimes")
    if not finite.all():
        raise ValueError(
            f"times[{int(np.flatnonzero(~finite)[0])}] is missing; every sample needs one"
        )
    return times if times.dtype.kind == "M" else times.astype(np.float64)


def _from_datetimes(values: NDArray[Any]) -> NDArray[Any]:
    """Return datetimes of Python or pandas as datetime64 in UTC; other objects as they are."""
    from datetime import UTC, datetime

    def plain(value: Any) -> Any:
        aware = isinstance(value, datetime) and value.tzinfo is not None
        return value.astimezone(UTC).replace(tzinfo=None) if aware else value

    try:
        return np.array([plain(value) for value in values.ravel()], dtype="datetime64[us]").reshape(
            values.shape
        )
    except (TypeError, ValueError):
        return values
