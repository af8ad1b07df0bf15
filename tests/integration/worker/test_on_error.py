"""What `on_error` reports of handlers' failures, on a real child of a worker."""

import json
from collections.abc import Iterator

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import testing
from fairlead_worker.ipc import messages
from tests.integration.worker.test_outcomes import ends
from tests.support import traced_app
from tests.support.children import RunningChild, child, register
from tests.support.dispatching import insert
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


@pytest.fixture
def running(database_url: str, db: Connection[TupleRow]) -> Iterator[RunningChild]:
    """Yield a child whose application has set `on_error`."""
    db.execute("CREATE TABLE seen (at serial, what text)")
    with child(database_url, register(db), app="tests.support.traced_app:tasks") as started:
        yield started


def reported(db: Connection[TupleRow]) -> list[str]:
    """Return what was reported to the application so far."""
    return [str(row[0]) for row in db.execute("SELECT what FROM seen ORDER BY at").fetchall()]


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("kind", ["raises", "raises_in_thread", "raises_in_process"])
@pytest.mark.parametrize(
    ("payload", "what"),
    [
        ("error", "1 ValueError: no luck with traceback, again"),
        ("retry", "1 Retry: busy with traceback, again"),
        ("discard", "1 Discard: no such user with traceback, never again"),
        ("exit", "1 SystemExit: 3 with traceback, again"),
    ],
)
def test_a_failure_is_reported_wherever_its_handler_ran(
    db: Connection[TupleRow], kind: str, payload: str, what: str
) -> None:
    """The job, the attempt, the exception as it was raised, and whether there is another."""
    ends(db, insert(db, kind, payload))

    assert [f"{kind} {what}"] == reported(db)


@pytest.mark.usefixtures("running")
def test_a_snooze_is_not_reported(db: Connection[TupleRow]) -> None:
    """Nothing has failed."""
    assert "scheduled" == ends(db, insert(db, "raises", "snooze"))[0]

    assert [] == reported(db)


def test_a_cancelled_job_is_not_reported(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """It was requested."""
    job_id = insert(db, "forever")
    (entry,) = running.runs()

    running.send(messages.Cancel((entry.key,)))

    assert "cancelled" == ends(db, job_id)[0]
    assert [] == reported(db)


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("kind", "cause", "traceback"),
    [("late", "CancelledError", "with"), ("deaf", "Cancelled", "without")],
)
def test_a_handler_whose_time_was_up_has_failed_by_a_timeout(
    db: Connection[TupleRow], kind: str, cause: str, traceback: str
) -> None:
    """Also one that did not stop, so that its process was killed."""
    ends(db, insert(db, kind))

    sentence = f"TimeoutError: it ran longer than 0.2 s from {cause} {traceback} traceback"
    assert [f"{kind} 1 {sentence}, again"] == reported(db)


def test_what_the_callback_raises_is_logged_and_changes_nothing(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """The job ends as it would without, and so does the next one."""
    kinds = ("raises", "raises_in_thread", "raises_in_process")
    for kind in kinds:
        state, _, error, _ = ends(db, insert(db, kind, "and so does the hook"))
        assert ("scheduled", "ValueError: no luck") == (state, str(error).split("\n")[0])

    def said() -> list[dict[str, object]]:
        lines = [line for line in running.log if "on_error.failed" in line]
        return [json.loads(line) for line in lines]

    until(lambda: len(said()) == 3, what="three lines of it")
    assert set(kinds) == {each["kind"] for each in said()}
    assert all("LookupError: no listener" in str(each["exception"]) for each in said())
    assert "succeeded" == ends(db, insert(db, "modules"))[0]


def test_a_drain_in_a_test_reports_it_too(
    database_url: str, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that an application can test its reports."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", database_url)
    db.execute("CREATE TABLE seen (at serial, what text)")
    db.execute(
        "INSERT INTO fairlead.jobs (kind, payload, max_attempts)"
        " VALUES ('raises', '\"error\"', 1), ('raises', '\"snooze\"', 1)"
    )

    testing.drain(traced_app.tasks, database_url)

    assert ["raises 1 ValueError: no luck with traceback, never again"] == reported(db)
