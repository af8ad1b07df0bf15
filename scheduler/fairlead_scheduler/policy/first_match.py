"""Find the value of the first entry that matches a name, without trying most entries."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from fairlead.policy import Glob

T = TypeVar("T")


class FirstMatch(Generic[T]):
    """A table whose entries are sets of names, or patterns; the first that matches counts."""

    __slots__ = ("_heads", "_named", "_patterns")

    def __init__(self, entries: Iterable[tuple[frozenset[str] | Glob, T]] = ()) -> None:
        self._named: dict[str, tuple[int, T]] = {}
        self._patterns: list[tuple[int, Glob, T]] = []
        for place, (names, value) in enumerate(entries):
            if isinstance(names, Glob) and names.head != names.pattern:
                self._patterns.append((place, names, value))
                continue
            for name in (names.pattern,) if isinstance(names, Glob) else names:
                self._named.setdefault(name, (place, value))
        self._heads = tuple({pattern.head for _, pattern, _ in self._patterns})
        """The fixed beginnings of the patterns: most names match none of them."""

    def find(self, name: str) -> T | None:
        """Return the value of the first entry that matches; None if none does."""
        named = self._named.get(name)
        if not name.startswith(self._heads):
            return None if named is None else named[1]
        for place, pattern, value in self._patterns:
            if named is not None and named[0] < place:
                break
            if pattern.matches(name):
                return value
        return None if named is None else named[1]
