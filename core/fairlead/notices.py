"""The notifications of one session, whenever they arrive.

One may arrive together with the answer to a statement. The socket has then nothing more to say:
who waits for it without having looked here waits for what has come already.
"""

from psycopg import Notify

from fairlead.bell import Bell
from fairlead.store import Connection


class Notices:
    """Gathers what a session that listens is told.

    Args:
        connection: the session; it may listen already, or begin to later.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arrived: list[str] = []
        connection.add_notify_handler(self._arrive)

    def pending(self) -> bool:
        """Tell whether something has arrived that nobody has taken yet, without waiting.

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

    def wait(self, bell: Bell, seconds: float) -> list[str]:
        """Return what has arrived; if nothing has, wait for some, for a ring, or so long.

        Raises:
            psycopg.OperationalError: the session is lost.
        """
        arrived = self.take()
        if not arrived:
            bell.wait(seconds, beside=self._connection.fileno())
            arrived = self.take()
        return arrived

    def _gather(self) -> None:
        session = self._connection.pgconn
        session.consume_input()
        while (notice := session.notifies()) is not None:
            self._arrived.append(notice.extra.decode())

    def _arrive(self, notice: Notify) -> None:
        self._arrived.append(notice.payload)
