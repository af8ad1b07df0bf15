"""Read what the doctor needs: each statement alone, with a timeout, as far as the login may.

What is refused or takes too long is left out, and listed as unseen.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib import resources
from ipaddress import ip_address
from typing import TYPE_CHECKING, TypeVar

import psycopg
from psycopg.rows import dict_row
from pydantic import TypeAdapter

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.inspection.doctor.facts import (
    Clocks,
    CrashBreaker,
    Facts,
    Holder,
    Index,
    Lead,
    NotifyQueue,
    Queued,
    Run,
    ServerFacts,
    Sessions,
    SetupFacts,
    Table,
    Transport,
    Unhandled,
    Worker,
)
from fairlead.inspection.doctor.finding import Step, Unseen, identifier
from fairlead.inspection.doctor.finding import sql as statement
from fairlead.inspection.doctor.schema_indexes import wanted
from fairlead.policy import Policy, PolicyRefused, parse

if TYPE_CHECKING:
    from fairlead.inspection.rows import Row

T = TypeVar("T")

STATEMENT_SECONDS = 3
_BOUNDS = (
    f"set local statement_timeout = '{STATEMENT_SECONDS}s'".encode(),
    b"set local lock_timeout = '1s'",
    b"set local transaction_read_only = on",
)
_ENDINGS = 20_000
_BREAKING_WORKERS = 200
"""Each may say 32 KiB: of 500 all was read in 0.9 s on a busy machine."""
_PACKAGE = "fairlead.inspection.doctor"
_READS_ALL = "fairlead_operator"
_NEEDS = {
    "lead": "who leads",
    "leases": "workers' leases, pools without workers, and kinds that run alone",
    "jobs": "queues that no pool serves",
    "history": "whether limits are used",
    "policy": "the policy: pools and limits",
}
"""What each right is needed for."""


class Reader:
    """Reads through one session, and notes what it could not see.

    Args:
        connection: Of any login.
        clock: This machine's.
    """

    def __init__(
        self, connection: Connection, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._connection = connection
        self._clock = clock or _now
        self._login = connection.info.user
        self.unseen: list[Unseen] = []

    def read(self) -> Facts:
        """Read all that may be seen.

        Raises:
            psycopg.Error: not even the server's settings, or the session is broken.
        """
        rights = self._rights()
        clocks, server = self._server()
        may = {name for name in _NEEDS if rights[name]}
        return Facts(
            server=server,
            clocks=clocks,
            sessions=self._all(Sessions, "sessions", "connections") or (),
            holders=self._all(Holder, "snapshots", "snapshots and slots") or (),
            notifications=self._notifications(),
            tables=self._all(Table, "tables", "dead rows and empty space") or (),
            indexes=self._all(Index, "indexes", "indexes"),
            wanted=wanted(
                resources.files("fairlead.db").joinpath("schema.sql").read_text("utf-8")
            ),
            history_days_ahead=self._days_ahead(),
            lead=self._lead() if "lead" in may else None,
            workers=self._all(Worker, "leases", "leases") if "leases" in may else None,
            crash_breakers=self._crash_breakers() if "leases" in may else (),
            unhandled=self._unhandled() if "jobs" in may else (),
            queued=self._all(Queued, "queued", "what is queued") if "leases" in may else None,
            queues=self._queues() if "jobs" in may else None,
            lanes=self._lanes() if "jobs" in may else None,
            runs=self._runs() if {"history", "leases"} <= may else None,
            policy=self._policy() if "policy" in may else None,
        )

    def read_setup(self) -> tuple[Facts, SetupFacts]:
        """Read what `--setup` checks.

        Raises:
            psycopg.Error: the login may not read it, or a statement took too long.
        """
        clocks, server = self._server()
        leaders = _as(Lead, self._rows("lead", {}))
        facts = Facts(
            server=server,
            clocks=clocks,
            sessions=_as(Sessions, self._rows("sessions", {})),
            history_days_ahead=int(str(self._rows("partitions", {})[0]["days_ahead"])),
            lead=leaders[0] if leaders else None,
            workers=_as(Worker, self._rows("leases", {})),
            transport=self._transport(),
        )
        (setup,) = _as(SetupFacts, self._rows("setup", {}))
        return facts, setup

    def _transport(self) -> Transport:
        connection = self._connection
        options = {each.keyword: each.val for each in connection.pgconn.info}
        host, address = connection.info.host, connection.info.hostaddr
        return Transport(
            host=host,
            local=not address or ip_address(address).is_loopback,
            encrypted=bool(connection.pgconn.ssl_in_use),
            sslmode=(options.get(b"sslmode") or b"prefer").decode(),
        )

    def _rights(self) -> "Row":
        (rights,) = self._rows("rights", {})
        refused = [name for name in _NEEDS if not rights[name]]
        for name in refused:
            why = f"login {self._login} may not read it"
            self.unseen.append(Unseen(_NEEDS[name], why, (self._grant(_READS_ALL),)))
        if not rights["sessions"]:
            self.unseen.append(
                Unseen(
                    "snapshots of other logins' sessions",
                    f"login {self._login} is no member of pg_read_all_stats",
                    (self._grant("pg_read_all_stats"),),
                )
            )
        if not rights["all_tenants"]:
            why = f"row-level security shows login {self._login} its own tenants only"
            self.unseen.append(Unseen("other tenants' jobs", why, (self._grant(_READS_ALL),)))
        return rights

    def _grant(self, role: str) -> Step:
        return statement(f"grant {role} to {identifier(self._login)}")

    def _server(self) -> tuple[Clocks, ServerFacts]:
        before = self._clock()
        (row,) = self._rows("server", {})
        after = self._clock()
        server = TypeAdapter(ServerFacts).validate_python(row)
        return Clocks(before, server.now, after), server

    def _lead(self) -> Lead | None:
        found = self._all(Lead, "lead", "who leads")
        if found is None:
            return None
        return found[0] if found else Lead("", None, held=False)

    def _notifications(self) -> NotifyQueue | None:
        found = self._all(NotifyQueue, "notifications", "the queue of notifications")
        return found[0] if found else None

    def _crash_breakers(self) -> tuple[CrashBreaker, ...]:
        what = "kinds that run alone"
        found = self._ask("crash_breakers", what, workers_max=_BREAKING_WORKERS) or []
        if found and found[0]["read"] != found[0]["saying"]:
            why = (
                f"{found[0]['saying']} workers have some: {found[0]['read']} of them, the "
                "newest of each login, were looked at"
            )
            self.unseen.append(Unseen(f"{what} on all workers", why))
        return _as(CrashBreaker, [row for row in found if row["kind"] is not None])

    def _unhandled(self) -> tuple[Unhandled, ...]:
        return self._all(Unhandled, "unhandled", "kinds without a handler") or ()

    def _days_ahead(self) -> int | None:
        found = self._ask("partitions", "the history's partitions")
        return int(str(found[0]["days_ahead"])) if found else None

    def _queues(self) -> tuple[str, ...] | None:
        found = self._ask("queues", "queues with jobs")
        return None if found is None else tuple(str(row["queue"]) for row in found)

    def _lanes(self) -> tuple[tuple[str, str], ...] | None:
        found = self._ask("lanes", "tenants with jobs")
        if found is None:
            return None
        return tuple((str(row["queue"]), str(row["tenant"])) for row in found)

    def _runs(self) -> tuple[Run, ...] | None:
        found = self._ask("runs", "past jobs", endings=_ENDINGS)
        return None if found is None else _as(Run, found)

    def _all(self, kind: type[T], name: str, what: str) -> tuple[T, ...] | None:
        found = self._ask(name, what)
        return None if found is None else _as(kind, found)

    def _policy(self) -> Policy | None:
        found = self._ask("policy_in_force", "the policy", package="fairlead")
        if not found:
            return None
        try:
            return parse(str(found[0]["document"]))
        except PolicyRefused as error:
            why = f"the leader's is newer than this program: {error}"
            self.unseen.append(Unseen(_NEEDS["policy"], why))
            return None

    def _ask(
        self, name: str, what: str, *, package: str = _PACKAGE, **values: object
    ) -> "list[Row] | None":
        """Return a statement's rows; None, and a word on it, where it fails or takes long."""
        try:
            return self._rows(name, values, package=package)
        except (
            psycopg.errors.QueryCanceled,
            psycopg.errors.LockNotAvailable,
            psycopg.errors.InsufficientPrivilege,
            psycopg.DataError,
        ) as error:
            said = " ".join((error.diag.message_primary or str(error)).split())
            self.unseen.append(Unseen(what, said))
            return None

    def _rows(
        self, name: str, values: "dict[str, object]", *, package: str = _PACKAGE
    ) -> "list[Row]":
        """Run one statement in a transaction of its own, so that its bounds end with it."""
        connection = self._connection
        with connection.transaction(), connection.cursor(row_factory=dict_row) as cursor:
            for bound in _BOUNDS:
                cursor.execute(bound)
            cursor.execute(statements.load(package, name), values or None)
            return cursor.fetchall()


def _now() -> datetime:
    return datetime.now(UTC)


def _as(kind: type[T], rows: "list[Row]") -> tuple[T, ...]:
    adapter = TypeAdapter(kind)
    return tuple(adapter.validate_python(row) for row in rows)
