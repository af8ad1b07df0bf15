"""How soon a standby takes over at the default settings, by the recorded take-overs."""

from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest

from fairlead_scheduler.settings import SchedulerSettings
from tests.chaos import records
from tests.chaos.fleet import Fleet, Program, fleet
from tests.support.delays import delays
from tests.support.waiting import until

TAKE_OVER_SECONDS = 4.0
SHIPPED = {
    f"FAIRLEAD_{name.upper()}": f"{SchedulerSettings.model_fields[name].default}"
    for name in ("lease_seconds", "renew_seconds", "margin_seconds")
}
_STANDS_BY = """
    SELECT count(*) = 2 AND (array_agg(query ORDER BY backend_start DESC))[1]
        ~ ': (acquire|own) [*]/'
    FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'fairlead scheduler lead'
"""


@pytest.fixture
def shipped(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Yield a fleet whose leader's lease lasts as long as by default."""
    with fleet(database_url, tmp_path, SHIPPED) as made:
        made.record()
        yield made


def leads(some: Fleet, scheduler: Program) -> None:
    """Wait until a scheduler leads, also where each starts slowly."""
    until(lambda: some.leader_pid() == scheduler.pid, what="a lead", seconds=60)


def test_a_standby_takes_over_within_four_seconds_of_a_crash(shipped: Fleet) -> None:
    """The lease expires within three seconds, and a standby polls twice a second."""
    first = shipped.scheduler("first")
    leads(shipped, first)
    second = shipped.scheduler("second")
    with shipped.connect() as db, shipped.connect() as asked:
        until(
            lambda: db.execute(_STANDS_BY).fetchone() == (True,), what="a standby", seconds=60
        )
        with delays(asked) as slowest:
            first.kill()
            died_at = time()
            leads(shipped, second)
        taken_at = min(at for at in records.take_overs(db) if at > died_at)

    # On a machine that has time for both of them the delay is some milliseconds.
    assert taken_at - died_at <= TAKE_OVER_SECONDS + slowest()
