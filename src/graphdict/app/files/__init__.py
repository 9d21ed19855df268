"""Tables of signals as files: read in any shape they come in, with notes on what was found."""

from graphdict.app.files.errors import InputError, MissingExtraError
from graphdict.app.files.reading import is_model_file, read_signals
from graphdict.app.files.table import SignalTable
from graphdict.app.files.writing import write_table

__all__ = [
    "InputError",
    "MissingExtraError",
    "SignalTable",
    "is_model_file",
    "read_signals",
    "write_table",
]
