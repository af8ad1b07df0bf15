"""The controller's one session: a snapshot a tick, marks under its epoch, and wake-ups.

Whatever fails here is said once and tried again at the next tick: until the database answers,
nothing is known, and nothing is taken away.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from fairlead import policy_store, sql
from fairlead.bell import Bell
from fairlead.notices import Notices
from fairlead.policy import PolicyRefused
from fairlead.policy_store import Stored
from fairlead.store import Address, Connection, Unreachable, connect_service, cut
from fairlead_autoscaler.snapshot import Row, Snapshot, read

_PACKAGE = __package__ or ""
_STATEMENT_SECONDS = 2
CALL_SECONDS = 4.0
"""After how long a call is cut off that the server has not even refused."""
POLL_SECONDS = 0.5
"""How long a pool at zero rests where nobody can be woken: behind a pooler of transactions."""


class Deposed(Exception):
    """Another controller leads: what was to be written was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Pods of a pool that are to take no more jobs until then."""

    pool: str
    pods: Sequence[str]
    fresh: Collection[str]
    """Those of them that took jobs until now: their workers are told at once."""
    until: datetime


class Database:
    """Opens a session when one is needed; every call raises `Unreachable` without one."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._notices: Notices | None = None
        self._due: float | None = None

    def close(self) -> None:
        """Let go of the session; the next call opens another one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._notices = None

    def cut_if_stuck(self, now: float) -> bool:
        """End a call that is overdue, from another thread; tell whether there was one.

        The server's own time-out ends what is slow. It ends nothing on a server that is frozen,
        and neither do keepalives, for its machine's kernel acknowledges them.
        """
        due, connection = self._due, self._connection
        if due is None or connection is None or now < due:
            return False
        cut(connection)
        return True

    @contextmanager
    def _timed(self) -> Generator[None]:
        self._due = monotonic() + CALL_SECONDS
        try:
            yield
        finally:
            self._due = None

    def connection(self) -> Connection:
        """Return the session, opened now if there is none.

        Raises:
            Unreachable: with one sentence that says why.
        """
        if self._connection is None or self._connection.closed:
            self.close()
            self._connection = connect_service(self._address, name="autoscaler")
            if self._address.database_direct:
                self._prepare(self._connection)
        return self._connection

    def _prepare(self, connection: Connection) -> None:
        try:
            with self._timed():
                connection.execute(f"set statement_timeout = '{_STATEMENT_SECONDS}s'".encode())
                connection.execute(b"listen fairlead_autoscaler")
        except psycopg.Error as error:
            self.close()
            raise Unreachable(_said(error)) from None
        self._notices = Notices(connection)

    def snapshot(self, *, known: int | None, asks_queues: bool) -> Snapshot:
        """Ask for everything, in one statement.

        Args:
            known: The version of the policy whose document need not be told again.
            asks_queues: Whether to look which queues have a job that is due.
        """
        try:
            connection = self.connection()
            with self._timed(), connection.cursor(row_factory=class_row(Row)) as cursor:
                cursor.execute(
                    sql.load(_PACKAGE, "snapshot"),
                    {"known": known, "asks_queues": asks_queues},
                )
                row = cursor.fetchone()
        except psycopg.Error as error:
            self.close()
            raise Unreachable(_said(error)) from None
        assert row is not None
        return read(row)

    def lead(self, holder: str) -> int:
        """Begin a new epoch and return it: nothing that an earlier one writes counts."""
        rows = self._run("lead", {"holder": holder})
        return int(str(rows[0][0]))

    def mark(self, marks: Marks, *, epoch: int) -> frozenset[str]:
        """Mark pods, and return those that are empty; a repeat moves the time on.

        A mark that had lapsed begins anew, and its pod is not empty, whatever it was.

        Raises:
            Deposed: another epoch has begun.
        """
        given = {
            "pool": marks.pool,
            "pods": list(marks.pods),
            "fresh": list(marks.fresh),
            "drain_until": marks.until,
            "epoch": epoch,
        }
        if not marks.pods:
            return frozenset()
        marked = self._run("mark", given)
        if not marked:
            raise Deposed
        return frozenset(str(uid) for uid, drained, _ in marked if drained)

    def unmark(self, pods: Sequence[str], *, epoch: int) -> None:
        """Take marks away; of pods that have none, nothing."""
        if pods:
            self._run("unmark", {"pods": list(pods), "epoch": epoch})

    def note_decision(
        self, pool: str, *, at: datetime, decision: dict[str, object], epoch: int
    ) -> None:
        """Write down the last decision on a pool.

        Raises:
            Deposed: another epoch has begun.
        """
        given = {"pool": pool, "at": at, "decision": Jsonb(decision), "epoch": epoch}
        if not self._run("note_decision", given):
            raise Deposed

    def store_policy(
        self, document: str, *, author: str, reason: str, epoch: int
    ) -> Stored | PolicyRefused:
        """Store a document as the newest policy, or note that it is refused, and why.

        Nothing is stored under another epoch, however late this one comes: the leader's row
        is held until the document is.

        Raises:
            Deposed: another epoch has begun.
        """
        try:
            with self._timed(), self.connection().transaction() as transaction:
                held = {"epoch": epoch}
                if not transaction.connection.execute(
                    sql.load(_PACKAGE, "hold_epoch"), held
                ).fetchone():
                    raise Deposed
                try:
                    return policy_store.store(
                        transaction.connection, document, author=author, reason=reason
                    )
                except PolicyRefused as error:
                    return error
        except psycopg.Error as error:
            self.close()
            raise Unreachable(_said(error)) from None

    def name_source(self, source: str, place: str) -> None:
        """Say where the policy is edited; a repeat changes nothing."""
        self._run("name_source", {"source": source, "place": place})

    def woken(self) -> bool:
        """Tell whether a pool has woken since the last rest, without a question.

        The next rest ends at once for it, whoever has asked. False without a session, and
        behind a pooler of transactions, where nobody can be woken.
        """
        try:
            return self._notices is not None and self._notices.pending()
        except psycopg.Error:
            self.close()
            return False

    def wait(self, bell: Bell, seconds: float, *, at_zero: bool) -> None:
        """Rest until a pool wakes, the bell rings, or so long."""
        if self._notices is None or self._connection is None:
            rest = min(seconds, POLL_SECONDS) if at_zero else seconds
            bell.wait(rest, beside=bell.fileno())
            return
        try:
            self._notices.wait(bell, seconds)
        except psycopg.Error:
            # The next look opens another session and says so if it cannot.
            self.close()

    def _run(self, name: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
        try:
            connection = self.connection()
            with self._timed():
                cursor = connection.execute(sql.load(_PACKAGE, name), parameters)
                return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            self.close()
            raise Unreachable(_said(error)) from None


def _said(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__
