"""The plain example's handlers, on a real child of a worker."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from examples.plain import jobs
from tests.support.children import RunningChild, child, register
from tests.support.dispatching import dispatch_all
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_INSERT = "INSERT INTO fairlead.jobs (tenant, kind, payload) VALUES ('acme', %s, %s::jsonb)"
_STATUS = "SELECT state, result, split_part(error, chr(10), 1) FROM fairlead.job_status"
_OPEN = "SELECT count(*) FROM fairlead.work_queue"


class Answers(BaseHTTPRequestHandler):
    """Answers each call with the status that its path names."""

    def do_POST(self) -> None:
        """Answer."""
        self.send_response(int(self.path.strip("/")))
        self.send_header("Retry-After", "3600")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        """Keep the test's output short."""


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of a web server on the loopback interface."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def worker(
    database_url: str, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunningChild]:
    """Yield a child that runs the example, whose table it has made itself."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", database_url)
    jobs.main()
    with child(database_url, register(db), app="examples.plain.jobs:tasks") as running:
        yield running


def ends(db: Connection[TupleRow], kind: str, payload: object) -> tuple[object, ...]:
    """Run one job to the end of its attempt; return its state, result and error."""
    db.execute(_INSERT, [kind, json.dumps(payload)])
    dispatch_all(db)
    until(lambda: db.execute(_OPEN).fetchone() == (0,), what=f"the end of {kind}")
    row = db.execute(f"{_STATUS} ORDER BY id DESC LIMIT 1").fetchone()
    assert row is not None
    return row


@pytest.mark.usefixtures("worker")
def test_handlers_run_on_the_loop_in_a_thread_and_in_a_process(
    db: Connection[TupleRow],
) -> None:
    """What an async def, a def or a def with process=True returns is the job's result."""
    greeted = ends(db, "greet", {})
    words = ends(db, "count_words", {"texts": ["a fair queue", "on PostgreSQL"]})
    primes = ends(db, "count_primes", {"below": 1000})

    assert ("succeeded", {"said": "hello, acme"}, None) == greeted
    assert ("succeeded", 5, None) == words
    assert ("succeeded", 168, None) == primes


@pytest.mark.usefixtures("worker")
def test_a_webhooks_answer_decides_how_the_attempt_ends(
    db: Connection[TupleRow], address: str
) -> None:
    """Retry, Snooze and Discard, and any other exception."""

    def called(url: str) -> tuple[object, ...]:
        return ends(db, "call_webhook", {"url": url, "body": {}})

    assert ("succeeded", {"status": 200}, None) == called(f"{address}/200")
    assert ("failed", None, "refused with status 404") == called(f"{address}/404")
    assert ("failed", None, "file:///x is no address of the web") == called("file:///x")
    assert ("scheduled", None, None) == called(f"{address}/429")
    assert ("scheduled", None, "Retry: failed with status 503") == called(f"{address}/503")


@pytest.mark.usefixtures("worker")
def test_a_booking_is_made_once_and_in_the_transaction_that_ends_its_job(
    db: Connection[TupleRow],
) -> None:
    """A handler can finish its job in its own transaction: both commit, or neither."""
    booked = ends(db, "book", {"account": "alice", "cents": 990})
    broken = ends(db, "book", {"account": "bob", "cents": -(10**12)})

    assert ("succeeded", {"booked": 990}, None) == booked
    assert "scheduled" == broken[0]
    assert "NumericValueOutOfRange" in str(broken[2])
    assert [("alice", 990)] == db.execute("SELECT account, cents FROM bookings").fetchall()
