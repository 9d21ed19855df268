"""Fitted models as files: a zip archive of NPY arrays and one JSON manifest, never a pickle.

    manifest.json         format, version, class, settings, numbers and names
    settings/<name>.npy   settings that are arrays
    fitted/<name>.npy     fitted arrays; entries of a dictionary as <name>/<key>.npy

Files are written beside their destination and moved into place, so a reader finds the old file or
the new one, never half of either.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphdict.atomic import atomic_file

__all__ = ["load", "save"]

FORMAT = "graphdict-model"
VERSION = 1
NOT_SAVED = ("callback",)


def save(model: Any, path: str | os.PathLike) -> None:
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
    arrays: dict[str, NDArray] = {}
    for name, value in model.get_params(deep=False).items():
        if name in ("atom_priors", "coefficient_priors") and value:
            raise ValueError(
                f"{name} holds Python objects, which are not saved: "
                f"set_params({name}=None) before save(), and set them again after loading"
            )
        if name == "random_state" and not isinstance(value, (int, np.integer, type(None))):
            value = None  # a generator has moved on: there is no seed to remember
        if name not in NOT_SAVED:
            _put(manifest["settings"], arrays, f"settings/{name}", value)
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_"):
            _put(manifest["fitted"], arrays, f"fitted/{name}", value)
    manifest["fitted"]["_n_features_out"] = model._n_features_out

    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest, indent=1))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())


def load(path: str | os.PathLike, classes: Mapping[str, type]) -> Any:
    """Read a model of one of ``classes`` (by name)."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if manifest.get("format") != FORMAT:
                raise ValueError(f"{path} is not a graphdict model")
            if manifest["version"] > VERSION:
                raise ValueError(
                    f"{path} has format version {manifest['version']}; this graphdict reads up to "
                    f"{VERSION}. Install a newer graphdict."
                )
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a graphdict model, or is damaged: {error}") from error
    if manifest["class"] not in classes:
        known = ", ".join(sorted(classes))
        raise ValueError(f"{path} holds a {manifest['class']}; known models are {known}")

    settings = dict(manifest["settings"])
    fitted = dict(manifest["fitted"])
    for name, array in arrays.items():
        part, attribute, *key = name.split("/")
        target = settings if part == "settings" else fitted
        if key:
            target.setdefault(attribute, {})[key[0]] = array
        else:
            target[attribute] = array
    model = classes[manifest["class"]](**settings)
    if "feature_names_in_" in fitted:
        fitted["feature_names_in_"] = np.array(fitted["feature_names_in_"], dtype=object)
    for name, value in fitted.items():
        setattr(model, name, value)
    return model


def _put(numbers: dict[str, Any], arrays: dict[str, NDArray], name: str, value: Any) -> None:
    """Sort one value into the manifest or the arrays."""
    key = name.split("/", 1)[1]
    if isinstance(value, dict):
        for entry, item in value.items():
            arrays[f"{name}/{entry}"] = np.asarray(item)
    elif key == "feature_names_in_":
        numbers[key] = [str(item) for item in value]
    elif isinstance(value, np.generic):
        numbers[key] = value.item()
    elif isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        arrays[name] = np.asarray(value)
    else:
        numbers[key] = value
