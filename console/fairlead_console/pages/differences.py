"""What differs between two texts, line by line."""

import difflib
from dataclasses import dataclass

_LINES_MAX = 4000
"""Of either text: comparing takes the square of it, at worst."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was added, removed, or stands beside such a one."""

    tone: str
    sign: str
    text: str


_TONES = {"+": "added", "-": "removed", " ": "kept", "@": "place"}


def between(old: str, new: str) -> tuple[Line, ...]:
    """Return the lines that differ, with three around them."""
    before, after = (text.splitlines()[:_LINES_MAX] for text in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return tuple(
        Line(_TONES[line[0]], " " if line[0] == "@" else line[0], line.removeprefix(line[0]))
        if line[0] != "@"
        else Line("place", " ", line)
        for line in lines
    )
