"""Only the schedulers of the release that owns the database lead."""

from fairlead import ownership
from tests.support.logged import Lines
from tests.support.race import Database
from tests.support.schedulers import leader, led, scheduling
from tests.support.waiting import until

FIRST, SECOND = "work/shop", "else/shop"


def test_the_first_release_with_a_name_owns_the_database(
    db: Database, database_url: str
) -> None:
    """Nothing has to be said for it; one without a name owns nothing."""
    with scheduling(database_url):
        led(db)
        assert "" == ownership.own(db, "")
    with scheduling(database_url, release=FIRST):
        led(db, after=1)

    assert FIRST == ownership.own(db, SECOND)


def test_another_releases_scheduler_waits_and_says_why(
    db: Database, database_url: str, logged: Lines
) -> None:
    """It is not ready, though nobody leads; and it leads as soon as the database is its own."""
    ownership.own(db, FIRST)
    with scheduling(database_url, release=SECOND) as replica:
        until(lambda: logged.count("scheduler.waiting"), what="its wait", seconds=20)
        assert (None, False) == (leader(db), replica.scheduler.ready.is_set())

        ownership.take_over(db, SECOND)

        assert led(db)
        assert replica.scheduler.ready.is_set()


def test_the_lease_is_acquired_for_the_owner_alone(db: Database) -> None:
    """A replica that asked whose the database is may not have heard of a take-over."""
    ownership.own(db, FIRST)
    acquired = "SELECT epoch FROM fairlead._acquire_leadership('me', 3, %s)"

    assert [None, None, 1] == [
        db.execute(acquired, [release]).fetchall()[0][0] for release in (SECOND, "", FIRST)
    ]


def test_a_take_over_ends_the_former_owners_term(db: Database, database_url: str) -> None:
    """Its leader and its standbys are ready no more, and none of them leads again."""
    with (
        scheduling(database_url, release=FIRST) as first,
        scheduling(database_url, release=FIRST) as standby,
    ):
        epoch = led(db)
        until(standby.scheduler.ready.is_set, what="a standby")

        ownership.take_over(db, SECOND)

        former = (first.scheduler.ready, standby.scheduler.ready)
        until(lambda: not any(ready.is_set() for ready in former), what="the end", seconds=20)
        with scheduling(database_url, release=SECOND):
            assert epoch + 2 == led(db, after=epoch)
