"""Judge an installation: what keeps it from working, and what will hurt it.

What hurts a fleet at work is the doctor's matter: `fairlead.cli.doctor`.
Reading is one statement; judging takes values and returns values, so that every finding can be
tested without a server that has the fault.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import available_timezones

from psycopg.rows import dict_row
from pydantic import TypeAdapter

from fairlead import sql
from fairlead.store import SERVER_LOWEST, Connection

CLOCK_SKEW = timedelta(seconds=5)
CONNECTIONS_OF_A_WORKER = 3  # the parent's, and two of one child
CONNECTIONS_OF_THE_REST = 10  # two schedulers, and a person or two

Severity = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; the sentence says what is wrong and what to do."""

    severity: Severity
    subject: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was read from the server; None is what this login may not see, or is not there."""

    server_version: int
    server_version_name: str
    is_standby: bool
    encoding: str
    timezone: str
    isolation: str
    read_only: bool
    synchronous_commit: str
    fsync: bool
    autovacuum: bool
    connections_max: int
    connections: int
    workers: int
    is_led: bool | None
    history_days_ahead: int | None
    history_owner: str
    missing_roles: tuple[str, ...]
    broken_schedules: tuple[str, ...]
    over_backlog: tuple[str, ...]
    timezones: tuple[str, ...]
    now: datetime


def read(connection: Connection) -> Facts:
    """Read what can be judged; the schema must fit.

    Raises:
        psycopg.Error: the login may not read it.
    """
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(sql.load("fairlead", "facts")).fetchone()
    return TypeAdapter(Facts).validate_python(row)


def judge(facts: Facts, *, here: datetime) -> tuple[Finding, ...]:
    """Return the findings, every subject once or more; `here` is this machine's clock."""
    return tuple(
        finding
        for judged in (_server(facts), _load(facts, here), _upkeep(facts), _work(facts))
        for finding in judged
    )


def _one(subject: str, severity: Severity, sentence: str, *, wrong: bool, fine: str) -> Finding:
    return Finding(severity, subject, sentence) if wrong else Finding("ok", subject, fine)


def _server(facts: Facts) -> Iterable[Finding]:
    yield _one(
        "server",
        "error",
        f"PostgreSQL {facts.server_version_name} is too old: upgrade it to {SERVER_LOWEST} or "
        "newer",
        wrong=facts.server_version < SERVER_LOWEST * 10_000,
        fine=f"PostgreSQL {facts.server_version_name}, time zone {facts.timezone}",
    )
    yield _one(
        "writable",
        "error",
        "the database is read only: connect to the primary",
        wrong=facts.is_standby or facts.read_only,
        fine="the database can be written",
    )
    yield _one(
        "encoding",
        "error",
        f"the database's encoding is {facts.encoding}, and JSON needs UTF8: create it anew",
        wrong=facts.encoding != "UTF8",
        fine="the encoding is UTF8",
    )
    yield _one(
        "isolation",
        "error",
        f"default_transaction_isolation is '{facts.isolation}', and functions need "
        "'read committed': set it back for this database and its logins",
        wrong=facts.isolation != "read committed",
        fine="transactions are read committed",
    )


def _load(facts: Facts, here: datetime) -> Iterable[Finding]:
    need = facts.workers * CONNECTIONS_OF_A_WORKER + CONNECTIONS_OF_THE_REST
    yield _one(
        "connections",
        "warning",
        f"{facts.connections} of {facts.connections_max} connections are taken and the fleet "
        f"wants {need}: raise max_connections",
        wrong=max(need, facts.connections) > facts.connections_max * 0.9,
        fine=f"{facts.connections} of {facts.connections_max} connections are taken",
    )
    yield _one(
        "clock",
        "warning",
        f"this machine's clock is {abs(here - facts.now).total_seconds():.0f} s off the "
        "database's, which decides: set the clock",
        wrong=abs(here - facts.now) > CLOCK_SKEW,
        fine="the clocks agree",
    )
    yield from _durability(facts)
    yield _one(
        "autovacuum",
        "error",
        "autovacuum or track_counts is off: dead rows pile up; turn both on",
        wrong=not facts.autovacuum,
        fine="autovacuum is on",
    )


def _durability(facts: Facts) -> Iterable[Finding]:
    yield _one(
        "durability",
        "error",
        "fsync is off: a crash of the machine can destroy the whole database; turn it on",
        wrong=not facts.fsync,
        fine="fsync is on",
    )
    yield _one(
        "durability",
        "warning",
        "synchronous_commit is off: a crash of the server can lose jobs whose INSERT was "
        "answered and run finished ones again; turn it on",
        wrong=facts.synchronous_commit == "off",
        fine=f"synchronous_commit is {facts.synchronous_commit}",
    )


def _upkeep(facts: Facts) -> Iterable[Finding]:
    days = -1 if facts.history_days_ahead is None else facts.history_days_ahead
    yield _one(
        "history",
        "error" if days < 1 else "warning",
        f"history partitions reach {max(days, 0)} days ahead, and without one no job can end: "
        "run `fairlead migrate`, and see that the scheduler may make them",
        wrong=days < 7,
        fine=f"history partitions reach {days} days ahead",
    )
    unowned = facts.history_owner != "fairlead_scheduler" and not facts.missing_roles
    yield _one(
        "history owner",
        "warning",
        f"the history belongs to {facts.history_owner}, so the scheduler must log in as it or "
        f"as a member: or let an administrator grant fairlead_scheduler to "
        f"{facts.history_owner}, and run `fairlead migrate`",
        wrong=unowned,
        fine=f"the history belongs to {facts.history_owner}",
    )
    yield _one(
        "roles",
        "warning",
        f"missing: {', '.join(facts.missing_roles)}; only the schema's owner can work until "
        "an administrator creates them and `fairlead migrate` has run again",
        wrong=bool(facts.missing_roles),
        fine="every role exists",
    )


def _work(facts: Facts) -> Iterable[Finding]:
    yield _one(
        "scheduler",
        "warning",
        "no scheduler leads, so nothing is dispatched: start `fairlead scheduler`",
        wrong=not facts.is_led,
        fine="a scheduler leads",
    )
    yield _one(
        "workers",
        "warning",
        "no worker lives, so nothing runs: start `fairlead worker`",
        wrong=facts.workers == 0,
        fine=f"{facts.workers} workers live",
    )
    unknown = sorted(set(facts.timezones) - available_timezones())
    yield _one(
        "schedules",
        "error",
        f"schedules name time zones that this machine does not know: {', '.join(unknown)}; "
        "give IANA names, or install tzdata",
        wrong=bool(unknown),
        fine=f"{len(facts.timezones)} time zones of schedules are known",
    )
    yield _one(
        "backlog",
        "warning",
        "at their backlog limit, so their new jobs are refused: "
        f"{', '.join(facts.over_backlog)}; add workers, or raise backlog.limit in the policy",
        wrong=bool(facts.over_backlog),
        fine="no backlog is at its limit",
    )
    for problem in facts.broken_schedules:
        yield Finding("error", "schedules", f"a schedule cannot fire: {problem}")
