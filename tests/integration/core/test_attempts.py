"""How many attempts a job has, from its row or from nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead import testing

_STATUS = "SELECT attempt, max_attempts, state FROM fairlead.job_status"
_PLAIN = "INSERT INTO fairlead.jobs (kind{}) VALUES ('send'{})"


@pytest.fixture
def ran() -> list[tuple[int, int]]:
    """What each attempt was told: which it is, of how many."""
    return []


@pytest.fixture
def tasks(ran: list[tuple[int, int]]) -> fairlead.Tasks:
    """An application whose handler always fails."""
    tasks = fairlead.Tasks()

    @tasks.handler("send")
    def send(job: fairlead.Job) -> None:
        ran.append((job.attempt, job.max_attempts))
        raise ConnectionError("no mail server")

    return tasks


@pytest.mark.parametrize(
    ("columns", "values", "count"),
    [("", "", 20), (", max_attempts", ", NULL", 20), (", max_attempts", ", 3", 3)],
)
def test_a_job_of_plain_sql_has_twenty_attempts_unless_its_row_says_otherwise(
    tasks: fairlead.Tasks,
    ran: list[tuple[int, int]],
    database_url: str,
    db: Connection[TupleRow],
    columns: str,
    values: str,
    count: int,
) -> None:
    """The handler is told the same number, and so are those who look."""
    db.execute(_PLAIN.format(columns, values).encode())
    assert (0, count, "pending") == db.execute(_STATUS).fetchone()

    testing.drain(tasks, database_url, now=datetime.now(UTC) + timedelta(days=5))

    assert [(attempt, count) for attempt in range(1, count + 1)] == ran
    assert (count, count, "failed") == db.execute(_STATUS).fetchone()


def test_so_has_one_that_python_enqueues(
    tasks: fairlead.Tasks,
    ran: list[tuple[int, int]],
    database_url: str,
    db: Connection[TupleRow],
) -> None:
    """Beside one whose caller said how many."""
    fairlead.enqueue(db, "send")
    fairlead.enqueue(db, "send", max_attempts=2)

    testing.drain(tasks, database_url, now=datetime.now(UTC) + timedelta(days=5))

    assert sorted([(n, 20) for n in range(1, 21)] + [(1, 2), (2, 2)]) == sorted(ran)


@pytest.fixture
def saying() -> fairlead.Tasks:
    """An application whose handler says what its jobs have."""
    tasks = fairlead.Tasks()

    @tasks.handler("send", max_attempts=3, backoff=lambda failed: 60.0 * failed)
    def send(job: fairlead.Job) -> None:
        raise ConnectionError(f"no mail server in {job.attempt} of {job.max_attempts}")

    return tasks


@pytest.mark.parametrize(
    ("columns", "values", "count"), [("", "", 3), (", max_attempts", ", 2", 2)]
)
def test_a_handler_says_how_many_jobs_of_plain_sql_have_and_how_long_they_wait(
    saying: fairlead.Tasks,
    database_url: str,
    db: Connection[TupleRow],
    columns: str,
    values: str,
    count: int,
) -> None:
    """A row's own number wins; the history says which it was."""
    db.execute(_PLAIN.format(columns, values).encode())
    began = datetime.now(UTC)

    early = testing.drain(saying, database_url, now=began + timedelta(seconds=50))
    (wait,) = db.execute("SELECT run_at - %s FROM fairlead.jobs", [began]).fetchone() or (None,)
    testing.drain(saying, database_url, now=began + timedelta(seconds=50 + 2 * 120))

    assert ["retried"] == [each.outcome for each in early.endings]
    assert wait is not None
    assert timedelta(seconds=59) < wait < timedelta(seconds=90)
    assert (count, count, "failed") == db.execute(_STATUS).fetchone()
    ((error,),) = db.execute("SELECT error FROM fairlead.job_history").fetchall()
    assert str(error).startswith(f"ConnectionError: no mail server in {count} of {count}")
