"""The server's disk is full, and has room again a little later."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, time

import psycopg
import pytest

from fairlead_cli.dev.postgres import Server
from tests.chaos.disks import Disk, lacking, mounted
from tests.chaos.fleet import RECOVERY_SECONDS, Fleet, fleet
from tests.support.databases import running_server
from tests.support.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
]

_MIB = 256
_FULL_SECONDS = 3.0
_SETTINGS = {"max_wal_size": "64MB", "min_wal_size": "32MB"}


@dataclass(frozen=True, slots=True)
class Cramped:
    """A fleet whose server has a small disk."""

    fleet: Fleet
    server: Server
    disk: Disk


@pytest.fixture
def cramped(migrated_data: Path, tmp_path: Path) -> Iterator[Cramped]:
    """Yield a fleet without programs over such a server, which is durable."""
    why = lacking()
    if why is not None:
        pytest.skip(why)
    with (
        mounted(_MIB) as disk,
        running_server(_SETTINGS, within=disk.folder, data=migrated_data) as server,
        fleet(server.url, tmp_path) as made,
    ):
        made.record()
        yield Cramped(made, server, disk)


def insert_until_full(made: Fleet, chance: random.Random) -> int:
    """Insert for a while, whatever comes of it; return how many times it was refused."""
    refused, over = 0, monotonic() + _FULL_SECONDS
    while monotonic() < over:
        try:
            made.insert("nap", chance.randrange(1, 40), 200)
        except psycopg.OperationalError:  # the disk is full, or the server gone for it
            refused += 1
    return refused


def test_a_disk_that_is_full_for_a_while_loses_nothing(
    cramped: Cramped, chance: random.Random
) -> None:
    """Statements fail, or the server ends; what was committed stands, and all goes on."""
    made, server, disk = cramped.fleet, cramped.server, cramped.disk
    programs = [made.scheduler("first"), made.scheduler("second")]
    programs += [made.worker("one"), made.worker("two")]
    for _ in range(3):
        jobs = made.insert("nap", 30, 100) + made.insert("grind", 200, 10)
        jobs += made.insert("book", 50, 20)
        made.await_starts(jobs, chance.randrange(1, 60))

        disk.fill()
        refused = insert_until_full(made, chance)
        disk.free()
        server.start()  # where it runs, nothing happens
        until(lambda: answers(made), what="an answer", seconds=20)
        back_at = time()
        late = made.insert("nap", 10, 10, priorities=(100,))
        until(lambda late=late: made.first_start(late) < float("inf"), what="a start")  # type: ignore[misc]  # mypy cannot infer a lambda with a default

        assert refused > 0
        assert made.first_start(late) - back_at <= RECOVERY_SECONDS
    made.wait_until_done(120)

    assert made.violations().is_empty, made.violations()
    assert [None] * 4 == [each.process.poll() for each in programs]


def answers(made: Fleet) -> bool:
    """Return whether the server takes writes again."""
    try:
        with made.connect() as db:
            db.execute("CREATE TEMPORARY TABLE room (is_there boolean)")
    except psycopg.OperationalError:
        return False
    return True
