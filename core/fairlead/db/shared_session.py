"""A connection through a pooler, whose session is another client's a moment later.

Nothing of the session is relied on, and nothing is left in it: every statement runs in a
transaction that says its own level and sets what it depends on until it ends. That is three
round trips in addition, and right over a session of one's own too. So the command line, which
is not told whether there is a pooler, works this way always.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg import IsolationLevel, Pipeline, Transaction
from psycopg.pq import TransactionStatus
from psycopg.rows import Row

from fairlead.db import session_settings
from fairlead.db.session_settings import Settings


def is_standby(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the server is a standby; a pooler may not pass on that it says so.

    Raises:
        psycopg.Error: the server could not be asked.
    """
    said = connection.info.parameter_status("in_hot_standby")
    if said is not None:
        return said == "on"
    return connection.execute(b"show in_hot_standby").fetchone() == ("on",)


class SharedCursor(psycopg.Cursor[Row]):
    """A cursor whose every statement runs in a transaction."""

    def execute(self, *args: Any, **kwargs: Any) -> Self:  # noqa: ANN401 - psycopg's overloads
        """Execute a statement, in a transaction of its own if there is none."""
        if self.connection.info.transaction_status is not TransactionStatus.IDLE:
            return super().execute(*args, **kwargs)
        with self.connection.transaction():
            return super().execute(*args, **kwargs)


class SharedConnection(psycopg.Connection[tuple[object, ...]]):
    """An autocommitting connection that sets up each of its transactions."""

    _commands = b""

    def set_up_transactions(self, more: Settings | None = None) -> None:
        """Have each transaction begin with its level and with these settings in addition.

        A standby refuses to be told that a transaction may write.

        Raises:
            psycopg.Error: the server could not be asked whether it is one.
        """
        standby = is_standby(self)
        self.cursor_factory = SharedCursor
        self.isolation_level = IsolationLevel.READ_COMMITTED
        self.deferrable = False
        if not standby:
            self.read_only = False
        self._commands = session_settings.of_transaction(self.info.server_version, more)

    @contextmanager
    def transaction(
        self,
        savepoint_name: str | None = None,
        force_rollback: bool = False,  # noqa: FBT001, FBT002 - psycopg's signature
    ) -> Generator[Transaction]:
        """Begin a transaction, or a savepoint inside of one."""
        begins = self.info.transaction_status is TransactionStatus.IDLE
        with super().transaction(savepoint_name, force_rollback) as transaction:
            if begins:
                self.execute(self._commands)
            yield transaction

    @contextmanager
    def pipeline(self) -> Generator[Pipeline]:
        """Send statements together: in one transaction, each with a snapshot of its own."""
        with self.transaction(), super().pipeline() as pipeline:
            yield pipeline
