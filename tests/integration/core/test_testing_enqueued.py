"""`enqueued` shows a test what waits, in the test's own transaction."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow, scalar_row

import fairlead
from fairlead import testing
from tests.conftest import Connect
from tests.support.children import register
from tests.support.dispatching import dispatch_all

TOMORROW = datetime(2100, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_job_is_shown_as_it_was_enqueued(connect: Connect) -> None:
    """Every field that an application sets, before anything is committed."""
    connection = connect(autocommit=False)
    connection.execute("SET timezone = 'Asia/Kolkata'")
    there = timezone(timedelta(hours=5, minutes=30))
    job_id = fairlead.enqueue(
        connection,
        "confirm",
        {"order": 7, "lines": [1, None]},
        queue="mail",
        tenant="acme",
        priority=3,
        run_at=TOMORROW.astimezone(there),
        expires_at=TOMORROW + timedelta(hours=1),
        dedup_key="order:7",
        max_attempts=2,
        headers={"trace": "a"},
    )

    assert (
        testing.Enqueued(
            id=job_id or 0,
            kind="confirm",
            payload={"order": 7, "lines": [1, None]},
            queue="mail",
            tenant="acme",
            priority=3,
            run_at=TOMORROW,
            expires_at=TOMORROW + timedelta(hours=1),
            dedup_key="order:7",
            max_attempts=2,
            headers={"trace": "a"},
        ),
    ) == testing.enqueued(connection)
    assert [UTC] == [each.run_at.tzinfo for each in testing.enqueued(connection) if each.run_at]
    connection.rollback()
    assert () == testing.enqueued(connection)


@pytest.mark.parametrize(
    ("kind", "payload", "queue", "tenant", "expected"),
    [
        (None, None, None, None, [1, 2, 3, 4]),
        ("confirm", None, None, None, [1, 2, 3]),
        (None, {"order": 7}, None, None, [1, 4]),
        (None, {"customer": {"name": "bo"}}, None, None, [2]),
        (None, [1], None, None, []),
        (None, None, "mail", None, [3]),
        (None, None, None, "acme", [2]),
        (None, None, None, "", [1, 3, 4]),
        ("confirm", {"order": 7}, "default", "", [1]),
        ("confirmed", None, None, None, []),
    ],
)
def test_jobs_are_found_by_kind_payload_queue_and_tenant(
    db: Connection[TupleRow],
    kind: str | None,
    payload: fairlead.Json,
    queue: str | None,
    tenant: str | None,
    expected: list[int],
) -> None:
    """What is not named may be anything; of a payload, a part will do."""
    numbers = fairlead.enqueue_many(
        db,
        [
            fairlead.NewJob(kind="confirm", payload={"order": 7, "customer": {"name": "al"}}),
            fairlead.NewJob(
                kind="confirm",
                payload={"order": 8, "customer": {"name": "bo", "age": 8}},
                tenant="acme",
            ),
            fairlead.NewJob(kind="confirm", payload={"order": 9}, queue="mail"),
            fairlead.NewJob(kind="remind", payload={"order": 7}),
        ],
    )

    found = testing.enqueued(db, kind, payload=payload, queue=queue, tenant=tenant)

    assert [numbers[each - 1] for each in expected] == [each.id for each in found]


def test_what_waits_is_shown_and_what_runs_or_has_ended_is_not(
    db: Connection[TupleRow],
) -> None:
    """Scheduled, pending and queued jobs wait."""
    kinds = ("queued", "running", "ended", "pending", "scheduled")
    jobs = {kind: fairlead.enqueue(db, kind) for kind in kinds[:3]}
    dispatch_all(db)
    claim = "UPDATE fairlead.work_queue SET worker = %s, token = 1 WHERE job_id = %s"
    db.execute(claim, [register(db), jobs["running"]])
    db.execute("SELECT fairlead.cancel(%s)", [jobs["ended"]])
    fairlead.enqueue(db, "pending")
    fairlead.enqueue(db, "scheduled", run_at=TOMORROW)

    assert ["queued", "pending", "scheduled"] == [each.kind for each in testing.enqueued(db)]


async def _read_asynchronously(url: str) -> list[tuple[testing.Enqueued, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await fairlead.enqueue(connection, "a")
        return [
            await testing.enqueued(connection, "a"),
            await testing.enqueued(connection.cursor(), "a"),
        ]


def test_an_asynchronous_connection_is_awaited(database_url: str) -> None:
    """As `fairlead.enqueue` is."""
    first, second = asyncio.run(_read_asynchronously(database_url))

    assert 1 == len(first)
    assert first == second


def test_a_cursor_serves_as_well(db: Connection[TupleRow]) -> None:
    """Of psycopg; and of other drivers, whose rows may be sequences or mappings."""
    fairlead.enqueue(db, "a")

    class Mapped:
        """A driver's cursor with named columns."""

        def execute(self, operation: str, parameters: Sequence[object], /) -> None:
            self._cursor = db.execute(operation.encode(), parameters)

        def fetchall(self) -> list[dict[str, object]]:
            return [{"job": row[0]} for row in self._cursor.fetchall()]

    reading = db.cursor(row_factory=scalar_row).execute("SELECT 'unread'")
    assert ["a"] == [each.kind for each in testing.enqueued(reading)]
    assert "unread" == reading.fetchone()
    assert ["a"] == [each.kind for each in testing.enqueued(Mapped())]
