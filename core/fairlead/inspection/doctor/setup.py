"""What `fairlead doctor --setup` makes of the facts: is this database set up right? Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from zoneinfo import available_timezones

from fairlead.db.connect import SERVER_LOWEST
from fairlead.inspection.doctor.facts import Facts, ServerFacts, SetupFacts, Transport
from fairlead.inspection.doctor.server import clock_skew

CLOCK_SKEW_MAX = timedelta(seconds=5)
CONNECTIONS_OF_A_WORKER = 3  # the parent's, and two of one child
CONNECTIONS_OF_THE_REST = 16  # two schedulers with seven each, and a person or two

_VERIFYING = frozenset({"verify-ca", "verify-full"})
"""Values of sslmode that check who answers; the others take any certificate."""

Severity = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """One thing that was checked: that it is right, or what is wrong and what to do."""

    severity: Severity
    subject: str
    sentence: str


def check_setup(facts: Facts, setup: SetupFacts) -> tuple[SetupCheck, ...]:
    """Return the checks, one or more of every subject."""
    return (
        *_server(facts.server),
        *_transport(facts.transport),
        *_load(facts),
        *_history(facts.history_days_ahead, setup),
        *_work(facts, setup),
    )


def _one(
    subject: str, severity: Severity, sentence: str, *, wrong: bool, fine: str
) -> SetupCheck:
    if wrong:
        return SetupCheck(severity, subject, sentence)
    return SetupCheck("ok", subject, fine)


def _server(server: ServerFacts) -> Iterable[SetupCheck]:
    yield _one(
        "server",
        "error",
        f"PostgreSQL {server.version_name} is too old: upgrade it to {SERVER_LOWEST} or newer",
        wrong=server.version < SERVER_LOWEST * 10_000,
        fine=f"PostgreSQL {server.version_name}, time zone {server.timezone}",
    )
    yield _one(
        "writable",
        "error",
        "the database is read only: connect to the primary",
        wrong=server.read_only,
        fine="the database can be written",
    )
    yield _one(
        "encoding",
        "error",
        f"the database's encoding is {server.encoding}, and JSON needs UTF8: create it anew",
        wrong=server.encoding != "UTF8",
        fine="the encoding is UTF8",
    )
    yield _one(
        "isolation",
        "warning",
        f"default_transaction_isolation is '{server.isolation}', and applications can call "
        "cancel, retry and fail only in transactions that are begun as READ COMMITTED",
        wrong=server.isolation != "read committed",
        fine="transactions are read committed",
    )


def _transport(found: Transport | None) -> Iterable[SetupCheck]:
    if found is None:
        return
    verified = found.encrypted and found.sslmode in _VERIFYING
    risk = (
        "nothing checks that it is the database that answers"
        if found.encrypted
        else "passwords and payloads can be read on the way"
    )
    yield _one(
        "tls",
        "warning",
        f"the connection to {found.host} is {'' if found.encrypted else 'not '}encrypted, with "
        f"sslmode={found.sslmode}, and {risk}: set sslmode=verify-full and sslrootcert in the "
        "URL of every program",
        wrong=not (found.local or verified),
        fine="the connection stays on this machine"
        if found.local
        else f"the connection to {found.host} is encrypted and verified",
    )


def _load(facts: Facts) -> Iterable[SetupCheck]:
    server, taken = facts.server, facts.connections
    need = facts.live_workers * CONNECTIONS_OF_A_WORKER + CONNECTIONS_OF_THE_REST
    yield _one(
        "connections",
        "warning",
        f"{taken} of {server.connections_max} connections are taken and the fleet needs "
        f"{need}: raise max_connections",
        wrong=max(need, taken) > server.connections_max * 0.9,
        fine=f"{taken} of {server.connections_max} connections are taken",
    )
    skew = abs(clock_skew(facts.clocks))
    yield _one(
        "clock",
        "warning",
        f"this machine's clock is {skew.total_seconds():.0f} s off the database's, which "
        "decides: set the clock",
        wrong=skew > CLOCK_SKEW_MAX,
        fine="the clocks agree",
    )
    yield from _durability(server)
    yield _one(
        "autovacuum",
        "error",
        "autovacuum or track_counts is off: dead rows pile up; turn both on",
        wrong=not (server.autovacuum and server.track_counts),
        fine="autovacuum is on",
    )


def _durability(server: ServerFacts) -> Iterable[SetupCheck]:
    yield _one(
        "durability",
        "error",
        "fsync is off: a crash of the machine can destroy the whole database; turn it on",
        wrong=not server.fsync,
        fine="fsync is on",
    )
    yield _one(
        "durability",
        "warning",
        "synchronous_commit is off: a crash of the server can lose jobs whose INSERT was "
        "answered; turn it on",
        wrong=server.synchronous_commit == "off",
        fine=f"synchronous_commit is {server.synchronous_commit}",
    )


def _history(days_ahead: int | None, setup: SetupFacts) -> Iterable[SetupCheck]:
    days = -1 if days_ahead is None else days_ahead
    yield _one(
        "history",
        "warning",
        f"history partitions reach {max(days, 0)} days ahead, and endings of a day without one "
        "go to a default one: run `fairlead migrate`, and see that the scheduler may make them",
        wrong=days < 7,
        fine=f"history partitions reach {days} days ahead",
    )
    yield _one(
        "history owner",
        "warning",
        f"the history belongs to {setup.history_owner} and not to {setup.schema_owner}, the "
        "schema's owner: let an administrator run `fairlead migrate`",
        wrong=setup.history_owner != setup.schema_owner,
        fine=f"the history belongs to {setup.history_owner}",
    )
    yield _one(
        "roles",
        "warning",
        f"missing: {', '.join(setup.missing_roles)}; logins that need one cannot work until an "
        "administrator creates it and `fairlead migrate` has run again",
        wrong=bool(setup.missing_roles),
        fine="every role exists",
    )


def _work(facts: Facts, setup: SetupFacts) -> Iterable[SetupCheck]:
    yield _one(
        "scheduler",
        "warning",
        "no scheduler leads, so nothing is dispatched: start `fairlead scheduler`",
        wrong=facts.lead is None or not facts.lead.held,
        fine="a scheduler leads",
    )
    yield _one(
        "workers",
        "warning",
        "no worker is alive, so nothing runs: start `fairlead worker`",
        wrong=facts.live_workers == 0,
        fine=f"live workers: {facts.live_workers}",
    )
    unknown = sorted(set(setup.timezones) - available_timezones())
    yield _one(
        "schedules",
        "error",
        f"schedules name time zones that this machine does not know: {', '.join(unknown)}; "
        "give IANA names, or install tzdata",
        wrong=bool(unknown),
        fine=f"{len(setup.timezones)} time zones of schedules are known",
    )
    yield _one(
        "backlog",
        "warning",
        "at their backlog limit, so their new jobs are refused: "
        f"{', '.join(setup.over_backlog)}; add workers, or raise backlog.limit in the policy",
        wrong=bool(setup.over_backlog),
        fine="no backlog is at its limit",
    )
    for problem in setup.broken_schedules:
        yield SetupCheck("error", "schedules", f"a schedule cannot fire: {problem}")
