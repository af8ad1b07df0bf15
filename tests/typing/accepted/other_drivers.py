"""Cursors of other drivers."""

from collections.abc import Sequence
from typing import Any, Protocol

import fairlead


class Untyped(Protocol):
    """As SQLAlchemy describes it."""

    def execute(self, operation: Any, parameters: Sequence[Any] | None = None) -> Any:
        """Run a statement."""

    def fetchall(self) -> Sequence[Any]:
        """Return the rows."""
        ...


class Cursor:
    """As DB-API describes it."""

    def execute(self, operation: str, parameters: Sequence[object] = ()) -> object:
        """Run a statement."""
        return (operation, parameters)

    def fetchall(self) -> list[tuple[object, ...]]:
        """Return the rows."""
        return []


def order(cursor: Cursor, job: fairlead.Job) -> int | None:
    """Enqueue, and complete, over it."""
    job.complete(cursor, {"done": True})
    return fairlead.enqueue(cursor, "a", {"b": 1})


def order_untyped(cursor: Untyped, job: fairlead.Job) -> int | None:
    """Do the same over another one."""
    job.complete(cursor, {"done": True})
    return fairlead.enqueue(cursor, "a", {"b": 1})
