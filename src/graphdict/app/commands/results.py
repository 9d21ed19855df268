"""Write and print the results of a fit: model, coefficients, atoms, report, summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.commands.console import Console
from graphdict.app.commands.outputs import results_in
from graphdict.app.files import SignalTable, write_table
from graphdict.core import graphs
from graphdict.core.recordings import Recordings
from graphdict.results import thresholded_atoms
from graphdict.selection.density import densities
from graphdict.selection.signal_sentences import describe_signals


def write_coefficients(
    path: Path,
    coefficients: NDArray[Any],
    times: NDArray[Any] | None,
    time_name: str | None,
    recordings: Recordings | None = None,
) -> None:
    """Write a table with a row for each sample: its time, and the coefficient of each atom.

    Of several recordings, the name of its recording comes first.
    """
    name = "sample" if times is None else time_name or "time"
    column = np.arange(1, len(coefficients) + 1) if times is None else times
    first: dict[str, NDArray[Any]] = {}
    if recordings is not None:
        labels = recordings.labels()
        first["recording"] = np.array(recordings.names, dtype=object)[labels]
        column = column - recordings.starts[labels] if times is None else column
    atoms = {f"atom_{k + 1}": values for k, values in enumerate(np.asarray(coefficients).T)}
    clash = f"{name} " if name in atoms or name in first else name
    write_table(
        path, {**first, clash: column, **atoms}, digits=6 if path.suffix != ".parquet" else 17
    )


def _atom_rows(
    model: Any, harmless: bool = False, min_confidence: float = 0.5
) -> dict[str, NDArray[Any]]:
    """Return the edges of all atoms as columns: atom, source, target, weight.

    Where they are known, also the confidence in each edge and the limits of its weight; averaged
    atoms have a column of edge probabilities. With ``harmless``, node names that a spreadsheet
    would take for formulas are quoted.
    """
    atoms = thresholded_atoms(model, min_confidence)
    rows, cols = graphs.edge_index(graphs.n_nodes(atoms.shape[1]))
    atom, edge = np.nonzero(atoms)
    names = np.array([_harmless(n) if harmless else n for n in model.node_names], dtype=object)
    columns = {
        "atom": atom + 1,
        "source": names[rows[edge]],
        "target": names[cols[edge]],
        "weight": atoms[atom, edge].astype(np.float64),
    }
    if hasattr(model, "edge_confidence_"):
        columns["confidence"] = model.edge_confidence_[atom, edge]
        least = -np.inf if getattr(model, "signed", False) else 0
        columns["low"], columns["high"] = np.maximum(model.edge_intervals_[atom, edge], least).T
    if hasattr(model, "edge_probabilities_"):
        columns["probability"] = model.edge_probabilities_[atom, edge].astype(np.float64)
    return columns


def _harmless(name: Any) -> str:
    text = str(name)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def summarise_atoms(
    model: Any, coefficients: NDArray[Any] | None = None, min_confidence: float = 0.5
) -> list[dict[str, Any]]:
    """Return a dict for each atom: mean coefficient, number of edges, degree, strongest edges.

    ``like`` are the atoms that are the same graph but for its strength.
    """
    used = np.asarray(model.coefficients_ if coefficients is None else coefficients)
    mean = used.mean(axis=0, dtype=np.float64)
    atoms = thresholded_atoms(model, min_confidence)
    share = densities(atoms, model.active_nodes_)
    nodes = int(np.sum(model.active_nodes_))
    rows, cols = graphs.edge_index(graphs.n_nodes(atoms.shape[1]))
    names = model.node_names
    alike = [set(pair) for pair in getattr(model, "alike_atoms_", [])]
    found = []
    for k, weights in enumerate(atoms):
        order = np.argsort(np.abs(weights))[::-1][:3]
        strongest = [
            {"source": names[rows[e]], "target": names[cols[e]], "weight": float(weights[e])}
            for e in order
            if weights[e] != 0
        ]
        found.append(
            {
                "atom": k + 1,
                "mean_coefficient": float(mean[k]),
                "samples": float(mean[k] * len(used)),
                "edges": int(np.count_nonzero(weights)),
                "negative_edges": int(np.count_nonzero(weights < 0)),
                "degree": float(share[k] * (nodes - 1)),
                "density": float(share[k]),
                "like": sorted(other + 1 for pair in alike if k in pair for other in pair - {k}),
                "strongest": strongest,
            }
        )
    return found


def signal_summary(model: Any) -> dict[str, Any]:
    """Return filter and tails of a model that has learned them, as numbers and in words."""
    tails = getattr(model, "tails_", None)
    return {
        "filter": getattr(model, "filter_", None),
        "power": getattr(model, "filter_power_", None),
        "degrees_of_freedom": None if tails is None or np.isinf(tails) else float(tails),
        "in_words": describe_signals(model),
    }


def evidence_summary(evidence: Any) -> dict[str, Any]:
    """Return whether there is more than one graph, as numbers and in words."""
    known = not np.isnan(evidence.p_value)
    return {
        "more_than_one_graph": evidence.clear, "compared_atoms": evidence.n_atoms,
        "gain": evidence.gain, "error": evidence.error, "blocks": len(evidence.block_gains),
        "block_length": evidence.block_length, "memory": evidence.memory,
        "stay_probability": evidence.stay,
        "p_value": float(evidence.p_value) if known else None,
        "surrogates": len(evidence.surrogate_statistics), "in_words": evidence.in_words(),
    }  # fmt: skip


def stability_summary(stability: Any) -> dict[str, Any]:
    """Return how alike atoms are that were learned again, as numbers."""
    return {
        "cosine_of_halves": stability.halves.tolist(),
        "correlation_of_coefficients": stability.coefficients.tolist(),
        "cosine_of_starts": stability.starts.tolist(),
        "came_out_again": stability.again.tolist(),
    }


def describe_atoms(console: Console, atoms: list[dict[str, Any]]) -> None:
    """Print the summary of the atoms as a table."""
    console.result("atom  mean coefficient  edges  average degree  strongest edges")
    for atom in atoms[:30]:
        edges = ", ".join(f"{edge['source']} - {edge['target']}" for edge in atom["strongest"])
        console.result(
            f"{atom['atom']:4d}  {atom['mean_coefficient']:16.3f}  {atom['edges']:5d}  "
            f"{atom['degree']:14.2f}  {edges}"
        )
    if len(atoms) > 30:
        console.result(f"... and {len(atoms) - 30} more atoms")


def write_results(
    model: Any,
    signals: SignalTable,
    folder: Path,
    *,
    table_format: str,
    file: Path,
    findings: list[str],
    min_confidence: float,
    force: bool,
) -> list[Path]:
    """Write all files of a fit, or none; return their paths."""
    from graphdict.viz.report import write_report

    with results_in(folder, force) as temporary:
        model.save(temporary / "model.graphdict")
        write_coefficients(
            temporary / f"coefficients.{table_format}", model.coefficients_, signals.times,
            signals.time_name, signals.recordings,
        )  # fmt: skip
        if signals.about is not None:
            write_table(temporary / f"recordings.{table_format}", signals.about)
        rows = _atom_rows(model, table_format == "csv", min_confidence)
        write_table(temporary / f"atoms.{table_format}", rows)
        write_report(
            model, temporary / "report.html", times=signals.times, time_unit=signals.time_unit,
            positions=signals.positions, source=file.name, findings=findings,
            remarks=signals.notes, min_confidence=min_confidence,
        )  # fmt: skip
        names = sorted(path.name for path in temporary.iterdir())
    return [folder / name for name in names]


def about_input(file: Path, signals: SignalTable) -> dict[str, Any]:
    """Return a description of the input, for the JSON result."""
    rows, nodes = signals.values.shape
    known = signals.recordings
    several = {} if known is None else {"recordings": dict(zip(known.names, known.lengths))}
    return {
        **several,
        "file": str(file), "samples": rows, "nodes": nodes, "names": signals.names,
        "time": signals.time_name, "time_unit": signals.time_unit, "step_seconds": signals.step,
        "missing": signals.missing, "units": signals.units, "notes": signals.notes,
    }  # fmt: skip
