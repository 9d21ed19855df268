"""Fitted models as files: arrays and one JSON manifest with their digests, never a pickle.

The manifest names the format, its version, the class, its settings and what was fitted, in plain
numbers and names; whatever is an array stands beside it (:mod:`graphdict.engine.storage.archive`):

    settings/<name>.npy   settings that are arrays
    fitted/<name>.npy     fitted arrays; entries of a dictionary as <name>/<key>.npy

Files are written beside their destination and moved into place, so a reader finds the old file or
the new one, never half of either. A file that is damaged, hostile or of another kind is refused by
one :class:`~graphdict.exceptions.ModelFileError` that says why. ``docs/file-format.md`` has it all.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.core.recordings import Recordings
from graphdict.engine.estimator_protocols import Saved
from graphdict.engine.storage.archive import read_archive, write_archive
from graphdict.engine.storage.atomic import atomic_file
from graphdict.engine.storage.fitted import check_fitted_values
from graphdict.exceptions import ModelFileError

FORMAT = "graphdict-model"
VERSION = 2  # 1 had no digests
NAMES = ("feature_names_in_", "recording_names_")  # lists of names, which are in the manifest


def save(model: Saved, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``."""
    from graphdict import __version__

    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "graphdict": __version__,
        "class": type(model).__name__,
        "settings": {},
        "fitted": {},
    }
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in model.get_params(deep=False).items():
        if name in model._objects and value:
            raise ValueError(
                f"{name} holds Python objects, which are not saved: "
                f"set_params({name}=None) before save(), and set them again after loading"
            )
        if name == "random_state" and not isinstance(value, (int, np.integer, type(None))):
            value = None  # a generator has moved on: there is no seed to remember
        if name not in model._not_saved:
            _put(manifest["settings"], arrays, f"settings/{name}", value)
    fitted = dict(vars(model))
    fitted |= _packed(fitted.pop("recordings_", None))
    for name, value in fitted.items():
        if name.endswith("_") and not name.startswith("_"):
            _put(manifest["fitted"], arrays, f"fitted/{name}", value)

    with atomic_file(path) as file:
        write_archive(file, manifest, arrays)


def load(path: str | os.PathLike[str], classes: Mapping[str, type[Saved]]) -> Any:
    """Read a model of one of ``classes`` (by name)."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"cannot load {path}: it is not a file")
    with open(path, "rb") as file:
        try:
            manifest, arrays, vouched = read_archive(file, _check_kind)
            if manifest["version"] > 1 and not vouched:
                raise ValueError("it lacks the digests that show it to be undamaged")
            _check_manifest(manifest, classes)
            return _rebuild(classes[manifest["class"]], manifest, arrays)
        except ModelFileError as error:
            raise ModelFileError(f"cannot load {path}: {error}") from None
        except Exception as error:  # whatever a file may provoke is the file's fault
            raise ModelFileError(
                f"cannot load {path}: it is not a graphdict model, or is damaged: "
                f"{_printable(str(error)) or type(error).__name__}"
            ) from error


def _check_kind(manifest: dict[str, Any]) -> None:
    """Raise unless this is a model, of a version that can be read."""
    if manifest.get("format") != FORMAT:
        raise ModelFileError("it is not a graphdict model")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"it has unknown format version {_short(version)}")
    if version > VERSION:
        raise ModelFileError(
            f"it has format version {_short(version)}, and this graphdict reads up to {VERSION}: "
            "install a newer graphdict"
        )


def _check_manifest(manifest: dict[str, Any], classes: Mapping[str, type[Saved]]) -> None:
    """Raise unless the class is known and all values are numbers or names."""
    if manifest.get("class") not in tuple(classes):
        known = ", ".join(sorted(classes))
        raise ModelFileError(
            f"it holds a {_short(manifest.get('class'))}; known models are {known}"
        )
    for part in ("settings", "fitted"):
        values = manifest.get(part)
        if not isinstance(values, dict):
            raise ValueError(f"its {part} are missing")
        for name, value in values.items():
            plain = isinstance(value, (bool, int, float, str, type(None)))
            if not plain and name not in NAMES:
                raise ValueError(f"{_short(name)} is neither a number nor a name")


def _rebuild(kind: type[Saved], manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the model; raise where settings or fitted values do not fit its class."""
    found: dict[str, dict[str, Any]] = {p: dict(manifest[p]) for p in ("settings", "fitted")}
    found["fitted"].pop("_n_features_out", None)  # version 1 had it
    for name, array in arrays.items():
        part, attribute, *key = name.split("/")
        if part not in found:
            raise ValueError(f"{name}.npy belongs to neither settings nor fitted")
        target = found[part].setdefault(attribute, {}) if key else found[part]
        entry = key[0] if key else attribute
        if not isinstance(target, dict) or entry in target:
            raise ValueError(f"{name} is there twice")
        target[entry] = array
    settings, fitted = found["settings"], found["fitted"]
    kind, settings = kind._of_file(settings)
    model = kind()
    unknown = sorted(set(settings) - set(model.get_params(deep=False)).difference(kind._not_saved))
    if unknown:
        raise ModelFileError(
            f"{kind.__name__} has no setting {_short(unknown[0])}; the file was written by "
            f"graphdict {_short(manifest.get('graphdict'))}"
        )
    model.set_params(**settings)
    model._validate_params()
    check_fitted_values(kind, fitted)
    model._check_fitted(fitted)
    if "feature_names_in_" in fitted:
        names = fitted["feature_names_in_"]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("feature_names_in_ must be names")
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    fitted["recordings_"] = _unpacked(fitted)
    for name, value in fitted.items():
        setattr(model, name, value)
    model._n_features_out = len(fitted["atoms_"])
    return model


def _packed(recordings: Recordings | None) -> dict[str, Any]:
    """Return recordings as attributes to save; none for a single one without name or breaks."""
    if recordings is None or recordings == Recordings.single(recordings.total):
        return {}
    return {
        "recording_names_": recordings.names,
        "recording_lengths_": np.array(recordings.lengths, dtype=np.int64),
        "recording_breaks_": np.array(recordings.breaks, dtype=np.int64),
    }


def _unpacked(fitted: dict[str, Any]) -> Recordings:
    """Remove the recordings from the values of a file and return them; a single one by default."""
    found = [fitted.pop(f"recording_{part}_", None) for part in ("names", "lengths", "breaks")]
    samples = len(fitted["coefficients_"]) if "coefficients_" in fitted else 0
    if all(part is None for part in found):
        return Recordings.single(samples)
    names, lengths, breaks = found
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("recording_names_ must be names")
    for numbers in (lengths, breaks):
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1 or numbers.dtype.kind != "i":
            raise ValueError("recording_lengths_ and recording_breaks_ must be whole numbers")
    recordings = Recordings(tuple(names), tuple(lengths.tolist()), tuple(breaks.tolist()))
    inside = all(0 < place < recordings.total for place in recordings.breaks)
    if min(recordings.lengths) < 1 or recordings.total != samples or not inside:
        raise ValueError("the lengths of recordings do not fit the coefficients")
    return recordings


def _put(numbers: dict[str, Any], arrays: dict[str, NDArray[Any]], name: str, value: Any) -> None:
    """Put a value into the numbers of the manifest, or into the arrays."""
    key = name.split("/", 1)[1]
    if isinstance(value, dict):
        for entry, item in value.items():
            arrays[f"{name}/{entry}"] = np.asarray(item)
    elif key in NAMES:
        numbers[key] = [str(item) for item in value]
    elif isinstance(value, np.generic):
        numbers[key] = value.item()
    elif isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        arrays[name] = np.asarray(value)
    else:
        numbers[key] = value


def _short(value: Any) -> str:
    return repr(value)[:60]


def _printable(text: str) -> str:
    """Return text without control characters."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:500])
