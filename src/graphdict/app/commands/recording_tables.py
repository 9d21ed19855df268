"""Tables of coefficients by recording, and of what recordings are: groups, subjects, covariates."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.app.files import InputError, is_model_file
from graphdict.core.annotations import Floats, Integers
from graphdict.exceptions import import_extra
from graphdict.studies.given import named

ENDING = "-coefficients"


@dataclass
class Activations:
    """Coefficients by recording, and samples per second where they are known."""

    coefficients: dict[str, Floats]
    rate: float | None
    together: bool = False  # whether atoms may be active at once

    def activity(self, threshold: float | None) -> Any:
        """Return which atoms count as active: from a threshold on, or the largest."""
        if threshold is not None:
            return threshold
        return 0.5 if self.together else None


def read_activations(sources: tuple[Path, ...]) -> Activations:
    """Return the coefficients of a fit's folder, of a table of recordings, or of several tables."""
    first = sources[0]
    if len(sources) == 1 and (first.is_dir() or (first.is_file() and is_model_file(first))):
        return _of_fit(first)
    found: dict[str, Floats] = {}
    rates = []
    for path in sources:
        frame = _read_frame(path)
        atoms = [name for name in frame.columns if str(name).startswith("atom_")]
        if not atoms:
            raise InputError(
                f"{path} has no columns atom_1, atom_2, ...: give a table of coefficients, as fit "
                "and transform write it"
            )
        if "recording" in frame.columns:
            parts = {str(name): part for name, part in frame.groupby("recording", sort=False)}
        else:
            parts = {_stem(path): frame}
        for name, part in parts.items():
            if name in found:
                raise InputError(f"recording {name} occurs twice, the second time in {path}")
            found[name] = part[atoms].to_numpy(dtype=np.float64)
            rates.append(_rate(part, atoms))
    widths = {name: values.shape[1] for name, values in found.items()}
    if len(set(widths.values())) > 1:
        raise InputError(f"recordings have different numbers of atoms: {widths}")
    known = [rate for rate in rates if rate is not None]
    same = len(known) == len(rates) and max(known) < 1.01 * min(known)
    return Activations(found, float(f"{np.median(known):.6g}") if same else None)


def _of_fit(path: Path) -> Activations:
    """Return the coefficients of the training signals of a fit to several recordings."""
    from graphdict.app.commands.preprocessing import read_metadata
    from graphdict.app.commands.transform import open_model

    model = open_model(path)
    layout = getattr(model, "recordings_", None)
    if layout is None or len(layout.names) < 2:
        written = path / "coefficients.csv" if path.is_dir() else path
        if path.is_dir() and written.exists() and "recording" in _read_frame(written).columns:
            return read_activations((written,))
        raise InputError(
            f"{path} is the fit of one recording: fit several files together, or give a table of "
            "coefficients for each recording"
        )
    step = read_metadata(model).about.get("step")
    pieces = layout.split(np.asarray(model.coefficients_))
    patterns = getattr(model, "patterns_", None)
    together = patterns is not None and (np.asarray(patterns) > 0).sum(axis=1).max() > 1
    names = map(str, layout.names)
    return Activations(dict(zip(names, pieces)), 1 / step if step else None, bool(together))


def written_table(sources: tuple[Path, ...]) -> Path | None:
    """Return the table of recordings that a fit has written into its folder, where it has."""
    folder = sources[0] if sources[0].is_dir() else sources[0].parent
    candidates = [folder / f"recordings{ending}" for ending in (".csv", ".parquet")]
    return next((path for path in candidates if len(sources) == 1 and path.is_file()), None)


def _stem(path: Path) -> str:
    name = path.name.split(".")[0]
    return name.removesuffix(ENDING) or name


def _read_frame(path: Path) -> Any:
    """Return a table as a DataFrame; errors name the file."""
    pandas = import_extra("pandas", "a table of recordings", "tables")
    try:
        if path.suffix == ".parquet":
            return pandas.read_parquet(path)
        if path.suffix in (".xlsx", ".xls"):
            return pandas.read_excel(path)
        return pandas.read_csv(path, sep=None, engine="python", encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} cannot be read as a table: {first}") from None


def _rate(frame: Any, atoms: list[Any]) -> float | None:
    """Return samples per second by a column of times, None where there is none."""
    pandas = import_extra("pandas", "a table of recordings", "tables")
    for name in frame.columns:
        if name in atoms or name in ("recording", "sample"):
            continue
        column = frame[name]
        if column.dtype == object or str(column.dtype).startswith("str"):
            column = pandas.to_datetime(column, errors="coerce")
        values = column.to_numpy()
        if values.dtype.kind == "M":
            values = values.astype("datetime64[ns]").astype(np.int64) / 1e9
        if values.dtype.kind not in "fiu" or len(values) < 2:
            continue
        step = float(np.median(np.diff(values)))
        if step > 0:
            return 1 / step
    return None


@dataclass
class RecordingTable:
    """A table with a row for each recording, in their order."""

    path: Path
    recordings: list[str]
    frame: Any
    notes: list[str] = field(default_factory=list)

    def values(self, column: str) -> NDArray[Any]:
        """Return a column (R,); an error names those that there are."""
        if column not in self.frame.columns:
            known = ", ".join(map(str, self.frame.columns))
            raise InputError(f"{self.path} has no column {column!r}; it has {known}")
        found: NDArray[Any] = self.frame[column].to_numpy()
        return found

    def numbers(self, column: str) -> Floats:
        """Return a column (R,) of numbers; an error names an entry that is not one."""
        pandas = import_extra("pandas", "a table of recordings", "tables")
        given = pandas.Series(self.values(column))
        numbers: Floats = pandas.to_numeric(given, errors="coerce").to_numpy(float)
        wrong = np.isnan(numbers) & pandas.notna(given).to_numpy()
        if wrong.any():
            value = given.to_numpy()[wrong][0]
            raise InputError(
                f"column {column!r} of {self.path} must be numbers for --covariate, got {value!r}"
            )
        return numbers

    def complete(self, columns: list[str]) -> tuple[Integers, list[str]]:
        """Return which recordings have values in all columns, and the names of the others."""
        pandas = import_extra("pandas", "a table of recordings", "tables")
        there = np.ones(len(self.recordings), dtype=bool)
        for column in columns:
            there &= pandas.notna(self.values(column))
        if not there.any():
            raise InputError(f"no recording has values in {' and '.join(columns)} of {self.path}")
        left_out = [name for name, kept in zip(self.recordings, there) if not kept]
        return np.flatnonzero(there), left_out

    def frame_of(self, values: Floats, columns: list[tuple[str, str]], rows: Integers) -> Any:
        """Return values of some recordings as a DataFrame whose index names them."""
        pandas = import_extra("pandas", "a table of recordings", "tables")
        index = [self.recordings[row] for row in rows]
        return pandas.DataFrame(values[rows], index=index, columns=[" ".join(c) for c in columns])


def read_recording_table(path: Path, recordings: list[str]) -> RecordingTable:
    """Return the table of a file, with a row for each of the recordings.

    Recordings are named in the column "recording", or the first one, with or without the ending of
    a file name. Rows of others are left out, and told.
    """
    frame = _read_frame(path)
    if not len(frame.columns):
        raise InputError(f"{path} has no columns")
    column = "recording" if "recording" in frame.columns else frame.columns[0]
    names = [str(name) for name in frame[column]]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"column {column!r} of {path} names {named(repeated)} more than once")
    rows: dict[str, int] = {}
    for number, name in enumerate(names):
        for known in (name, Path(name).name, Path(name).stem):
            rows.setdefault(known, number)
    row_numbers = [rows.get(name, rows.get(Path(name).stem)) for name in recordings]
    missing = [name for name, row in zip(recordings, row_numbers) if row is None]
    if missing:
        raise InputError(
            f"column {column!r} of {path} lacks {len(missing)} of {len(recordings)} recordings: "
            f"{named(missing)}; it has {named(names)}"
        )
    notes = []
    extra = [name for number, name in enumerate(names) if number not in set(row_numbers)]
    if extra:
        notes.append(
            f"left out {len(extra)} row(s) of {path} that are no recording: {named(extra)}"
        )
    return RecordingTable(path, recordings, frame.iloc[row_numbers].reset_index(drop=True), notes)
