"""What handlers say of the jobs of their kinds, for `enqueue` in the same process.

Each `Tasks` has one object here. It is forgotten with them, so that the applications of other
tests say nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from weakref import WeakSet

from fairlead.jsontext import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What jobs of one kind have unless their row says otherwise; None is nothing said."""

    queue: str | None = None
    priority: int | None = None
    max_attempts: int | None = None
    timeout_seconds: float | None = None
    check: Callable[[object], Json] | None = None
    """Returns a payload as JSON, or raises a ValueError that says why it does not fit."""


NOTHING = Defaults()


class KindDefaults:
    """The defaults of one application's kinds."""

    def __init__(self) -> None:
        self._by_kind: dict[str, tuple[int, Defaults]] = {}
        _applications.add(self)

    def add(self, kind: str, defaults: Defaults) -> None:
        """Note what one handler says."""
        self._by_kind[kind] = next(_numbers), defaults

    def get(self, kind: str) -> tuple[int, Defaults] | None:
        """Return what the handler of this kind says, and its number in the order they came."""
        return self._by_kind.get(kind)


_applications: WeakSet[KindDefaults] = WeakSet()
_numbers = count()


def of(kind: str) -> Defaults:
    """Return what this process's handler of a kind says: of several, the one that came last."""
    said = [found for each in tuple(_applications) if (found := each.get(kind)) is not None]
    return max(said, key=itemgetter(0))[1] if said else NOTHING
