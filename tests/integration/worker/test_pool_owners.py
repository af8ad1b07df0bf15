"""A pool belongs to the release whose worker came first; another release's worker waits."""

from pathlib import Path

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import ownership
from tests.chaos.fleet import Fleet, Program, fleet
from tests.support.waiting import until

OURS, THEIRS = "work/shop", "else/shop"


def start(made: Fleet, name: str) -> Program:
    """Start a worker of the pool default."""
    return made.start(name, "fairlead_worker.main", "--app", "tests.chaos.app:tasks")


def test_a_worker_of_another_release_waits_until_the_pool_is_assigned(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It would run the other's jobs with its own handlers. It says who owns the pool."""
    ownership.own_pool(db, "default", THEIRS)
    registered = "SELECT 1 FROM fairlead.worker_leases WHERE dead_at IS NULL"
    with fleet(database_url, tmp_path, {"FAIRLEAD_RELEASE": OURS}) as made:
        worker = start(made, "refused")
        said = f"the pool default belongs to the release {THEIRS}, and this worker is of {OURS}"
        until(lambda: said in worker.log.read_text(), what="the reason", seconds=20)
        assert [] == db.execute(registered).fetchall()

        db.execute("SELECT fairlead._assign_pool('default', %s)", [OURS])

        until(lambda: db.execute(registered).fetchall(), what="a worker", seconds=20)


def test_the_first_worker_makes_its_release_the_owner(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """One without a name may serve a pool that is nobody's, and owns nothing."""
    assert "" == ownership.own_pool(db, "default", "")
    with fleet(database_url, tmp_path, {"FAIRLEAD_RELEASE": OURS}) as made:
        worker = start(made, "first")
        until(lambda: worker.said("worker.registered"), what="a worker", seconds=20)

    assert OURS == ownership.own_pool(db, "default", THEIRS)
