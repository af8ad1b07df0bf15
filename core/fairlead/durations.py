"""Durations as text: a number and a unit, such as 500ms, 5s, 2m or 1h."""

import re
from datetime import timedelta
from decimal import Decimal

UNITS_US = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
PATTERN = r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)"
MICROSECOND = timedelta(microseconds=1)
_DURATION = re.compile(PATTERN, re.ASCII)


def read(text: str) -> timedelta | None:
    """Parse a duration, to the microsecond; None: the text is not a duration."""
    match = _DURATION.fullmatch(text)
    return None if match is None else int(Decimal(match[1]) * UNITS_US[match[2]]) * MICROSECOND
