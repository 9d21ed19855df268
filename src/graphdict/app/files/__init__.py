"""Read signals from files of many formats; write tables."""

from graphdict.app.files.errors import InputError
from graphdict.app.files.formats import is_model_file
from graphdict.app.files.reading import read_signals
from graphdict.app.files.table import SignalTable
from graphdict.app.files.writing import write_table
from graphdict.exceptions import MissingExtraError

__all__ = [
    "InputError",
    "MissingExtraError",
    "SignalTable",
    "is_model_file",
    "read_signals",
    "write_table",
]
