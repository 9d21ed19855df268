"""Signals read from files, tables written to them."""

from graphdict.app.files import *  # noqa: F403
from graphdict.app.files import __all__ as __all__
