"""Schedulers for tests: a replica in a thread of this process, or as the pods' command."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.replica import Scheduler
from fairlead_scheduler.settings import SchedulerSettings
from tests.support.waiting import until

QUICK = {"worker_lease_seconds": 1.0, "scan_seconds": 1.0, "audit_seconds": 1.0}
"""Settings with which deaths, scans and audits come within a test's timeout."""


class Replica:
    """A scheduler in a thread."""

    def __init__(self, url: str, settings: dict[str, object]) -> None:
        self.metrics = Metrics()
        self._stop = threading.Event()
        self._wakeup = Wakeup()
        self.scheduler = Scheduler(
            SchedulerSettings.model_validate({"database_url": url, **QUICK, **settings}),
            stop=self._stop,
            wakeup=self._wakeup,
            metrics=self.metrics,
        )
        self._thread = threading.Thread(target=self.scheduler.serve, name="replica")
        self._thread.start()

    def stop(self) -> None:
        """Ask it to release the lead and return, and wait until it has."""
        if self._thread.is_alive():
            self._stop.set()
            self._wakeup.wake()
            self._thread.join()
            self._wakeup.close()


@contextmanager
def scheduling(url: str, **settings: object) -> Generator[Replica]:
    """Run a replica until the end of the block."""
    replica = Replica(url, settings)
    try:
        yield replica
    finally:
        replica.stop()


@contextmanager
def scheduler_process(url: str, **settings: object) -> Generator[subprocess.Popen[bytes]]:
    """Run the pods' command until the end of the block; it is killed if it runs then."""
    named = {f"FAIRLEAD_{name.upper()}": str(value) for name, value in settings.items()}
    process = subprocess.Popen(
        [sys.executable, "-m", "fairlead_scheduler.main"],
        env={**os.environ, "FAIRLEAD_DATABASE_URL": url, **named},
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.communicate()


def leader(db: Connection[TupleRow]) -> int | None:
    """Return the epoch of the scheduler whose lease is in force."""
    row = db.execute(
        "SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler' AND lease_until > now()"
    ).fetchone()
    return None if row is None else int(row[0])


def led(db: Connection[TupleRow], *, after: int = 0) -> int:
    """Wait until a scheduler leads under an epoch after this one; return its epoch."""

    def later() -> int | None:
        epoch = leader(db)
        return epoch if epoch is not None and epoch > after else None

    return until(later, what=f"a scheduler leading after epoch {after}", seconds=20)


def depose(db: Connection[TupleRow]) -> None:
    """Take the lease from its holder, as if it had expired."""
    db.execute(
        "UPDATE fairlead.leaders SET epoch = epoch + 1, lease_until = '-infinity'"
        " WHERE role = 'scheduler'"
    )
