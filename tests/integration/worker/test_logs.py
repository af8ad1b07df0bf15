"""What handlers log says which job it is about, wherever they run."""

import json

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.worker.test_outcomes import ends
from tests.support.children import child, register
from tests.support.dispatching import insert
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


@pytest.mark.parametrize("kind", ["on_loop", "in_thread", "in_process"])
def test_a_handlers_lines_name_its_job(
    database_url: str, db: Connection[TupleRow], kind: str
) -> None:
    """In the worker's format where the application set up no logging, else in its own."""
    app = "tests.support.logging_app:tasks"
    with child(database_url, register(db), app=app) as running:
        job_id = insert(db, kind)
        assert "succeeded" == ends(db, job_id)[0]

        def lines(word: str) -> list[str]:
            return [line for line in running.log if f"packed {kind}" in line and word in line]

        ours = until(lambda: lines("shop.orders"), what="a line of the worker's format")
        own = until(lambda: lines("audit:"), what="a line of its own format")

    said = json.loads(ours[0])
    assert (job_id, "default", "", 1, 7) == tuple(
        said[name] for name in ("job", "queue", "tenant", "attempt", "order")
    )
    assert [f"audit: packed {kind} of job {job_id} of ''\n"] == own
