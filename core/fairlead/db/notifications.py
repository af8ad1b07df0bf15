"""The notifications of one session.

A notification may arrive together with the result of a statement. The socket is then not
readable any more: a thread that waits for it must look here first.
"""

from psycopg import Notify

from fairlead.db.connect import Connection
from fairlead.runtime.wakeup import Wakeup


class Notifications:
    """Collects the notifications of a session that listens.

    Args:
        connection: the session; it may listen already, or begin to later.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arrived: list[str] = []
        connection.add_notify_handler(self._arrive)

    def pending(self) -> bool:
        """Return whether there are notifications that were not taken yet, without waiting.

        Raises:
            psycopg.OperationalError: the session is lost.
        """
        self._gather()
        return bool(self._arrived)

    def take(self) -> list[str]:
        """Return the payloads that have arrived since the last call, without waiting.

        Raises:
            psycopg.OperationalError: the session is lost.
        """
        self._gather()
        taken, self._arrived = self._arrived, []
        return taken

    def wait(self, wakeup: Wakeup, seconds: float) -> list[str]:
        """Return what has arrived; if nothing has, wait for some, for a wake-up, or so long.

        Raises:
            psycopg.OperationalError: the session is lost.
        """
        arrived = self.take()
        if not arrived:
            wakeup.wait(seconds, beside=self._connection.fileno())
            arrived = self.take()
        return arrived

    def _gather(self) -> None:
        session = self._connection.pgconn
        session.consume_input()
        while (notice := session.notifies()) is not None:
            self._arrived.append(notice.extra.decode())

    def _arrive(self, notice: Notify) -> None:
        self._arrived.append(notice.payload)
