"""What one tenant's login does at its worst for minutes, beside nine quiet tenants.

The login may enqueue and no more. It floods with inserts, schedules, cancels, notifications and
rows that are refused, holds locks, and keeps transactions open, each in a session of
its own and at a pace that leaves processors to the others: no database can prevent that a login
computes. It has a backlog of plain jobs from the start; without the attack it has that alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.context import say
from bench.fairness.postgres import fleet, replay
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.server import Server
from fairlead_scheduler.simulation.trace import Arrival

_LOGIN = "soak_attacker"
_TENANTS = 9
_JOB_US = 50_000
_JOIN_SECONDS = 60.0
_HELD_SECONDS = 20.0
_BACKLOG = b"""
insert into fairlead.jobs (queue, tenant, kind, payload)
select 'q', 'attacker', 'plain', '{"seconds": 0.2}' from generate_series(1, %s)
"""
_SESSIONS = b"""
select pid, backend_start from pg_stat_activity
where datname = current_database() and application_name like 'fairlead %'
"""
_LOOK_US = 500_000
_EPOCHS = b"""
select coalesce(max(epoch), 0), (select count(*) from fairlead.workers)
from fairlead.leaders where role = 'scheduler'
"""


@dataclass(frozen=True, slots=True)
class _Attack:
    """What one session repeats."""

    a_second: float
    """How many repeats."""
    script: str
    """Statements that end with semicolons."""
    holds: bool = False
    """Whether each repeat is a transaction that stays open for a while."""

    @property
    def statements(self) -> list[bytes]:
        """Return the statements of the script."""
        return [each.encode() for each in self.script.split(";") if each.strip()]


ATTACKS = {
    "inserts in batches": _Attack(
        1,
        """
        insert into fairlead.jobs (queue, tenant, kind, payload)
        select 'q', 'attacker', 'plain', '{"seconds": 0.2}' from generate_series(1, 500);
        """,
    ),
    "single inserts": _Attack(
        50, "insert into fairlead.jobs (queue, tenant, kind) values ('q', 'attacker', 'empty');"
    ),
    "fresh queues": _Attack(
        2,
        """
        insert into fairlead.jobs (queue, tenant, kind)
        select md5(random()::text), 'attacker', 'empty' from generate_series(1, 10);
        """,
    ),
    "schedules": _Attack(
        1,
        """
        insert into fairlead.schedules (tenant, name, queue, kind, cron)
        select 'attacker', md5(random()::text), 'q', 'empty', '* * * * * *'
        from generate_series(1, 20);
        """,
    ),
    "cancels": _Attack(
        20,
        """
        insert into fairlead.jobs (queue, tenant, kind) values ('q', 'attacker', 'empty');
        select fairlead.cancel((random() * 100000)::bigint);
        """,
    ),
    "notifications": _Attack(
        5,
        """
        select pg_notify('fairlead_scheduler', 'garbage ' || n) from generate_series(1, 20) n;
        select pg_notify('fairlead_work', 'garbage ' || n) from generate_series(1, 20) n;
        select pg_notify('fairlead_cancel', 'garbage ' || n) from generate_series(1, 20) n;
        """,
    ),
    "locks": _Attack(
        0.1,
        """
        select pg_advisory_lock(7165163640219131510);
        select pg_advisory_lock(7165163640219131512);
        lock table fairlead.jobs in access share mode;
        """,
        holds=True,
    ),
    "table locks": _Attack(
        0.1, "lock table fairlead.schedules in access exclusive mode;", holds=True
    ),
    "row locks": _Attack(
        0.1,
        """
        select from fairlead.schedules for update;
        select fairlead.cancel(id) from fairlead.job_status where tenant = 'attacker' limit 10;
        """,
        holds=True,
    ),
    "long transactions": _Attack(
        0.1,
        """
        insert into fairlead.jobs (queue, tenant, kind) values ('q', 'attacker', 'empty');
        select count(*) from fairlead.job_status where id = 1;
        """,
        holds=True,
    ),
    "bad rows": _Attack(
        2,
        """
        insert into fairlead.jobs (kind, run_at) values ('k', 'infinity');
        insert into fairlead.jobs (kind, cost_hint) values ('k', '178000000 years');
        insert into fairlead.jobs (kind, priority) values ('k', 32767);
        insert into fairlead.jobs (kind, payload)
        values ('k', (repeat('[', 5000) || repeat(']', 5000))::jsonb);
        insert into fairlead.jobs (kind, payload) values ('k', '1e131000');
        insert into fairlead.jobs (kind, tenant) values ('k', repeat('x', 10000));
        """,
    ),
}


def play(server: Server, workload: Workload, _trace: Sequence[Arrival], _seed: int) -> Found:
    """Play the nine quiet tenants without the attack, then with it."""
    without = _had(server, workload, attacked=False)
    say(f"  without: {without}")
    attacked = _had(server, workload, attacked=True)
    say(f"  attacked: {attacked}")
    return Found(
        rows={"without": without, "attacked": attacked},
        evaluated={
            "quiet_p99_over_without": attacked["quiet_p99_seconds"]
            / without["quiet_p99_seconds"],
            "leaders_lost": attacked["leaders_lost"],
            "workers_lost": attacked["workers_lost"],
            "sessions_lost": attacked["sessions_lost"],
        },
    )


def quiet(seconds: float) -> list[Arrival]:
    """Return the quiet tenants' jobs: each inserts one a second, in turn."""
    return [
        Arrival(round((second + tenant / _TENANTS) * 1e6), "q", f"quiet-{tenant}", _JOB_US)
        for second in range(int(seconds))
        for tenant in range(_TENANTS)
    ]


def _had(server: Server, workload: Workload, *, attacked: bool) -> Figures:
    """Return how long the quiet tenants waited, and what was lost."""
    jobs = quiet(workload.seconds)
    backlog = round(workload.seconds * workload.slots * 5)
    with fleet.database(server) as (connection, dsn):
        connection.execute(_BACKLOG, [backlog])
        with fleet.running(connection, dsn, slots=workload.slots) as own:
            epoch, workers = _lasting(connection)
            sessions = Sessions(connection)
            with _attacking(connection, dsn, attacked=attacked) as repeats:
                fleet.feed(connection, jobs, 0, workload.until_us, sessions.look)
            own.check()
            sessions_lost = sessions.lost()
            later_epoch, later_workers = _lasting(connection)
            say(f"  attempts: {repeats}")
            played = replay.read(connection, own.begun_us, jobs, workload.until_us)
    waits = [
        ((workload.until_us if claimed_us is None else claimed_us) - job.at_us) / 1e6
        for job, claimed_us, _ in played
    ]
    return {
        "quiet_p50_seconds": percentile(waits, 0.5),
        "quiet_p99_seconds": percentile(waits, 0.99),
        "leaders_lost": float(later_epoch - epoch),
        "workers_lost": float(abs(later_workers - workers)),
        "sessions_lost": float(sessions_lost),
        "attempts": float(sum(repeats.values())),
    }


class Sessions:
    """Counts the sessions of the services, of a worker's children too, that ended meanwhile.

    Which one has come in the place of another shows in `pg_stat_activity` alone: a child whose
    session is lost opens another, and its process, its worker and the leader go on.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._due_us = 0.0
        self._seen = self._there()

    def look(self, now_us: float) -> None:
        """Note those that there are, twice a second."""
        if now_us >= self._due_us:
            self._due_us = now_us + _LOOK_US
            self._seen |= self._there()

    def lost(self) -> int:
        """Return how many of those that were seen are no more."""
        return len(self._seen - self._there())

    def _there(self) -> set[tuple[object, ...]]:
        return set(self._connection.execute(_SESSIONS).fetchall())


def _lasting(connection: psycopg.Connection) -> tuple[int, int]:
    """Return the leader's epoch and the number of worker processes that ever registered."""
    epoch, workers = fleet.one(connection, _EPOCHS)
    return int(str(epoch)), int(str(workers))


@contextmanager
def _attacking(
    connection: psycopg.Connection, dsn: str, *, attacked: bool
) -> Generator[dict[str, int]]:
    """Let a login do its worst; yield how often it tried each thing."""
    repeats: dict[str, int] = {}
    if not attacked:
        yield repeats
        return
    connection.execute(
        sql.SQL("create role {} login in role fairlead_enqueue").format(sql.Identifier(_LOGIN))
    )
    stop, url = threading.Event(), make_conninfo(dsn, user=_LOGIN)
    threads = [
        threading.Thread(target=_repeat(name, attack, url, stop, repeats), daemon=True)
        for name, attack in ATTACKS.items()
    ]
    for thread in threads:
        thread.start()
    try:
        yield repeats
    finally:
        stop.set()
        for thread in threads:
            thread.join(_JOIN_SECONDS)
        connection.execute(
            sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(_LOGIN))
        )


def _repeat(
    name: str, attack: _Attack, url: str, stop: threading.Event, repeats: dict[str, int]
) -> Callable[[], None]:
    """Return what a session's thread does; neither a refusal nor a lost session ends it."""

    def run() -> None:
        due = time.monotonic()
        while not stop.is_set():
            with suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
                while not stop.is_set() and not connection.closed:
                    _try(connection, attack, stop)
                    repeats[name] = repeats.get(name, 0) + 1
                    due = max(due + 1 / attack.a_second, time.monotonic())
                    stop.wait(due - time.monotonic())
            stop.wait(1 / attack.a_second)

    return run


def _try(connection: psycopg.Connection, attack: _Attack, stop: threading.Event) -> None:
    """Send the statements, each for itself or all in a transaction that stays open."""
    if attack.holds:
        connection.execute("begin")
    for statement in attack.statements:
        # Being refused is the expected answer, and a lost session is opened again.
        with suppress(psycopg.Error):
            connection.execute(statement)
    if attack.holds and not connection.closed:
        stop.wait(_HELD_SECONDS)
        connection.execute("rollback")
        connection.execute("select pg_advisory_unlock_all()")
