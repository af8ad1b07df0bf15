"""A pool belongs to the release whose worker came first; another release's worker waits."""

from pathlib import Path

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import ownership
from tests.chaos.fleet import Fleet, Program, fleet
from tests.support.logins import LogIn, as_login
from tests.support.programs import forked
from tests.support.waiting import until

OURS, THEIRS = "work/shop", "else/shop"
REGISTERED = "SELECT 1 FROM fairlead.worker_leases WHERE dead_at IS NULL"


def start(made: Fleet, name: str, *, url: str = "") -> Program:
    """Start a worker of the pool default."""
    return made.start(name, "fairlead_worker.main", "--app", "tests.chaos.app:tasks", url=url)


def test_a_worker_of_another_release_waits_until_the_pool_is_assigned(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It would run the other's jobs with its own handlers. It says who owns the pool."""
    ownership.own_pool(db, "default", THEIRS)
    with fleet(database_url, tmp_path, {"FAIRLEAD_RELEASE": OURS}, starts=forked) as made:
        worker = start(made, "refused")
        said = f"the pool default belongs to the release {THEIRS}, and this worker is of {OURS}"
        until(lambda: said in worker.log.read_text(), what="the reason", seconds=20)
        assert [] == db.execute(REGISTERED).fetchall()

        db.execute("SELECT fairlead._assign_pool('default', %s)", [OURS])

        until(lambda: db.execute(REGISTERED).fetchall(), what="a worker", seconds=20)


def test_the_first_worker_makes_its_release_the_owner(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """One without a name may serve a pool that is nobody's, and owns nothing."""
    assert "" == ownership.own_pool(db, "default", "")
    with fleet(database_url, tmp_path, {"FAIRLEAD_RELEASE": OURS}, starts=forked) as made:
        worker = start(made, "first")
        until(lambda: worker.said("worker.registered"), what="a worker", seconds=20)

    assert OURS == ownership.own_pool(db, "default", THEIRS)


def test_a_worker_waits_for_those_that_are_bound_to_its_pool(
    database_url: str, db: Connection[TupleRow], log_in: LogIn, tmp_path: Path
) -> None:
    """Its release cannot own the pool, and must not run what theirs is about to own."""
    bound, other = log_in("fairlead_worker"), log_in("fairlead_worker")
    db.execute("INSERT INTO fairlead.pool_logins VALUES (%s, 'default')", [bound.info.user])
    with fleet(database_url, tmp_path, {"FAIRLEAD_RELEASE": OURS}, starts=forked) as made:
        worker = start(made, "waiting", url=as_login(database_url, other.info.user))
        said = "the pool default belongs to no release, and other logins are bound to it"
        until(lambda: said in worker.log.read_text(), what="the reason", seconds=20)
        assert [] == db.execute(REGISTERED).fetchall()

        assert OURS == ownership.own_pool(bound, "default", OURS)

        until(lambda: db.execute(REGISTERED).fetchall(), what="a worker", seconds=20)


def test_a_worker_stops_when_another_release_owns_its_pool(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It came while another session had the pool and did not commit, and says so."""
    with fleet(database_url, tmp_path, {"FAIRLEAD_RELEASE": OURS}, starts=forked) as made:
        with db.transaction():
            ownership.own_pool(db, "default", THEIRS)
            worker = start(made, "first")
            until(lambda: worker.said("worker.registered"), what="a worker", seconds=20)
            assert worker.said("pool.owner_undecided")

        assert 1 == worker.process.wait(30)

    said = f"the pool default belongs to the release {THEIRS}, and this worker is of {OURS}"
    assert said in worker.log.read_text()
    assert worker.said("pool.lost")
    assert [] == db.execute(REGISTERED).fetchall()
