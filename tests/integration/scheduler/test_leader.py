"""One scheduler leads; another takes over at once when it leaves, and soon when it dies."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from time import monotonic

import psycopg
import pytest

from fairlead.db.connect import Connection
from fairlead.db.connect import connect as open_session
from fairlead_cli.dev.postgres import Server
from fairlead_scheduler.leadership.election import LeaderLease, acquire
from fairlead_scheduler.leadership.sessions import connect_loop
from fairlead_scheduler.loop.store import LoopStore
from fairlead_scheduler.rows import ReadRequest
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.race import (
    Database,
    claim,
    finish,
    insert,
    insert_one,
    leading,
    places,
    register,
)
from tests.support.schedulers import depose, leader, led, scheduler_process, scheduling
from tests.support.waiting import until


class Candidates:
    """Processes that would lead, each with a session of its own."""

    def __init__(self, url: str, opened: ExitStack) -> None:
        self._url = url
        self._opened = opened

    def session(self, settings: SchedulerSettings) -> Connection:
        """Open one session, which is closed when the test ends."""
        return self._opened.enter_context(closing(open_session(settings, name="test")))

    def settings(self, **given: object) -> SchedulerSettings:
        """Return settings for the test's database."""
        return SchedulerSettings.model_validate({"database_url": self._url, **given})

    def try_to_lead(self, holder: str, **given: object) -> LeaderLease | None:
        """Acquire the lease, if no candidate leads."""
        settings = self.settings(**given)
        return acquire(self.session(settings), settings, holder=holder)

    def lead(self, holder: str, **given: object) -> LeaderLease:
        """Acquire the lease, while no candidate leads."""
        lead = self.try_to_lead(holder, **given)
        assert lead is not None
        return lead


@pytest.fixture
def candidates(database_url: str) -> Iterator[Candidates]:
    """Yield who would lead."""
    with ExitStack() as opened:
        yield Candidates(database_url, opened)


def test_one_leads_and_the_next_waits_for_its_lease(candidates: Candidates) -> None:
    """No candidate takes over while a lease is in force; every take-over raises the epoch."""
    first = candidates.lead("first")
    assert candidates.try_to_lead("second") is None

    first.release()

    assert first.epoch + 1 == candidates.lead("second").epoch


def test_a_process_follows_itself_at_once(candidates: Candidates) -> None:
    """A process whose session was cut need not wait for its own lease to lapse."""
    first = candidates.lead("me")

    assert first.epoch + 1 == candidates.lead("me").epoch


def test_a_release_after_a_take_over_changes_nothing(
    candidates: Candidates, db: Database
) -> None:
    """A deposed leader's release is not its successor's."""
    first = candidates.lead("first")
    depose(db)
    second = candidates.lead("second")

    first.release()
    first.release()

    assert second.epoch == leader(db)


def test_a_deposed_leader_learns_it_at_its_next_renewal(
    candidates: Candidates, db: Database
) -> None:
    """A renewal under an old epoch renews nothing and ends the term."""
    lead = candidates.lead("first")
    assert lead.is_trusted
    depose(db)

    lead.renew()

    assert (False, "another scheduler leads") == (lead.is_trusted, lead.reason)


def test_a_leader_that_cannot_renew_stops_before_its_lease_ends(
    candidates: Candidates, connect: Connect
) -> None:
    """Trust lasts until the last renewal began, plus the lease, minus the margin."""
    lead = candidates.lead("first", lease_seconds=1, renew_seconds=0.2, margin_seconds=0.3)
    blocker = connect(autocommit=False)
    blocker.execute("SELECT FROM fairlead.leaders WHERE role = 'scheduler' FOR UPDATE")
    ended = threading.Event()
    lead.keep_renewing(ended.set)

    until(lambda: not lead.is_trusted, what="the end of trust")

    row = blocker.execute(
        "SELECT lease_until > clock_timestamp() FROM fairlead.leaders WHERE role = 'scheduler'"
    ).fetchone()
    assert (True,) == row
    blocker.rollback()
    lead.release()
    assert ended.wait(10)


def test_a_renewal_waits_for_no_statement_of_its_leader(
    candidates: Candidates, db: Database, connect: Connect
) -> None:
    """One that took a lease's time cost the term; another's take-over waits until it ends."""
    lease = candidates.lead("first")
    statement, renewal = connect(autocommit=False), connect()
    renewal.execute("SET lock_timeout = '1s'")
    assert (True,) == statement.execute("SELECT fairlead._leads(%s)", [lease.epoch]).fetchone()

    renewed = renewal.execute("SELECT fairlead._renew_leadership(%s, 5)", [lease.epoch])
    assert (lease.epoch,) == renewed.fetchone()

    db.execute("UPDATE fairlead.leaders SET lease_until = now() - interval '1 s'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        renewal.execute("SELECT * FROM fairlead._acquire_leadership('other', 5, '')")
    statement.commit()
    taken = renewal.execute("SELECT epoch FROM fairlead._acquire_leadership('other', 5, '')")
    assert taken.fetchone() != (None,)


def test_a_statement_waits_for_a_take_over_and_then_changes_nothing(
    candidates: Candidates, db: Database, connect: Connect
) -> None:
    """It neither passes by a take-over that has not committed, nor counts as the leader's."""
    lease = candidates.lead("first")
    db.execute("UPDATE fairlead.leaders SET lease_until = now() - interval '1 s'")
    take_over, statement = connect(autocommit=False), connect()
    take_over.execute("SELECT * FROM fairlead._acquire_leadership('other', 5, '')")

    statement.execute("SET lock_timeout = '100 ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        statement.execute("SELECT fairlead._leads(%s)", [lease.epoch])
    take_over.commit()

    assert (False,) == statement.execute("SELECT fairlead._leads(%s)", [lease.epoch]).fetchone()


def test_a_zombies_plan_changes_nothing(candidates: Candidates, db: Database) -> None:
    """A dispatch under an old epoch inserts no row, moves no floor and takes no receipt."""
    settings, epoch = candidates.settings(), candidates.lead("first").epoch
    job = insert_one(db)
    db.execute("INSERT INTO fairlead.receipts (worker, claimed) VALUES (1, '{1}')")
    zombie = LoopStore(candidates.session(settings), settings, epoch=epoch)
    depose(db)

    taken = zombie.dispatch([(job, 7, 1000, None)], 7)
    view = zombie.observe(ReadRequest(last_id=0, after_receipt=0))

    assert (set(), []) == (taken, view.receipts)
    assert ("pending",) == places(db, job)
    assert (0,) == db.execute("SELECT vtag FROM fairlead.claim_floors").fetchone()
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.receipts").fetchone()


def wanted(db: Database) -> tuple[bool, ...] | None:
    """Return whether INSERTs notify, and whether endings do."""
    return db.execute(
        "SELECT pg_sequence_last_value('fairlead.inserts_notify') IS NOT NULL,"
        " pg_sequence_last_value('fairlead.endings_notify') IS NOT NULL"
    ).fetchone()


def test_a_new_leader_begins_without_notifications_and_a_zombie_switches_none(
    candidates: Candidates, db: Database
) -> None:
    """A leader that died asleep has left them on."""
    settings, epoch = candidates.settings(), candidates.lead("first").epoch
    zombie = LoopStore(candidates.session(settings), settings, epoch=epoch)
    zombie.notify_inserts(wanted=True)
    zombie.notify_endings(wanted=True)
    assert (True, True) == wanted(db)
    depose(db)

    successor = candidates.lead("second")
    assert (False, False) == wanted(db)
    zombie.notify_inserts(wanted=True)
    zombie.notify_endings(wanted=True)
    assert (False, False) == wanted(db)

    leading = LoopStore(candidates.session(settings), settings, epoch=successor.epoch)
    leading.notify_inserts(wanted=True)
    zombie.notify_inserts(wanted=False)
    assert (True, False) == wanted(db)


def test_a_leader_that_stops_leaves_no_notifications(
    candidates: Candidates, db: Database
) -> None:
    """Nobody would hear them."""
    settings, lease = candidates.settings(), candidates.lead("first")
    store = LoopStore(candidates.session(settings), settings, epoch=lease.epoch)
    store.notify_inserts(wanted=True)

    lease.release()

    assert (False, False) == wanted(db)


def test_a_leader_that_outlives_a_crash_of_the_server_reads_on(own_server: Server) -> None:
    """A pooler may have kept its sessions: receipts come above the last one it took."""
    settings = SchedulerSettings(database_url=own_server.url)
    with psycopg.connect(own_server.url, autocommit=True) as before:
        row = before.execute(
            "WITH said AS (INSERT INTO fairlead.receipts (worker, claimed)"
            " SELECT 1, '{1}' FROM generate_series(1, 100) RETURNING id)"
            " SELECT max(id) FROM said"
        ).fetchone()
        assert row is not None
    own_server.kill()
    own_server.start()

    with (
        psycopg.connect(own_server.url, autocommit=True) as after,
        closing(connect_loop(settings, name="loop")) as session,
    ):
        after.execute("INSERT INTO fairlead.receipts (worker, claimed) VALUES (1, '{2}')")
        store = LoopStore(session, settings, epoch=leading(after))
        view = store.observe(ReadRequest(last_id=0, after_receipt=row[0]))

    assert [[2]] == [each.claimed for each in view.receipts]


def test_a_graceful_hand_over_is_at_once(database_url: str, db: Database) -> None:
    """A leader that stops releases its lease, and the standby is notified."""
    with scheduling(database_url) as first:
        epoch = led(db)
        with scheduling(database_url) as second:
            until(second.scheduler.ready.is_set, what="the standby being ready")
            began = monotonic()
            first.stop()

            led(db, after=epoch)
            assert monotonic() - began < 2  # far less than the lease of 3 s


def test_a_leader_takes_over_anew_when_its_server_was_promoted(
    database_url: str, db: Database
) -> None:
    """Where it loses no session, as behind a pooler: its memory may be ahead of the server."""
    with scheduling(database_url):
        epoch = led(db)
        db.execute("UPDATE fairlead.leaders SET timeline = 0")

        assert epoch + 1_000_000_000_000 < led(db, after=epoch)
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")


def test_a_killed_leader_is_followed_within_its_lease(database_url: str, db: Database) -> None:
    """A crash stops dispatch for the lease and about a second."""
    with scheduler_process(database_url) as first:
        epoch = led(db)
        with scheduling(database_url) as second:
            until(second.scheduler.ready.is_set, what="the standby being ready")
            first.kill()
            first.wait()
            began = monotonic()

            led(db, after=epoch)
            job = insert_one(db)
            until(lambda: places(db, job) == ("queued",), what="a dispatch")
            assert monotonic() - began < 8  # 4 s, and room for a slow machine


def test_a_frozen_leader_does_nothing_when_it_wakes(database_url: str, db: Database) -> None:
    """A leader that slept past its lease finds that another leads, and stands by."""
    with scheduler_process(
        database_url, lease_seconds=1, renew_seconds=0.2, margin_seconds=0.2
    ) as first:
        epoch = led(db)
        first.send_signal(signal.SIGSTOP)
        with scheduling(database_url, lease_seconds=1, renew_seconds=0.2, margin_seconds=0.2):
            second = led(db, after=epoch)
            first.send_signal(signal.SIGCONT)
            jobs = insert(db, count=10)
            until(
                lambda: all(places(db, job) == ("queued",) for job in jobs[:8]),
                what="a dispatch",
            )

            epochs = db.execute("SELECT DISTINCT epoch FROM fairlead.work_queue").fetchall()
            assert [(second,)] == epochs
            assert second == leader(db)


def test_two_leaders_dispatch_nothing_twice(database_url: str, db: Database) -> None:
    """The lead changes hands all the time, and every job is run once."""
    worker, total = register(db), 400
    ended: list[int] = []
    with scheduling(database_url), scheduling(database_url):
        inserted = 0

        def worked() -> bool:
            nonlocal inserted
            if inserted < total:
                insert(db, count=20)
                inserted += 20
                depose(db)
            ended.extend(finish(db, claim(db, worker, limit=50, below_floor=True)))
            return len(ended) >= total

        until(worked, what="every job ending", seconds=60)
    endings = db.execute(
        "SELECT count(*), count(DISTINCT id) FROM fairlead.job_history"
    ).fetchone()
    assert (total, total) == endings
    assert total == len(set(ended))


# The session for upkeep rests for minutes: that it was cut shows when it is used again.
@pytest.mark.parametrize("name", ["lead", "loop", "sweeps", "scans"])
def test_a_cut_session_ends_the_term_and_the_next_begins_at_once(
    database_url: str, db: Database, name: str
) -> None:
    """Whatever busy session is lost, the scheduler leads again soon, by a new epoch."""
    with scheduling(database_url):
        epoch = led(db)

        def cut() -> bool:
            row = db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND datname = current_database()",
                [f"fairlead scheduler {name}"],
            ).fetchone()
            return row is not None

        until(cut, what=f"the session {name}")

        led(db, after=epoch)
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")


def test_a_leader_that_is_asked_to_stop_exits_with_0(database_url: str, db: Database) -> None:
    """SIGTERM releases the lead at once."""
    with scheduler_process(database_url) as process:
        epoch = led(db)
        os.kill(process.pid, signal.SIGTERM)

        assert 0 == process.wait(10)
        assert (epoch, None) == (_epoch(db), leader(db))


def _epoch(db: psycopg.Connection[tuple[object, ...]]) -> object:
    row = db.execute("SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'").fetchone()
    return row[0] if row else None
