"""What a dead child had not stored is stored for it, whatever the database refuses of it."""

from collections.abc import Mapping
from unittest.mock import Mock

import psycopg
import pytest

from fairlead_worker.db.session import Row, Session
from fairlead_worker.ipc.attempt_table import UnstoredSuccess
from fairlead_worker.parent.hand_back import HandBacks
from fairlead_worker.parent.lease_thread import DatabaseTask, LeaseThread
from tests.conftest import Connect
from tests.support.race import Database, claim, dispatch, insert, leading, register

pytestmark = pytest.mark.any_server

JOBS = 8


class Calls(Session):
    """A session that counts its calls."""

    made = 0

    def rows(self, statement: bytes, values: Mapping[str, object]) -> list[Row]:
        """Count the call, and make it."""
        self.made += 1
        return super().rows(statement, values)


class Scenario:
    """The successes of eight jobs, which a dead child had not stored."""

    def __init__(self, db: Database, connection: Database) -> None:
        self.db = db
        self.tasks: list[DatabaseTask] = []
        self.hand_backs = HandBacks(Mock(LeaseThread, submit=self.tasks.append))
        self.session = Calls(connection, call_seconds=10.0)
        dispatch(db, insert(db, count=JOBS), epoch=leading(db))
        self.leases = claim(db, register(db), limit=JOBS)
        self.jobs = [lease.job for lease in self.leases]

    def finish(self) -> None:
        """Store them, as far as that is possible now."""
        self.hand_backs.finish(
            UnstoredSuccess(lease.job, lease.token, 1000) for lease in self.leases
        )
        self.run_tasks()

    def run_tasks(self) -> None:
        """Make the calls that wait, none of which may fail, as the lease's thread does."""
        while self.tasks:
            self.tasks.pop(0)(self.session)()

    def left(self) -> list[int]:
        """Return the jobs that have not ended."""
        return [row[0] for row in self.db.execute("SELECT id FROM fairlead.jobs ORDER BY id")]

    def outcomes(self) -> list[tuple[int, str]]:
        """Return the jobs that have ended and how."""
        rows = self.db.execute("SELECT id, outcome FROM fairlead.job_history ORDER BY id")
        return [(int(job), str(outcome)) for job, outcome in rows]


@pytest.fixture
def scenario(db: Database, connect: Connect) -> Scenario:
    """Return one whose successes are stored over a connection of its own."""
    return Scenario(db, connect())


def test_what_is_locked_is_stored_later_and_nothing_waits_for_it(
    scenario: Scenario, connect: Connect
) -> None:
    """All of it takes one call: each wait would delay the renewal of the lease."""
    locked = scenario.jobs[:5]
    application = connect(autocommit=False)
    application.execute("SELECT FROM fairlead.jobs WHERE id = ANY (%s) FOR UPDATE", [locked])

    scenario.finish()

    assert locked == scenario.left()
    assert {each.token for each in scenario.leases[:5]} == scenario.hand_backs.pending
    assert 1 == scenario.session.made

    application.rollback()
    scenario.hand_backs.advance(10.0)
    scenario.run_tasks()

    assert [] == scenario.left()
    assert not scenario.hand_backs.pending
    assert 2 == scenario.session.made


def test_a_success_that_can_be_stored_nowhere_fails_and_no_other(scenario: Scenario) -> None:
    """With the database's own message, as in a child that lives."""
    refused, *others = scenario.jobs
    scenario.db.execute("UPDATE fairlead.jobs SET kind = 'refused' WHERE id = %s", [refused])
    scenario.db.execute(
        "ALTER TABLE fairlead.job_history_succeeded ADD CONSTRAINT is_accepted"
        " CHECK (kind <> 'refused')"
    )

    scenario.finish()

    assert [(job, "succeeded") for job in others] == scenario.outcomes()
    (error,) = scenario.db.execute(
        "SELECT error FROM fairlead.attempt_errors WHERE job_id = %s", [refused]
    ).fetchone() or ("",)
    assert "its ending could not be stored" in str(error)
    assert "is_accepted" in str(error)
    assert not scenario.hand_backs.pending


def test_what_is_refused_for_a_while_is_kept_and_delays_no_other(scenario: Scenario) -> None:
    """It says nothing about the job, which does not run again meanwhile."""
    refused = scenario.jobs[2]
    refuses = (
        "CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF old.id = {refused} THEN RAISE EXCEPTION 'not now'; END IF; RETURN old; END $$"
    )
    scenario.db.execute(refuses.encode())
    scenario.db.execute(
        "CREATE TRIGGER refuses BEFORE DELETE ON fairlead.jobs"
        " FOR EACH ROW EXECUTE FUNCTION refuses()"
    )

    scenario.finish()

    assert [refused] == scenario.left()
    assert {scenario.leases[2].token} == scenario.hand_backs.pending
    scenario.db.execute("DROP TRIGGER refuses ON fairlead.jobs")
    scenario.hand_backs.advance(10.0)
    scenario.run_tasks()
    assert [] == scenario.left()
    assert not scenario.hand_backs.pending


def test_what_no_server_takes_now_is_left_to_the_thread_that_calls(
    scenario: Scenario,
) -> None:
    """It makes the same call again, over another connection if need be."""
    scenario.session.run(b"SET default_transaction_read_only = on")

    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        scenario.finish()

    assert scenario.jobs == scenario.left()
