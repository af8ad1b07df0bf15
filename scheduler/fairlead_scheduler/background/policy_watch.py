"""Watch the stored policies: the newest readable version is in force.

An unreadable document leaves the last good one in force, and is reported in the log, in a
metric and in `policy_events`.
"""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import monotonic
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.policy import PolicyRefused, Shadow, parse
from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.refusal_watch import RefusalWatch
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.requests import take_all
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.policy.backlog_limits import BacklogLimits, compile_backlog_limits
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.rows import Event, PolicyChanged, PolicyRow
from fairlead_scheduler.rules.circuit_breaker import DisabledRule

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_SECONDS = 1.0
_SECONDS_LOWEST = 0.25
"""The shortest interval: an application that stores twenty policies a second must not keep the
leader busy with reading them."""
_VERSIONS_AT_ONCE = 10


class RefusedVersion(NamedTuple):
    """A version that cannot be read, and why, in one sentence."""

    version: int
    reason: str


class WatchResult(NamedTuple):
    """What one read of the newer versions found."""

    newest: int
    """The newest stored version."""
    table: CompiledPolicy | None
    """The newest readable version, compiled; None if there is none."""
    refused: Sequence[RefusedVersion] = ()
    limits: BacklogLimits | None = None
    """The backlog limits of that version."""


def read_newer(connection: Connection, after: int = 0) -> WatchResult:
    """Read the versions after this one, newest first, until one is readable."""
    cursor: Cursor[PolicyRow] = connection.cursor(binary=True, row_factory=args_row(PolicyRow))
    newest = 0
    before: int | None = None
    refused: list[RefusedVersion] = []
    while True:
        values = {"after": after, "before": before, "limit": _VERSIONS_AT_ONCE}
        rows = cursor.execute(statements.load(_PACKAGE, "policies"), values).fetchall()
        newest = max([newest, *(row.version for row in rows)])
        for row in rows:
            before = row.version
            try:
                policy = parse(row.document)
                table = compile_policy(policy, stored=row.version, disabled=row.disabled)
            except PolicyRefused as error:
                refused.append(RefusedVersion(row.version, str(error)))
            else:
                return WatchResult(newest, table, refused, compile_backlog_limits(policy))
        if len(rows) < _VERSIONS_AT_ONCE:
            return WatchResult(max(newest, after), None, refused)


class PolicyWatch:
    """Watches for newer versions during one term, over one session.

    Args:
        initial: What the take-over read; the loop has its table.
        apply_backlog_limits: Called with those of each policy that comes into force.
        disabled: Rules that the loop disabled, to be recorded.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        epoch: int,
        initial: WatchResult,
        disabled: SimpleQueue[DisabledRule],
        events: SimpleQueue[Event],
        wakeup: Wakeup,
        metrics: Metrics,
        apply_backlog_limits: Callable[[BacklogLimits], None],
    ) -> None:
        self._connection = connection
        self._epoch = epoch
        self._apply_backlog_limits = apply_backlog_limits
        self._disabled = disabled
        self._events = events
        self._wakeup = wakeup
        self._metrics = metrics
        self._newest = initial.newest
        self._next_at = 0.0
        self._early = False
        self._unreported: list[WatchResult] = [initial]
        self._unrecorded: list[DisabledRule] = []
        self._table = initial.table

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return what to do and how often; a notification makes it sooner."""
        policy = PeriodicTask("policy", _SECONDS, self.watch, rest=self._rest)
        return (policy, *RefusalWatch(self._connection, metrics=self._metrics).tasks())

    def shadow(self) -> Shadow | None:
        """Return the shadow of the policy in force, if it has one; from any thread."""
        return None if self._table is None else self._table.shadow

    def pools(self) -> Sequence[str]:
        """Return the pools of the policy in force; none where it has none; from any thread."""
        return () if self._table is None else self._table.routing.names

    def watch(self) -> bool:
        """Put the newest policy in force, and record each version's outcome as an event.

        Events that could not be written are written at the next read.
        """
        self._unrecorded += take_all(self._disabled)
        while self._unrecorded:
            version, rule, reason = self._unrecorded[0]
            self._record(version, "rule_disabled", reason, rule=rule)
            del self._unrecorded[0]
        self._early = monotonic() < self._next_at
        if self._early:
            return False
        result = read_newer(self._connection, self._newest)
        self._next_at = monotonic() + _SECONDS_LOWEST
        if result.newest > self._newest:
            self._newest = result.newest
            self._unreported.append(result)
            if result.table is not None:
                self._table = result.table
                self._events.put(PolicyChanged(result.table))
                self._wakeup.wake()
            if result.limits is not None:
                self._apply_backlog_limits(result.limits)
        while self._unreported:
            self._report(self._unreported[0])
            del self._unreported[0]
        return False

    def _rest(self, every_seconds: float) -> float:
        """Return the rest, which is shorter after a call that came too soon."""
        return max(0.0, self._next_at - monotonic()) if self._early else every_seconds

    def _report(self, result: WatchResult) -> None:
        table = result.table
        self._metrics.policy.record_read(
            good=result.newest == (0 if table is None else table.stored),
            taken=None if table is None else table.stored,
        )
        for version, reason in result.refused:
            self._record(version, "refused", reason)
            self._metrics.policy.refused.inc()
            _log.error("policy.refused", version=version, reason=reason)
        if result.table is not None:
            self._record(result.table.stored, "in_force", "")
            _log.info(
                "policy.in_force", version=result.table.stored, digest=result.table.digest
            )

    def _record(self, version: int, event: str, reason: str, *, rule: str = "") -> None:
        values = {
            "epoch": self._epoch,
            "version": version,
            "event": event,
            "rule": rule,
            "said": reason,
        }
        self._connection.execute(statements.load(_PACKAGE, "record_policy_event"), values)
