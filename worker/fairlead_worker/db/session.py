"""One connection whose every call ends: answered, failed, or cut off from another thread.

The server's own timeout ends a statement that is slow. It cannot end one that a frozen server
never answers, and no keepalive can, since the machine's kernel still acknowledges. So the
thread that watches this session shuts its socket, and the call fails as if the server had gone.
"""

from collections.abc import Mapping
from time import monotonic

from fairlead.db.connect import Connection, abort_connection
from fairlead.db.notifications import Notifications
from fairlead.runtime.wakeup import Wakeup

Row = tuple[object, ...]
_NOTICES_PER_SECOND = 5.0
"""Each may bring a renewal forward, which is a write."""


class Session:
    """A connection, used by one thread and watched by another.

    Args:
        connection: autocommitting; closed by `close`.
        call_seconds: how long a call may take.
    """

    def __init__(self, connection: Connection, *, call_seconds: float) -> None:
        self._connection = connection
        self._notices = Notifications(connection, per_second=_NOTICES_PER_SECOND)
        self._call_seconds = call_seconds
        self._due: float | None = None

    def rows(self, statement: bytes, values: Mapping[str, object]) -> list[Row]:
        """Run one statement in a transaction of its own and return all its rows.

        Raises:
            psycopg.Error: it failed; `broken` says whether the connection did.
        """
        self._due = monotonic() + self._call_seconds
        try:
            return self._connection.execute(statement, values).fetchall()
        finally:
            self._due = None

    def run(self, command: bytes) -> None:
        """Run one session command, such as LISTEN or SET.

        Raises:
            psycopg.Error: it failed.
        """
        self._due = monotonic() + self._call_seconds
        try:
            self._connection.execute(command)
        finally:
            self._due = None

    def wait(self, wakeup: Wakeup, seconds: float) -> list[str]:
        """Wait for notifications, the wakeup, or so long; return the payloads that arrived.

        Raises:
            psycopg.Error: the connection has gone.
        """
        return self._notices.wait(wakeup, seconds)

    @property
    def broken(self) -> bool:
        """Whether the connection is lost."""
        return self._connection.closed

    def abort_if_stuck(self, now: float) -> bool:
        """Cut off a call that is overdue, from another thread; return whether there was one."""
        due = self._due
        if due is None or now < due:
            return False
        abort_connection(self._connection)
        return True

    def close(self) -> None:
        """Close the connection. A repeat does nothing."""
        self._connection.close()
