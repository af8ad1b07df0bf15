"""Which stored policy is in force: the newest that can be read.

A document that cannot be read leaves the last good one in force, and says so in the log, in a
metric and in `policy_events`.
"""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import monotonic
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row

from fairlead import log, sql
from fairlead.bell import Bell
from fairlead.policy import PolicyRefused, Shadow, parse
from fairlead.store import Connection
from fairlead_scheduler.calls import drain
from fairlead_scheduler.caps import Caps, capped
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.refusals import Refusals
from fairlead_scheduler.terms import Table, compiled
from fairlead_scheduler.views import Disabled, News, PolicyRow, Ruled

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_SECONDS = 1.0
_SECONDS_LOWEST = 0.25
"""Whoever stores twenty policies a second shall not keep the leader busy with reading them."""
_VERSIONS_AT_ONCE = 10


class Refused(NamedTuple):
    """A version that cannot be read, and the sentence that says why."""

    version: int
    said: str


class Looked(NamedTuple):
    """What one look found among the newer versions."""

    newest: int
    """The newest version that there is."""
    table: Table | None
    """The newest that can be read; None: none of them can, or there are none."""
    refused: Sequence[Refused] = ()
    caps: Caps | None = None
    """The backlog limits of the same version."""


def look(connection: Connection, after: int = 0) -> Looked:
    """Read what was stored after this version, until one can be read."""
    cursor: Cursor[PolicyRow] = connection.cursor(binary=True, row_factory=args_row(PolicyRow))
    newest = 0
    before: int | None = None
    refused: list[Refused] = []
    while True:
        values = {"after": after, "before": before, "limit": _VERSIONS_AT_ONCE}
        rows = cursor.execute(sql.load(_PACKAGE, "policies"), values).fetchall()
        newest = max([newest, *(row.version for row in rows)])
        for row in rows:
            before = row.version
            try:
                policy = parse(row.document)
                table = compiled(policy, stored=row.version, disabled=row.disabled)
            except PolicyRefused as error:
                refused.append(Refused(row.version, str(error)))
            else:
                return Looked(newest, table, refused, capped(policy))
        if len(rows) < _VERSIONS_AT_ONCE:
            return Looked(max(newest, after), None, refused)


class Policies:
    """Watches for newer versions during one term, over one session.

    Args:
        begun: What the take-over found; the loop has its table.
        cap: Is given the backlog limits of each policy that comes into force.
        disabled: Rules that the loop had to disable, to be written down.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        epoch: int,
        begun: Looked,
        disabled: SimpleQueue[Disabled],
        news: SimpleQueue[News],
        bell: Bell,
        metrics: Metrics,
        cap: Callable[[Caps], None],
    ) -> None:
        self._connection = connection
        self._epoch = epoch
        self._cap = cap
        self._disabled = disabled
        self._news = news
        self._bell = bell
        self._metrics = metrics
        self._newest = begun.newest
        self._next_at = 0.0
        self._early = False
        self._untold: list[Looked] = [begun]
        self._unnoted: list[Disabled] = []
        self._table = begun.table

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often; a notification makes it sooner."""
        policy = Chore("policy", _SECONDS, self.watch, rest=self._rest)
        return (policy, *Refusals(self._connection, metrics=self._metrics).chores())

    def shadow(self) -> Shadow | None:
        """Return the shadow of the policy in force, if it has one; from any thread."""
        return None if self._table is None else self._table.shadow

    def pools(self) -> Sequence[str]:
        """Return the pools of the policy in force; none where it has none; from any thread."""
        return () if self._table is None else self._table.homes.names

    def watch(self) -> bool:
        """Put what is new in force, and say what became of it.

        What could not be said, because the database was away, is said at the next look.
        """
        self._unnoted += drain(self._disabled)
        while self._unnoted:
            version, rule, said = self._unnoted[0]
            self._note(version, "rule_disabled", said, rule=rule)
            del self._unnoted[0]
        self._early = monotonic() < self._next_at
        if self._early:
            return False
        looked = look(self._connection, self._newest)
        self._next_at = monotonic() + _SECONDS_LOWEST
        if looked.newest > self._newest:
            self._newest = looked.newest
            self._untold.append(looked)
            if looked.table is not None:
                self._table = looked.table
                self._news.put(Ruled(looked.table))
                self._bell.ring()
            if looked.caps is not None:
                self._cap(looked.caps)
        while self._untold:
            self._tell(self._untold[0])
            del self._untold[0]
        return False

    def _rest(self, every_seconds: float) -> float:
        """Come back when it is time, if it was called too soon."""
        return max(0.0, self._next_at - monotonic()) if self._early else every_seconds

    def _tell(self, looked: Looked) -> None:
        table = looked.table
        self._metrics.policy.looked(
            good=looked.newest == (0 if table is None else table.stored),
            taken=None if table is None else table.stored,
        )
        for version, said in looked.refused:
            self._note(version, "refused", said)
            self._metrics.policy.refused.inc()
            _log.error("policy.refused", version=version, reason=said)
        if looked.table is not None:
            self._note(looked.table.stored, "in_force", "")
            _log.info(
                "policy.in_force", version=looked.table.stored, digest=looked.table.digest
            )

    def _note(self, version: int, event: str, said: str, *, rule: str = "") -> None:
        values = {
            "epoch": self._epoch,
            "version": version,
            "event": event,
            "rule": rule,
            "said": said,
        }
        self._connection.execute(sql.load(_PACKAGE, "note_policy"), values)
