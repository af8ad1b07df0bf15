"""The page on errors says what is so: its code reports to what takes Sentry's reports."""

import gzip
import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.worker.test_outcomes import ends
from tests.support import tree
from tests.support.children import child, register
from tests.support.dispatching import insert
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

PAGE = Path("docs/how-to/report-errors.md")
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Event = dict[str, object]


class Sentry:
    """Keeps the events that come in, on the loopback interface."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.url = ""

    def take(self, body: bytes) -> None:
        """Keep the events of an envelope: lines of JSON, each item after its header."""
        lines = [json.loads(line) for line in body.splitlines() if line]
        heads = zip(lines[1::2], lines[2::2], strict=False)
        self.events += [item for head, item in heads if head.get("type") == "event"]


@pytest.fixture
def sentry() -> Iterator[Sentry]:
    """Yield a server that takes reports."""
    found = Sentry()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            found.take(gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        found.url = f"http://key@127.0.0.1:{server.server_port}/1"
        yield found
        server.shutdown()
        thread.join()


def test_the_pages_code_reports_what_fails(
    database_url: str, db: Connection[TupleRow], sentry: Sentry, tmp_path: Path
) -> None:
    """The exception with its frames, and the job that it is about."""
    (tmp_path / "myapp").mkdir()
    source = "\n\n".join(_BLOCK.findall(tree.text(PAGE)))
    (tmp_path / "myapp/jobs.py").write_text(source)
    environment = {
        "SENTRY_DSN": sentry.url,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), tree.SOURCES]),
    }
    worker = register(db)
    with child(database_url, worker, app="myapp.jobs:tasks", environment=environment):
        assert "succeeded" == ends(db, insert(db, "confirm_order", {"order": 1}))[0]
        job_id = insert(db, "confirm_order", {"order": 0})
        ends(db, job_id)
        (event,) = until(lambda: sentry.events, what="a report")

    (value,) = cast("dict[str, list[dict[str, Any]]]", event["exception"])["values"]
    assert ("ValueError", "there is no order 0") == (value["type"], value["value"])
    assert "confirm_order" == value["stacktrace"]["frames"][-1]["function"]
    assert "warning" == event["level"]
    contexts, tags = (cast("dict[str, object]", event[name]) for name in ("contexts", "tags"))
    assert {"id": job_id, "attempt": 1, "will_retry": True} == contexts["job"]
    assert ("confirm_order", "default") == (tags["job.kind"], tags["job.queue"])
