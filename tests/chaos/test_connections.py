"""Where not all workers can have their connections, as many work as can have all of theirs."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from fairlead_scheduler.leadership.term_sessions import TermSessions
from tests.chaos.fleet import Fleet, Program, fleet
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.logins import as_login, login
from tests.support.waiting import until

_WORKERS, _SLOTS = 6, 2
_OF_WORKER = 3
"""How many connections a worker with one child needs."""
_FREE = _WORKERS + 1
"""How many all workers may have: one each, and one more, where two workers could work."""
_FIT = _FREE // _OF_WORKER
_RESERVED = 8
"""Of the test, which is a superuser."""
_STORED_SECONDS = 10.0
"""Within so long what has ended is stored, as long as the server answers."""
_STORED_AT = """
    SELECT id, token, extract(epoch FROM finished_at)::float8 FROM fairlead.job_history
"""


@pytest.fixture
def crowded(migrated_data: Path) -> Iterator[Server]:
    """Yield a migrated server with room for two schedulers and a third of the workers."""
    schedulers = 2 * len(TermSessions._fields)
    few = {
        **FAST,
        "superuser_reserved_connections": str(_RESERVED),
        "max_connections": str(_RESERVED + schedulers + _FREE + 2),
    }
    with running_server(few, within=fast_folder(), data=migrated_data) as running:
        yield running


def start(made: Fleet, number: int, url: str) -> Program:
    """Start a worker, which may not get its connections."""
    arguments = ["--app", "tests.chaos.app:tasks", "--concurrency", str(_SLOTS)]
    return made.start(
        f"w{number}", "fairlead_worker.main", *arguments, "--name", f"w{number}", url=url
    )


def full(observer: Connection[TupleRow]) -> set[str]:
    """Return the names of the live workers that run a job in each slot."""
    rows = observer.execute(
        "SELECT w.name FROM fairlead.work_queue q JOIN fairlead.worker_leases w"
        " ON w.id = q.worker WHERE w.dead_at IS NULL AND w.lease_until > now()"
        " GROUP BY w.name HAVING count(*) = %s",
        [_SLOTS],
    ).fetchall()
    return {str(row[0]) for row in rows}


@pytest.mark.timeout(300)
def test_as_many_workers_work_as_can_have_all_their_connections(
    crowded: Server, tmp_path: Path
) -> None:
    """No half-connected ones keep what others need: at the start, and when one is gone."""
    with ExitStack() as opened:
        url = as_login(crowded.url, opened.enter_context(login(crowded.url, "fairlead_worker")))
        made = opened.enter_context(fleet(crowded.url, tmp_path))
        schedulers = [made.scheduler(f"scheduler-{number}") for number in range(2)]
        made.await_lead()
        db = opened.enter_context(made.connect())
        workers = [start(made, number, url) for number in range(_WORKERS)]
        made.insert("held", 0, 2 * _WORKERS * _SLOTS)

        until(lambda: len(full(db)) == _FIT, what="full workers", seconds=60)
        busy = next(each for each in workers if each.name in full(db))
        busy.kill()
        until(
            lambda: len(full(db) - {busy.name}) == _FIT, what="full workers again", seconds=60
        )
        leading = made.leader_pid()
        next(each for each in schedulers if each.pid == leading).kill()
        until(lambda: made.leader_pid() not in {None, leading}, what="a take-over", seconds=20)
        made.release()
        made.wait_until_done(60)

        assert made.violations().is_empty, made.violations()
        assert stored_seconds(made) < _STORED_SECONDS


def stored_seconds(made: Fleet) -> float:
    """Return how long after its handler a job ended in the database, at most."""
    finished = {
        (each.job, each.token): each.at for each in made.events() if each.event == "finished"
    }
    with made.connect() as db:
        rows = db.execute(_STORED_AT).fetchall()
    return max(float(at) - finished[job, token] for job, token, at in rows)
