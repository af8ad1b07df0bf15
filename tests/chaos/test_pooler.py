"""PgBouncer, by way of which everything goes, is killed again and again under load."""

import random
from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest

from tests.chaos.fleet import RECOVERY_SECONDS, Fleet, fleet
from tests.support import pgbouncer
from tests.support.pgbouncer import Pooler
from tests.support.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        pgbouncer.program() is None, reason="PgBouncer is not installed (Debian: pgbouncer)"
    ),
]

_SESSIONS = 20
_TIMES = 5
_APART = {"FAIRLEAD_DATABASE_DIRECT": "false"}


@pytest.fixture
def pooled(database_url: str, tmp_path: Path) -> Iterator[tuple[Fleet, Pooler]]:
    """Yield a fleet by way of a pooler; the test itself goes straight to the server."""
    with (
        pgbouncer.pooling(database_url, sessions=_SESSIONS) as pooler,
        fleet(database_url, tmp_path, _APART) as made,
    ):
        made.record()
        yield made, pooler


def begin_by_way_of(pooler: Pooler, made: Fleet) -> None:
    """Start the programs, whose every session is the pooler's."""
    direct, made.url = made.url, pooler.url
    for name in ("first", "second"):
        made.scheduler(name)
    for name in ("one", "two"):
        made.worker(name)
    made.url = direct
    made.await_lead(0.0)


def test_a_pooler_that_is_killed_under_load_loses_nothing(
    pooled: tuple[Fleet, Pooler], chance: random.Random
) -> None:
    """Its clients lose what they had sent, and the server rolls back what was not committed."""
    made, pooler = pooled
    begin_by_way_of(pooler, made)
    for _ in range(_TIMES):
        jobs = made.insert("nap", 30, 100) + made.insert("grind", 200, 10)
        jobs += made.insert("book", 50, 10) + made.insert("book_async", 100, 10)
        made.await_starts(jobs, chance.randrange(1, 80))

        pooler.kill()
        pooler.start()
        back_at = time()
        late = made.insert("nap", 10, 10, priorities=(100,))
        until(lambda late=late: made.first_start(late) < float("inf"), what="a start")  # type: ignore[misc]  # mypy cannot infer a lambda with a default

        assert made.first_start(late) - back_at <= RECOVERY_SECONDS
    made.wait_until_done(60)

    assert made.violations().is_empty, made.violations()
    assert [] == made.errors("lost") + made.errors("crashed")
