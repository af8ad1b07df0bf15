"""An upgrade stops nobody: it gives a lock up soon, lets others go first and tries again."""

from collections.abc import Callable
from functools import partial
from threading import Event
from time import monotonic

import psycopg
import pytest

from fairlead.db import migrate as migrating
from fairlead.db.lock_retry import TablesLocked
from fairlead.db.migrate import Migration, migrate, migrations, schema_state
from tests.conftest import Background, Connect
from tests.integration.conftest import Fairlead
from tests.support.delays import delays
from tests.support.race import (
    Database,
    claim,
    dispatch,
    insert,
    insert_one,
    leading,
    register,
)
from tests.support.waiting import until

SLOWEST_SECONDS = 0.3
"""The longest that an INSERT, a claim or a renewal may take beside an upgrade."""
_LATER = """
    ALTER TABLE fairlead.worker_leases ADD COLUMN later integer;
    ALTER TABLE fairlead.jobs ADD COLUMN later integer;
"""
_RENEWAL = "SELECT FROM fairlead.renew_worker(%s, 3600, 100, '{}', '{}', 0, '{}', NULL)"
_SETTLED = """
    SELECT FROM fairlead.worker_leases, fairlead.work_queue, fairlead.job_history,
        fairlead.job_status, fairlead.tenant_stats, fairlead.tenant_shares,
        fairlead.queue_stats, fairlead.workers
"""


def slowest_of(call: Callable[[], object], stop: Event) -> float:
    """Repeat a call until asked to stop; return how many seconds the slowest one took."""
    slowest = 0.0
    while not stop.wait(0.002):
        began = monotonic()
        call()
        slowest = max(slowest, monotonic() - began)
    return slowest


def upgrade_to_come(monkeypatch: pytest.MonkeyPatch) -> Migration:
    """Have a newer version, which alters two tables that everybody uses."""
    known = migrations()
    later = Migration(known[-1].version + 1, "9999_expand_later", 1, _LATER)
    monkeypatch.setattr(migrating, "migrations", lambda: (*known, later))
    return later


@pytest.mark.parametrize(
    "held",
    [
        pytest.param("INSERT INTO fairlead.jobs (kind) VALUES ('held')", id="open-transaction"),
        pytest.param("SELECT FROM fairlead.worker_leases", id="reader-of-worker-leases"),
    ],
)
def test_an_upgrade_delays_nobody_for_longer_than_it_waits_for_a_lock(
    db: Database,
    connect: Connect,
    background: Background,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    held: str,
) -> None:
    """It is tried again and again behind an open transaction, and runs once that has ended."""
    later, said = upgrade_to_come(monkeypatch), list[str]()
    worker = register(db)
    dispatch(db, insert(db, count=200), epoch=leading(db))
    inserting, claiming, renewing, asked = connect(), connect(), connect(), connect()
    installer, holder = connect(), connect(autocommit=False)
    for session in (inserting, claiming, renewing, installer):
        session.execute("SET deadlock_timeout = '1s'")  # PostgreSQL's default, not the tests'
    calls: dict[str, Callable[[], object]] = {
        "insert": partial(insert_one, inserting),
        "claim": partial(claim, claiming, worker, limit=1),
        "renewal": partial(renewing.execute, _RENEWAL, [worker]),
    }
    holder.execute(held.encode())
    stop = Event()
    with delays(asked) as machine:
        measured = {
            name: background(partial(slowest_of, call, stop)) for name, call in calls.items()
        }
        try:
            ran = background(partial(migrate, installer, waiting=said.append))
            until(lambda: len(said) >= 4, what="four tries", seconds=30)
            holder.rollback()
            assert (later.name,) == ran.result(30)
        finally:
            holder.rollback()
            stop.set()
        slowest = {name: future.result(30) for name, future in measured.items()}

    assert f"{later.name} waits for the transaction of {holder.info.backend_pid} (" in said[0]
    for name, took in slowest.items():
        record_property(f"slowest {name} in ms", round(1000 * took))
    bound = SLOWEST_SECONDS + machine()
    assert {} == {name: took for name, took in slowest.items() if took > bound}


def test_an_upgrade_without_its_locks_changes_nothing_and_says_who_holds_them(
    db: Database, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody may then end that session, or run it again."""
    before = schema_state(db).version
    upgrade_to_come(monkeypatch)
    holder = connect(autocommit=False)
    holder.execute("SELECT FROM fairlead.jobs")

    with pytest.raises(TablesLocked, match=rf"transaction of {holder.info.backend_pid} \("):
        migrate(db, limit_seconds=0.3)

    assert before == schema_state(db).version
    with pytest.raises(psycopg.errors.UndefinedColumn):
        db.execute("SELECT later FROM fairlead.worker_leases")
    holder.rollback()
    assert ("9999_expand_later",) == migrate(db)


def test_an_installer_waits_for_another_one_for_a_bounded_time(
    db: Database, connect: Connect
) -> None:
    """One that hangs, or was left in a transaction, is named."""
    another = connect(autocommit=False)
    another.execute("LOCK TABLE fairlead.schema_versions IN SHARE ROW EXCLUSIVE MODE")
    db.execute("SET statement_timeout = '5s'")

    with pytest.raises(TablesLocked, match=rf"transaction of {another.info.backend_pid} \("):
        migrate(db, limit_seconds=0.3)


def test_the_command_says_so_in_one_sentence(
    db: Database,
    connect: Connect,
    fairlead: Fairlead,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It exits with 2, and has said meanwhile what it waits for."""
    another = connect(autocommit=False)
    another.execute("LOCK TABLE fairlead.schema_versions IN SHARE ROW EXCLUSIVE MODE")
    monkeypatch.setattr(migrating, "migrate", partial(migrate, limit_seconds=0.5))

    said = fairlead("migrate", code=2).splitlines()

    pid = another.info.backend_pid
    assert 2 == len(said)
    assert said[0].startswith("fairlead: the table of versions waits for the transaction of ")
    assert f"in its way is the transaction of {pid} (" in said[1]
    assert "run `fairlead migrate` again" in said[1]
    another.rollback()
    db.execute("SELECT FROM fairlead.schema_versions")


@pytest.mark.parametrize("rls", [False, True])
def test_a_repeat_waits_for_nobody(db: Database, connect: Connect, *, rls: bool) -> None:
    """What is as wanted already is not altered, whoever reads or writes it."""
    migrate(db, rls=rls)
    holder, said = connect(autocommit=False), list[str]()
    holder.execute("INSERT INTO fairlead.jobs (kind) VALUES ('held')")
    holder.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('held', '* * * * *', 'k')"
    )
    holder.execute(_SETTLED)
    db.execute("SET statement_timeout = '5s'")

    assert () == migrate(db, rls=rls, limit_seconds=1.0, waiting=said.append)

    assert [] == said


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            "CREATE OR REPLACE VIEW fairlead._lanes AS"
            " SELECT queue, tenant, created_at AS oldest_pending_at FROM fairlead.jobs",
            id="definition",
        ),
        pytest.param("ALTER VIEW fairlead.job_status RESET (security_barrier)", id="options"),
        pytest.param("DROP VIEW fairlead.workers", id="gone"),
    ],
)
def test_a_view_that_differs_is_replaced(db: Database, change: str) -> None:
    """By hand, or by an earlier version."""
    views = (
        "SELECT relname, reloptions, pg_get_viewdef(oid) FROM pg_class"
        " WHERE relkind = 'v' AND relnamespace = 'fairlead'::regnamespace ORDER BY relname"
    )
    before = db.execute(views).fetchall()
    db.execute(change.encode())
    assert before != db.execute(views).fetchall()

    migrate(db)

    assert before == db.execute(views).fetchall()
