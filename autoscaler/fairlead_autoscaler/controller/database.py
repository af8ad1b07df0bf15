"""The controller's one session: a snapshot per tick, drain marks under its epoch, wake-ups.

A failure is logged once and tried again at the next tick: until the database answers, no pod is
removed.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from fairlead import ownership, policy_storage
from fairlead.db import statements
from fairlead.db.connect import (
    Address,
    Connection,
    Unreachable,
    abort_connection,
    connect_service,
)
from fairlead.db.error_text import one_line
from fairlead.db.notifications import Notifications
from fairlead.policy import PolicyRefused, hash_of
from fairlead.policy_storage import Stored
from fairlead.runtime.wakeup import Wakeup
from fairlead_autoscaler.controller import pooler
from fairlead_autoscaler.controller.database_snapshot import (
    PolicyVersion,
    Snapshot,
    SnapshotRow,
    read,
)

_PACKAGE = __package__ or ""
_STATEMENT_SECONDS = 2
CALL_SECONDS = 4.0
"""A call that the server has not even refused is aborted after this time."""
_WAKE_UPS_PER_SECOND = 1.0
"""Each brings a step forward: a read of everything, and requests to the API server."""
POLL_SECONDS = 0.5
"""The rest while a pool is at zero and no wake-up can come: behind a transaction pooler."""


class Deposed(Exception):
    """Another controller leads: nothing was written."""


class OwnedByAnother(Exception):
    """Another release owns the database; the sentence says which, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainMarks:
    """Pods of a pool that are to take no more jobs until `until`."""

    pool: str
    pods: Sequence[str]
    fresh: Collection[str]
    """Those of them that took jobs until now: their workers are notified at once."""
    until: datetime


class Database:
    """Opens a session when one is needed; every call raises `Unreachable` without one."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._notices: Notifications | None = None
        self._due: float | None = None
        self._console: Connection | None = None
        """The pooler's, while it is asked."""

    def close(self) -> None:
        """Close the session; the next call opens another one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._notices = None

    def abort_if_stuck(self, now: float) -> bool:
        """Abort a call that is overdue, from another thread; return whether there was one.

        The server's own timeout ends slow statements. It ends nothing on a frozen server, and
        neither do keepalives, which its machine's kernel acknowledges.
        """
        due, connection = self._due, self._console or self._connection
        if due is None or connection is None or now < due:
            return False
        abort_connection(connection)
        return True

    @contextmanager
    def _timed(self, console: Connection | None = None) -> Generator[None]:
        self._console = console
        self._due = monotonic() + CALL_SECONDS
        try:
            yield
        finally:
            self._due = self._console = None

    def pooler_clients(self) -> int | None:
        """Ask the pooler how many clients it accepts; None: it does not say.

        Raises:
            Unreachable: it has no console for this login.
        """
        try:
            with closing(pooler.console(self._address)) as opened, self._timed(opened):
                return pooler.clients_max(opened)
        except psycopg.Error as error:
            raise Unreachable(one_line(error)) from None

    def connection(self) -> Connection:
        """Return the session, opened now if there is none.

        Raises:
            Unreachable: with one sentence that gives the reason.
        """
        if self._connection is None or self._connection.closed:
            self.close()
            limit = {"statement_timeout": f"'{_STATEMENT_SECONDS}s'"}
            self._connection = connect_service(self._address, name="autoscaler", more=limit)
            if self._address.database_direct:
                self._prepare(self._connection)
        return self._connection

    def _prepare(self, connection: Connection) -> None:
        try:
            with self._timed():
                connection.execute(b"listen fairlead_autoscaler")
        except psycopg.Error as error:
            self.close()
            raise Unreachable(one_line(error)) from None
        self._notices = Notifications(connection, per_second=_WAKE_UPS_PER_SECOND)

    def snapshot(self, *, known: int | None, asks_queues: bool) -> Snapshot:
        """Read everything, in one statement.

        Args:
            known: The policy version whose document need not be sent again.
            asks_queues: Whether to find the queues that have a job that is due.
        """
        try:
            connection = self.connection()
            with self._timed(), connection.cursor(row_factory=class_row(SnapshotRow)) as cursor:
                cursor.execute(
                    statements.load(_PACKAGE, "snapshot"),
                    {"known": known, "asks_queues": asks_queues},
                )
                row = cursor.fetchone()
        except psycopg.Error as error:
            self.close()
            raise Unreachable(one_line(error)) from None
        assert row is not None
        return read(row)

    def older_policies(self, *, after: int, before: int) -> tuple[PolicyVersion, ...]:
        """Return policies between two versions, the newest first; none: there are no more."""
        rows = self._run("older_policies", {"after": after, "before": before})
        return tuple(
            PolicyVersion(version=int(str(version)), digest=str(digest), document=str(document))
            for version, digest, document in rows
        )

    def begin_epoch(self, holder: str, *, release: str = "") -> int:
        """Begin a new epoch and return it: later writes of earlier epochs are refused.

        Raises:
            OwnedByAnother: the database is another release's.
        """
        rows = self._run("begin_epoch", {"holder": holder, "release": release})
        if not rows:
            raise OwnedByAnother(ownership.refusal(self._owner(), release))
        return int(str(rows[0][0]))

    def _owner(self) -> str:
        try:
            with self._timed():
                return ownership.owner_of(self.connection())
        except psycopg.Error as error:
            self.close()
            raise Unreachable(one_line(error)) from None

    def mark_drain(self, marks: DrainMarks, *, epoch: int) -> frozenset[str]:
        """Mark pods for draining, and return the empty ones; a repeat extends the marks.

        A mark that had lapsed begins anew, and its pod does not count as empty.

        Raises:
            Deposed: another epoch has begun.
        """
        parameters = {
            "pool": marks.pool,
            "pods": list(marks.pods),
            "fresh": list(marks.fresh),
            "drain_until": marks.until,
            "epoch": epoch,
        }
        if not marks.pods:
            return frozenset()
        marked = self._run("mark_drain", parameters)
        if not marked:
            raise Deposed
        return frozenset(str(uid) for uid, drained, _ in marked if drained)

    def unmark_drain(self, pods: Sequence[str], *, epoch: int) -> None:
        """Remove drain marks; pods without one are ignored."""
        if pods:
            self._run("unmark_drain", {"pods": list(pods), "epoch": epoch})

    def record_decision(
        self, pool: str, *, at: datetime, decision: dict[str, object], epoch: int
    ) -> None:
        """Store the last decision on a pool.

        Raises:
            Deposed: another epoch has begun.
        """
        parameters = {"pool": pool, "at": at, "decision": Jsonb(decision), "epoch": epoch}
        if not self._run("record_decision", parameters):
            raise Deposed

    def store_policy(
        self,
        document: str,
        *,
        author: str,
        reason: str,
        epoch: int,
        refused: str | None = None,
    ) -> Stored | PolicyRefused:
        """Store a document as the newest policy, or record that it is refused, and why.

        One that `refused` says something of is refused for that.

        Nothing is stored under another epoch, however late the call: the leader's row stays
        locked until the document is stored.

        Raises:
            Deposed: another epoch has begun.
        """
        try:
            with self._timed(), self.connection().transaction() as transaction:
                parameters = {"epoch": epoch}
                if not transaction.connection.execute(
                    statements.load(_PACKAGE, "lock_epoch"), parameters
                ).fetchone():
                    raise Deposed
                connection = transaction.connection
                if refused is not None:
                    hashed = hash_of(document.encode("utf-8", "surrogatepass"))
                    policy_storage.note_refusal(connection, hashed, refused, author=author)
                    return PolicyRefused(refused)
                try:
                    return policy_storage.store(
                        connection, document, author=author, reason=reason
                    )
                except PolicyRefused as error:
                    return error
        except psycopg.Error as error:
            self.close()
            raise Unreachable(one_line(error)) from None

    def record_policy_source(self, source: str, place: str) -> None:
        """Record where the policy is edited; a repeat changes nothing."""
        self._run("record_policy_source", {"source": source, "place": place})

    def has_woken(self) -> bool:
        """Return whether a pool has woken since the last rest, without a query.

        The next rest ends at once for it all the same. False without a session, and behind a
        transaction pooler, where no wake-up can come.
        """
        try:
            return self._notices is not None and self._notices.pending()
        except psycopg.Error:
            self.close()
            return False

    def wait(self, wakeup: Wakeup, seconds: float, *, at_zero: bool) -> None:
        """Rest until a pool wakes, the wakeup is set, or the time is over."""
        if self._notices is None or self._connection is None:
            rest = min(seconds, POLL_SECONDS) if at_zero else seconds
            wakeup.wait(rest)
            return
        try:
            self._notices.wait(wakeup, seconds)
        except psycopg.Error:
            # The next query opens another session, and its failure is logged.
            self.close()

    def _run(self, name: str, parameters: Mapping[str, object]) -> list[tuple[object, ...]]:
        try:
            connection = self.connection()
            with self._timed():
                cursor = connection.execute(statements.load(_PACKAGE, name), parameters)
                return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            self.close()
            raise Unreachable(one_line(error)) from None
