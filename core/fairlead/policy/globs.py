"""Patterns of queue and tenant names: `*` is any text, also none, `?` is one character.

Everything else stands for itself, brackets too, and case counts.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern that is ready to be asked; whole names match, never parts of them."""

    pattern: str
    _compiled: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        wild = self.head != self.pattern
        compiled = re.compile(_regex(self.pattern), re.DOTALL) if wild else None
        object.__setattr__(self, "_compiled", compiled)

    def matches(self, name: str) -> bool:
        """Tell whether the pattern matches this name."""
        if self._compiled is None:
            return name == self.pattern
        return self._compiled.fullmatch(name) is not None

    @property
    def head(self) -> str:
        """What every name that matches begins with."""
        return re.split(r"[*?]", self.pattern, maxsplit=1)[0]


@lru_cache(maxsize=8192)
def glob(pattern: str) -> Glob:
    """Return a pattern, which is made ready once."""
    return Glob(pattern)


def _regex(pattern: str) -> str:
    """Return the regular expression, whose time is bounded by pattern times name.

    Each part between two stars is taken where it first fits, which is never worse than later,
    and atomic groups keep the engine from trying the other places.
    """
    parts = [_fixed(part) for part in re.split(r"\*+", pattern)]
    if len(parts) == 1:
        return parts[0]
    first, *middle, last = parts
    return first + "".join(f"(?>.*?{part})" for part in middle) + f".*{last}"


def _fixed(part: str) -> str:
    """Return the regular expression of a part without a star."""
    return "".join("." if sign == "?" else re.escape(sign) for sign in part)
