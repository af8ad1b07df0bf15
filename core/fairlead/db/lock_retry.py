"""Give up a lock soon and try again, so that nobody waits behind a change of the schema.

A statement that waits for an exclusive lock on a table has every later statement on that table
wait behind it: one open transaction would stop INSERTs, claims and renewals for as long as the
change waits. So a change waits for `LOCK_TIMEOUT`, rolls back, lets the others go first, and
tries again.
"""

import random
from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from psycopg import errors

from fairlead.db import statements
from fairlead.db.connect import Connection

T = TypeVar("T")

LOCK_TIMEOUT = "set local lock_timeout = '200ms'"
"""Below PostgreSQL's deadlock_timeout: of two that wait for each other, the change gives up."""
LIMIT_SECONDS = 60.0
"""How long one change is tried."""
_REST_SECONDS = 0.4
_REST_SECONDS_MAX = 2.0


class TablesLocked(Exception):
    """Others held what a change has to lock, each time; the message is one sentence."""


class LockRetry:
    """Tries changes until each has its locks.

    Args:
        connection: The session of the changes, outside of a transaction between two tries.
        limit_seconds: How long each change is tried.
        waiting: Called with one sentence after each try but the last.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        limit_seconds: float,
        waiting: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._limit_seconds = limit_seconds
        self._waiting = waiting

    def run(self, name: str, change: Callable[[], T]) -> T:
        """Make one change, which must roll back what it did when it fails; return its result.

        Args:
            name: What the change is called in the sentence.
            change: Makes it, in a transaction that begins with `LOCK_TIMEOUT`.

        Raises:
            TablesLocked: it got its locks in none of the tries.
        """
        until, longest_seconds = monotonic() + self._limit_seconds, _REST_SECONDS
        while True:
            began = monotonic()
            try:
                return change()
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                late = monotonic() >= until
            holders = self._holders(seconds=monotonic() - began)
            if late:
                raise TablesLocked(
                    f"{name}: no locks within {self._limit_seconds:g} s, and nothing of it was "
                    f"changed; in its way is {holders}: end that, or run `fairlead migrate` "
                    "again later"
                )
            self._waiting(f"{name} waits for {holders}")
            sleep(random.uniform(longest_seconds / 2, longest_seconds))
            longest_seconds = min(longest_seconds * 2, _REST_SECONDS_MAX)

    def _holders(self, *, seconds: float) -> str:
        """Return whose transactions have held locks on Fairlead's tables for longer than that.

        Later ones have waited behind the change themselves.
        """
        rows = self._connection.execute(
            statements.load("fairlead", "lock_holders"), {"seconds": seconds}
        ).fetchall()
        named = ", ".join(f"{pid} ({program})" for pid, program in rows)
        return f"the transaction of {named}" if named else "a transaction that has ended since"
