"""`enqueue` is an INSERT in the caller's transaction, whatever the connection."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow, dict_row, namedtuple_row, tuple_row

import fairlead
from tests.conftest import Connect

_EVERY_FIELD = """
    SELECT id, queue, tenant, kind, payload, priority, run_at, expires_at, dedup_key,
           max_attempts, timeout, cost_hint, headers
    FROM fairlead.jobs
"""
_COUNT = "SELECT count(*) FROM fairlead.jobs"
TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


class PlainCursor:
    """A DB-API cursor of no driver that anybody knows."""

    def __init__(self, connection: Connection[TupleRow], *, as_dict: bool = False) -> None:
        self._cursor = connection.cursor(row_factory=tuple_row)
        self._as_dict = as_dict

    def execute(self, operation: str, parameters: Sequence[object], /) -> None:
        """Run a statement that is text."""
        assert isinstance(operation, str)
        self._cursor.execute(operation.encode(), parameters)

    def fetchall(self) -> list[object]:
        """Return the rows as tuples or dictionaries."""
        rows = self._cursor.fetchall()
        return [{"id": row[0]} for row in rows] if self._as_dict else list(rows)


def test_every_field_reaches_its_column(db: Connection[TupleRow]) -> None:
    """What an application may set, `enqueue` can set."""
    job_id = fairlead.enqueue(
        db,
        "monthly",
        {"day": "2026-11-20", "parts": [1, None, "ä"]},
        queue="reports",
        tenant="acme",
        priority=-5,
        run_at=TOMORROW,
        expires_at=TOMORROW + timedelta(hours=1),
        dedup_key="report:2026-11-20",
        max_attempts=3,
        timeout=90,
        cost_hint=timedelta(seconds=2.5),
        headers={"traceparent": "00-1"},
    )

    assert (
        job_id,
        "reports",
        "acme",
        "monthly",
        {"day": "2026-11-20", "parts": [1, None, "ä"]},
        -5,
        TOMORROW,
        TOMORROW + timedelta(hours=1),
        "report:2026-11-20",
        3,
        timedelta(seconds=90),
        timedelta(seconds=2.5),
        {"traceparent": "00-1"},
    ) == db.execute(_EVERY_FIELD).fetchone()


def test_what_is_left_out_has_the_tables_defaults(db: Connection[TupleRow]) -> None:
    """The same row as a plain INSERT of the kind alone."""
    fairlead.enqueue(db, "plain")
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('plain')")

    mine, theirs = (row[1:] for row in db.execute(_EVERY_FIELD + " ORDER BY id").fetchall())

    assert theirs == mine


def test_a_rolled_back_job_never_existed(connect: Connect, db: Connection[TupleRow]) -> None:
    """It joins the caller's transaction."""
    application = connect(autocommit=False)
    assert fairlead.enqueue(application, "work") is not None
    assert (0,) == db.execute(_COUNT).fetchone()

    application.rollback()
    assert (0,) == db.execute(_COUNT).fetchone()

    fairlead.enqueue(application, "work")
    application.commit()
    assert (1,) == db.execute(_COUNT).fetchone()


def test_a_live_dedup_key_answers_none(db: Connection[TupleRow]) -> None:
    """No second job, and no error: the transaction goes on."""
    first = fairlead.enqueue(db, "work", dedup_key="once")

    assert first is not None
    assert fairlead.enqueue(db, "work", dedup_key="once") is None
    assert fairlead.enqueue(db, "work", dedup_key="once", tenant="other") is not None


def test_any_cursor_will_do(db: Connection[TupleRow]) -> None:
    """Connections and cursors of psycopg, whatever their rows are, and other cursors."""
    db.row_factory = dict_row  # type: ignore[assignment]  # the point: rows may be dictionaries
    ids = [
        fairlead.enqueue(db, "work"),
        fairlead.enqueue(db.cursor(), "work"),
        fairlead.enqueue(db.cursor(row_factory=namedtuple_row), "work"),
        fairlead.enqueue(PlainCursor(db, as_dict=True), "work"),
    ]
    with db.transaction(), db.cursor("named") as named:
        ids.append(fairlead.enqueue(named, "work"))

    assert [1, 2, 3, 4, 5] == ids


def test_a_plain_cursor_may_answer_tuples(db: Connection[TupleRow]) -> None:
    """As most drivers do."""
    assert 1 == fairlead.enqueue(PlainCursor(db), "work")
    assert fairlead.enqueue(PlainCursor(db), "work", dedup_key="k") is not None
    assert fairlead.enqueue(PlainCursor(db), "work", dedup_key="k") is None


def test_an_asynchronous_connection_is_awaited(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """The same function, with an awaitable answer."""

    async def application() -> list[object]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            one = await fairlead.enqueue(connection, "work", {"a": 1})
            two = await fairlead.enqueue(connection.cursor(), "work", dedup_key="k")
            three = await fairlead.enqueue(connection, "work", dedup_key="k")
            many = await fairlead.enqueue_many(
                connection, [fairlead.NewJob(kind="work"), fairlead.NewJob(kind="work")]
            )
            return [one, two, three, many]

    assert [1, 2, None, (4, 5)] == asyncio.run(application())
    assert (4,) == db.execute(_COUNT).fetchone()


def test_many_jobs_are_one_statement(db: Connection[TupleRow]) -> None:
    """The ids come back without those whose dedup keys are live; none of nothing."""
    jobs = [
        fairlead.NewJob(kind="work", payload=number, dedup_key=str(number % 3))
        for number in range(6)
    ]

    assert 3 == len(fairlead.enqueue_many(db, jobs))
    assert () == fairlead.enqueue_many(db, jobs)
    assert () == fairlead.enqueue_many(db, [])


def test_one_bad_job_refuses_all(db: Connection[TupleRow]) -> None:
    """All or none, with the constraint's name."""
    with pytest.raises(psycopg.errors.CheckViolation, match="jobs_priority_is_between"):
        fairlead.enqueue_many(
            db, [fairlead.NewJob(kind="a"), fairlead.NewJob(kind="b", priority=101)]
        )

    assert (0,) == db.execute(_COUNT).fetchone()


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (
            {"payload": {1, 2}},
            "job of kind 'work' cannot be written as JSON: Object of type set",
        ),
        ({"payload": float("nan")}, "job of kind 'work' cannot be written as JSON"),
        ({"payload": "nul \0"}, "job of kind 'work' holds the NUL character"),
        ({"payload": "half \ud800"}, "job of kind 'work' cannot be written as JSON"),
        ({"queue": "nul \0"}, "job of kind 'work' holds the NUL character"),
        ({"run_at": datetime(2026, 1, 1)}, "run_at 2026-01-01 00:00:00 has no time zone"),  # noqa: DTZ001 - naive on purpose here
        ({"expires_at": datetime(2026, 1, 1)}, "expires_at .* has no time zone"),  # noqa: DTZ001 - naive on purpose here
    ],
)
def test_what_the_database_would_misread_is_refused_with_a_sentence(
    db: Connection[TupleRow], job: dict[str, object], sentence: str
) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match=sentence):
        fairlead.enqueue(db, "work", **job)  # type: ignore[call-overload]  # wrong on purpose


@pytest.mark.parametrize(
    "how", [{}, {"replace": True, "dedup_key": "key"}], ids=["plain", "replace"]
)
def test_no_tenant_is_an_empty_text_and_not_none(
    db: Connection[TupleRow], how: dict[str, bool | str]
) -> None:
    """One that was looked up and not found is a mistake, and not a job of nobody's."""
    with pytest.raises(TypeError, match="tenant is None: give a text"):
        fairlead.enqueue(db, "k", tenant=None, **how)  # type: ignore[call-overload]  # that is tried
