"""Insert the observed fleet's jobs until SIGTERM: noisy tenants, quiet ones, and failures.

The noisy tenants come and go, so that workers do, too. While the database is unreachable it
retries.
"""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg

import fairlead
from fairlead.db.connect import Connection, Unreachable, connect
from fairlead.db.statements import load
from fairlead.service import stopping
from fairlead.settings import DatabaseSettings
from tests.support.observed.schedule import NOISY, QUIET, is_high

STEP_SECONDS = 0.5
_NOISY_JOBS = 100
"""Jobs of each noisy tenant that wait while it floods: some ten seconds of work."""
_RARELY_STEPS = 20
_CROWD_JOBS = 40
_SECONDS_TO_EXPIRE = 1.0


def main() -> None:
    """Insert until asked to stop."""
    stop = threading.Event()
    with stopping(stop=stop, again=threading.Event()):
        step = 0
        while not stop.is_set():
            try:
                with connect(DatabaseSettings(), name="observed load") as connection:
                    connection.execute(load("tests.support.observed", "schedule"))
                    while not stop.wait(STEP_SECONDS):
                        insert(connection, step)
                        step += 1
            except (Unreachable, psycopg.OperationalError):
                stop.wait(STEP_SECONDS)


def insert(connection: Connection, step: int) -> None:
    """Insert one step's jobs; steps are counted from 0."""
    fairlead.enqueue_many(connection, quiet_jobs(step, datetime.now(UTC)))
    if is_high(step * STEP_SECONDS):
        flood = {"tenants": list(NOISY), "jobs": _NOISY_JOBS}
        connection.execute(load("tests.support.observed", "flood"), flood)
    if step % _RARELY_STEPS == 0:
        crowd(connection)


def quiet_jobs(step: int, now: datetime) -> Iterator[fairlead.NewJob]:
    """Yield one step's jobs of the quiet tenants."""
    tenant = QUIET[step % len(QUIET)]
    account: dict[str, fairlead.Json] = {"account": f"{tenant}-{step % 2}"}
    yield fairlead.NewJob(kind="send", queue="mail", tenant=tenant)
    yield fairlead.NewJob(kind="resize", queue="images", tenant=tenant)
    yield fairlead.NewJob(kind="call", queue="calls", tenant=tenant, max_attempts=3)
    soon = now + timedelta(seconds=2)
    yield fairlead.NewJob(kind="send", queue="mail", tenant=tenant, priority=50, run_at=soon)
    if step % 2 == 0:
        yield fairlead.NewJob(kind="await", queue="calls", tenant=tenant)
    if step % 4 == 0:
        yield fairlead.NewJob(kind="report", payload=account, queue="reports", tenant=tenant)
    if step % _RARELY_STEPS == 5:
        yield fairlead.NewJob(kind="hang", queue="calls", tenant=tenant, max_attempts=1)
        until = now + timedelta(seconds=_SECONDS_TO_EXPIRE)
        yield fairlead.NewJob(
            kind="send", queue="mail", tenant=tenant, run_at=until, expires_at=until
        )
    if step % (2 * _RARELY_STEPS) == 10:
        yield fairlead.NewJob(kind="crash", queue="calls", tenant=tenant, max_attempts=1)


def crowd(connection: Connection) -> None:
    """Insert more than a tenant's backlog limit; refusals are expected."""
    later = datetime.now(UTC) + timedelta(seconds=15)
    crowded = [
        fairlead.NewJob(kind="tidy", queue="bulk", tenant="crowd", run_at=later)
        for _ in range(_CROWD_JOBS)
    ]
    try:
        fairlead.enqueue_many(connection, crowded)
    except fairlead.OverBacklog:
        return


if __name__ == "__main__":
    main()
