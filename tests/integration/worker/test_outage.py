"""The server dies under a child, and comes back."""

from pathlib import Path

import psycopg
import pytest

from fairlead_cli.dev.postgres import Server
from fairlead_worker.ipc import messages
from tests.support.children import child, register
from tests.support.dispatching import dispatch_all
from tests.support.waiting import until

pytestmark = pytest.mark.any_server


def test_a_child_outlives_the_death_of_the_server(own_server: Server, tmp_path: Path) -> None:
    """A handler runs on, and its ending is stored once, when the server is back."""
    signal = tmp_path / "signal"
    with psycopg.connect(own_server.url, autocommit=True) as db:
        worker_id = register(db)
        db.execute(
            "INSERT INTO fairlead.jobs (kind, payload) VALUES"
            " ('waits_for_file', to_jsonb(%s::text))",
            [str(signal)],
        )
        dispatch_all(db)
    with child(own_server.url, worker_id) as running:
        running.runs()

        own_server.kill()
        signal.touch()
        until(lambda: not running.running(), what="the handler's end")
        own_server.start()

        with psycopg.connect(own_server.url, autocommit=True) as db:
            ended = until(
                lambda: db.execute(
                    "SELECT outcome, result FROM fairlead.job_history"
                ).fetchall(),
                what="the ending",
            )
            db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('echo')")
            dispatch_all(db)
            running.receives(messages.Idle)
            until(
                lambda: (
                    db.execute("SELECT count(*) = 0 FROM fairlead.jobs").fetchone() == (True,)
                ),
                what="the end of a later job",
            )

        assert [("succeeded", "found")] == ended
        assert 0 == running.counted("stale_writes_total")
