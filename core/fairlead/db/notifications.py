"""The notifications of one session.

A notification may arrive together with the result of a statement. The socket is then not
readable any more: a thread that waits for it must look here first.

Any login of the database may send notifications, as many and whatever it likes. So they end
only so many waits a second, their text is kept up to a size, and a text that makes no sense is
the caller's to ignore. Whoever misses one finds its cause at the next poll.
"""

from time import monotonic

from psycopg.pq.misc import PGnotify

from fairlead.db.connect import Connection
from fairlead.runtime.wakeup import Wakeup

PER_SECOND = 50.0
"""More than a service needs: beyond 40 INSERTs a second a leader does not rest anyway."""
_BURST = 5.0
_BYTES_MAX = 1 << 20


class Notifications:
    """Collects the notifications of a session that listens.

    Args:
        connection: the session; it may listen already, or begin to later.
        per_second: how many waits they may end in each second, after a burst of as many.
    """

    def __init__(self, connection: Connection, *, per_second: float = PER_SECOND) -> None:
        self._connection = connection
        self._arrived: dict[str, None] = {}
        self._bytes = 0
        self._per_second = per_second
        self._spare = self._burst = max(_BURST, per_second)
        self._refilled_at = monotonic()
        connection.pgconn.notify_handler = self._arrive

    def pending(self) -> bool:
        """Return whether there are notifications that would end a wait, without waiting.

        Raises:
            psycopg.OperationalError: the session is lost.
        """
        self._gather()
        return bool(self._arrived) and self._pause_seconds() == 0.0

    def take(self) -> list[str]:
        """Return the payloads that have arrived since the last call, without waiting.

        Each different one once.

        Raises:
            psycopg.OperationalError: the session is lost.
        """
        self._gather()
        taken, self._arrived, self._bytes = list(self._arrived), {}, 0
        return taken

    def wait(self, wakeup: Wakeup, seconds: float) -> list[str]:
        """Return what has arrived; if nothing has, wait for some, for a wake-up, or so long.

        While they are too many it waits for the wake-up alone, until they may end a wait again.

        Raises:
            psycopg.OperationalError: the session is lost.
        """
        pause = min(self._pause_seconds(), seconds)
        if pause > 0.0 and wakeup.wait(pause):
            return self.take()
        arrived = self.take()
        if not arrived:
            wakeup.wait(seconds - pause, beside=self._connection.fileno())
            arrived = self.take()
        if arrived:
            self._spare -= 1.0
        return arrived

    def _pause_seconds(self) -> float:
        """Return how long from now notifications may end no wait."""
        now = monotonic()
        added = (now - self._refilled_at) * self._per_second
        self._spare, self._refilled_at = min(self._burst, self._spare + added), now
        return max(0.0, (1.0 - self._spare) / self._per_second)

    def _gather(self) -> None:
        session = self._connection.pgconn
        session.consume_input()
        while (notice := session.notifies()) is not None:
            self._arrive(notice)

    def _arrive(self, notice: PGnotify) -> None:
        if self._bytes < _BYTES_MAX:
            self._bytes += len(notice.extra)
            self._arrived[notice.extra.decode(errors="replace")] = None
