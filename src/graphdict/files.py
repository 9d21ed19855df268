"""Signals read from files, tables written to them."""

from graphdict.app.files import (
    InputError,
    MissingExtraError,
    SignalTable,
    is_model_file,
    read_signals,
    write_table,
)

__all__ = [
    "InputError",
    "MissingExtraError",
    "SignalTable",
    "is_model_file",
    "read_signals",
    "write_table",
]


def __dir__() -> list[str]:
    return sorted(__all__)
