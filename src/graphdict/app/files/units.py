"""Units in the names of columns, and units of time."""

from __future__ import annotations

import re

SECONDS: dict[str, float] = {
    "ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3, "msec": 1e-3,
    "millis": 1e-3, "milliseconds": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "min": 60, "mins": 60, "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hour": 3600,
    "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
}  # fmt: skip
BRACKETED = re.compile(r".*?[\[]([^\[\]]{1,15})[\]]\s*|.*?[(]([^()]{1,15})[)]\s*")
KNOWN = re.compile(
    r"[numkMGTcdh\u00b5\u03bc]?(?:V|A|W|Hz|m|g|s|Pa|bar|J|Wh|N|l|L|eV|B|b|bps|Ohm|\u03a9)|[mun]?T|%|ppm|ppb|"
    r"\u00b0[CFK]?|deg(?:C|F)?|[CFK]|rpm|mph|kts?|knots|km/h|m/s\S*|g/\S+|[num\u00b5\u03bc]g/\S+|mmHg|hPa|mbar|"
    r"inHg|psi|atm|mm/h|W/m\S*|V/m|USD|EUR|GBP|\$|\u20ac|\u00a3|lux|lx|dB[A-Za-z]*|pH|bpm|count\w*|vehicles\S*|in|"
    r"ft|mi|lb|kWh|MWh|GWh|kVA|kVAr|VAR|ns|us|ms|min|h|d|veh/h|a\.u\.|au|"
    r"[A-Z]{2}\$|R\$|\u00a5|\u20b9|\u20bd|\u20a9|\u20ba|\u20bf|JPY|CHF|CNY|INR"
)


def is_unit(text: str) -> bool:
    """Return whether a text is a usual unit of measurement or a currency."""
    return KNOWN.fullmatch(text) is not None


def unit_of(name: str) -> str | None:
    """Return the unit at the end of a name, as in ``temperature [K]`` or ``flow (l/min)``, or None.

    Anything in square brackets is a unit; in round ones it must look like one.
    """
    found = BRACKETED.fullmatch(name)
    if found is None:
        return None
    square, rounded = found[1], found[2]
    if square is not None:
        return square.strip() or None
    return rounded.strip() if is_unit(rounded.strip()) else None


def time_unit_of(name: str) -> str | None:
    """Return the unit of time in a name such as ``time (ms)``, ``t_us`` or ``seconds``, or None."""
    bracketed = BRACKETED.fullmatch(name)
    if bracketed is not None:
        inside = (bracketed[1] or bracketed[2]).strip().lower()
        if inside in SECONDS:
            return inside
    last = re.split(r"[\s_./-]+", re.sub(r"[\[(].*", "", name).strip().lower())[-1]
    if last in ("year", "years", "month", "months", "week", "weeks"):
        return last
    return last if last in SECONDS else None
