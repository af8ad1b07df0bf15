"""Patterns of queue and tenant names: `*` is any text, even none, `?` is one character.

Every other character stands for itself, brackets included, and case matters.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled pattern; it matches whole names."""

    pattern: str
    _compiled: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        wild = self.head != self.pattern
        compiled = re.compile(_regex(self.pattern), re.DOTALL) if wild else None
        object.__setattr__(self, "_compiled", compiled)

    def matches(self, name: str) -> bool:
        """Return whether the pattern matches this name."""
        if self._compiled is None:
            return name == self.pattern
        return self._compiled.fullmatch(name) is not None

    @property
    def head(self) -> str:
        """The text with which every matching name begins."""
        return re.split(r"[*?]", self.pattern, maxsplit=1)[0]


@lru_cache(maxsize=8192)
def glob(pattern: str) -> Glob:
    """Return a pattern, which is compiled once."""
    return Glob(pattern)


class Covered(NamedTuple):
    """A pattern that can never be the first match, and the earlier one that covers it."""

    pattern: str
    place: int
    first: int


def covered(patterns: Iterable[str | None]) -> Covered | None:
    """Return the first pattern that an earlier one certainly covers; None entries are skipped.

    A pattern is covered by an equal one, and by a prefix of it whose only wildcard is a star at
    the end.
    """
    places: dict[str, int] = {}
    beginnings: dict[str, int] = {}
    for place, pattern in enumerate(patterns):
        if pattern is None:
            continue
        head = glob(pattern).head
        earlier = [beginnings.get(head[:end]) for end in range(len(head) + 1)]
        first = min(
            (each for each in (places.get(pattern), *earlier) if each is not None), default=None
        )
        if first is not None:
            return Covered(pattern, place, first)
        places[pattern] = place
        if pattern == f"{head}*":
            beginnings[head] = place
    return None


def _regex(pattern: str) -> str:
    """Return the regular expression; matching takes time proportional to pattern times name.

    Each part between two stars matches at its first place, which is never worse than a later
    one, and atomic groups keep the engine from trying the other places.
    """
    parts = [_fixed(part) for part in re.split(r"\*+", pattern)]
    if len(parts) == 1:
        return parts[0]
    first, *middle, last = parts
    return first + "".join(f"(?>.*?{part})" for part in middle) + f".*{last}"


def _fixed(part: str) -> str:
    """Return the regular expression for a part without a star."""
    return "".join("." if sign == "?" else re.escape(sign) for sign in part)
