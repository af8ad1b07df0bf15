"""A row of leaders that no program can acquire is reported, and mended by an administrator."""

import pytest

from tests.support.controlling import Scene
from tests.support.logged import Line, Lines
from tests.support.logins import LogIn
from tests.support.race import Database
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

FAULTS = [
    pytest.param("SET lease_until = 'infinity', holder = 'gone'", "its lease ends at infinity"),
    pytest.param("SET epoch = 9223372036854775807", "its epoch is 9223372036854775807"),
    pytest.param("SET epoch = -1", "its epoch is -1"),
]


def spoil(db: Database, role: str, change: str) -> None:
    """Write something impossible into a role's row, as only the owner can."""
    db.execute(f"UPDATE fairlead.leaders {change} WHERE role = '{role}'".encode())


@pytest.mark.parametrize(("change", "says"), FAULTS)
def test_a_standby_says_once_what_is_wrong_and_leads_when_it_is_mended(
    db: Database, database_url: str, log_in: LogIn, logged: Lines, change: str, says: str
) -> None:
    """It goes on trying, so that nothing has to be restarted."""
    spoil(db, "scheduler", change)
    with scheduling(database_url):
        lines: list[Line] = until(logged, what="the log line")
        for _ in range(5):  # each ends a rest
            db.execute("NOTIFY fairlead_leader")
        mended = log_in("fairlead_admin").execute("SELECT fairlead.reset_leadership()")
        assert [("scheduler",)] == mended.fetchall()
        led(db)

    lines += logged()
    (reason,) = [str(each["reason"]) for each in lines if each["event"] == "scheduler.waiting"]
    assert says in reason
    assert "select fairlead.reset_leadership()" in reason


def test_a_row_that_was_deleted_is_made_anew(db: Database, database_url: str) -> None:
    """With an epoch that no leader can have had."""
    db.execute("DELETE FROM fairlead.leaders WHERE role = 'scheduler'")

    assert [("scheduler",)] == db.execute("SELECT fairlead.reset_leadership()").fetchall()

    with scheduling(database_url):
        assert 1_000_000_000_000_000 < led(db)


def test_a_healthy_leader_is_left_alone(db: Database, database_url: str) -> None:
    """A second call, or a needless one, deposes nobody."""
    with scheduling(database_url):
        epoch = led(db)

        assert [] == db.execute("SELECT fairlead.reset_leadership()").fetchall()

        assert epoch == led(db)


def test_the_autoscaler_goes_on_once_its_row_is_mended(scene: Scene, logged: Lines) -> None:
    """Until then it changes nothing, and says why once."""
    spoil(scene.db, "autoscaler", "SET epoch = 9223372036854775807")
    scene.step(3)
    (line,) = [each for each in logged() if each["event"] == "database.unreachable"]
    assert 'with "select fairlead.reset_leadership()"' in str(line)

    scene.db.execute("SELECT fairlead.reset_leadership()")
    scene.step()

    holder = "SELECT holder FROM fairlead.leaders WHERE role = 'autoscaler'"
    assert ("me",) == scene.db.execute(holder).fetchone()
