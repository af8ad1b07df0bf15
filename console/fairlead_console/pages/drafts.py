"""A policy that somebody writes on a page, before it is stored, and where it is wrong."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

POOL: Final = "default"
_POOL_MAX = 63
_SLOTS_MAX = 1_000_000
_REASON_BYTES_MAX = 900
"""With what is said of a rollback it has at most a kibibyte, as the database wants it."""
_NEAR = 3
"""So many lines before and behind one that is wrong are shown with it."""
_WIDTH_MAX = 200


class Senseless(ValueError):
    """What was asked for makes no sense; the message is one sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A document and what its author has seen and said."""

    document: str
    base: int
    """The newest stored version when the page was made; 0: none was stored."""
    back_to: int | None = None
    """The version whose document it began with, to go back to it."""
    pool: str = POOL
    """Whose workers and queues a simulation is of."""
    slots: int | None = None
    """How many jobs run at once in a simulation; None: as live workers have it."""
    reason: str = ""

    @property
    def seen(self) -> tuple[str, ...]:
        """What is true of this text over this version alone: whoever applies it has seen it."""
        digest = hashlib.sha256(self.document.encode()).hexdigest()
        return ("policy", str(self.base), digest)


def asked(form: Mapping[str, str]) -> Draft:
    """Return what a form has.

    Raises:
        Senseless: no page makes such a form.
    """
    slots = form.get("slots", "").strip()
    if slots and not (_is_number(slots) and 1 <= int(slots) <= _SLOTS_MAX):
        raise Senseless(f"Slots are a number from 1 to {_SLOTS_MAX:,}")
    numbers = {name: form.get(name, "") for name in ("base", "back_to")}
    if not all(_is_number(each) for each in (numbers["base"], numbers["back_to"] or "0")):
        raise Senseless("That is no form of this page")
    return Draft(
        # A browser sends the ends of lines as HTTP has them.
        document=form.get("document", "").replace("\r\n", "\n").replace("\r", "\n"),
        base=int(numbers["base"]),
        back_to=int(numbers["back_to"]) if numbers["back_to"] else None,
        pool=form.get("pool", "").strip()[:_POOL_MAX] or POOL,
        slots=int(slots) if slots else None,
        reason=_cut(" ".join(form.get("reason", "").split()), _REASON_BYTES_MAX),
    )


def version(query: Mapping[str, str]) -> int | None:
    """Return the version that an address names."""
    said = query.get("version", "")
    return int(said) if _is_number(said) else None


def _cut(text: str, most: int) -> str:
    """Return as many characters of a text as so many bytes have."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def _is_number(said: str) -> bool:
    return said.isascii() and said.isdigit() and len(said) < 19


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line of a document, by its number from 1."""

    number: int
    text: str
    is_wrong: bool


def around(document: str, line: int | None) -> tuple[Numbered, ...]:
    """Return a line that is wrong with those near it; None: it is not known which."""
    if line is None:
        return ()
    lines = document.split("\n")
    first = max(line - _NEAR, 1)
    return tuple(
        Numbered(number, text[:_WIDTH_MAX], number == line)
        for number, text in enumerate(lines[first - 1 : line + _NEAR], first)
    )
