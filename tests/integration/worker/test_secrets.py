"""What a job carries is in the database, and in no log, metric, trace or error of ours."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from psycopg import Connection, Error
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead.client import enqueue, enqueue_many
from fairlead.new_jobs import NewJob
from tests.chaos.fleet import Fleet
from tests.integration.conftest import Fairlead
from tests.support.canary_app import KINDS, SECRETS, canary
from tests.support.collector import SOON, Collector, collecting
from tests.support.health import listening_port, page
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

POLICY = f"""
# {canary("policy")}
queues:
  - match: {{queue: default}}
    concurrency: [{{key: payload.secret, limit: 1000}}]
"""
REFUSALS = (
    "ALTER TABLE fairlead.job_history ADD CHECK (result -> 'refused' IS NULL)",
    f"ALTER TABLE fairlead.job_progress ADD CHECK (note <> '{canary('note')}') NOT VALID",
)
"""With which the database quotes the row that it refuses."""
JOB = NewJob(
    kind="k",
    payload={"secret": canary("payload")},
    headers={"secret": canary("headers")},
    dedup_key=canary("dedup"),
)
SAID = {"attempt.failed"}
"""What logs the first line of an error that a handler has raised: its text is its author's."""
_STORED = b"""
SELECT string_agg(error, E'\\n') FROM (
    SELECT error FROM fairlead.attempt_errors
    UNION ALL SELECT error FROM fairlead.job_history) e
"""


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Yield a collector."""
    with collecting() as started:
        yield started


def found_in(text: str, *places: str) -> list[str]:
    """Return the places whose canary is in a text."""
    return [place for place in places if canary(place) in text]


def insert_all(db: Connection[TupleRow]) -> None:
    """Insert a job of each kind that carries a secret wherever one fits."""
    jobs = (replace(JOB, kind=each, max_attempts=2, timeout=0.5) for each in KINDS)
    enqueue_many(db, [replace(job, dedup_key=f"{job.dedup_key} {job.kind}") for job in jobs])


def run_all(fleet: Fleet, db: Connection[TupleRow], collector: Collector) -> str:
    """Run a fleet until every job has ended; return its pages."""
    fleet.environment = {
        **collector.environment,
        **SOON,
        "FAIRLEAD_LOG_LEVEL": "debug",
        "FAIRLEAD_HEALTH_PORT": "0",
        "FAIRLEAD_REPORT_SECONDS": "1",
    }
    leader = fleet.scheduler()
    arguments = ("--app", "tests.support.canary_app:tasks", "--concurrency", "4")
    worker = fleet.start("worker", "fairlead_worker.main", *arguments)
    insert_all(db)
    ended = "SELECT FROM fairlead.jobs WHERE kind <> 'refused' LIMIT 1"
    until(lambda: not db.execute(ended).fetchall(), what="the end of every job", seconds=90)
    pages = "".join(page(listening_port(each.pid), "metrics") for each in (leader, worker))
    worker.stop()
    leader.stop()
    return pages


def test_what_a_job_carries_is_in_no_log_metric_or_trace(
    fleet: Fleet, db: Connection[TupleRow], collector: Collector
) -> None:
    """However its attempts end, and at the level debug."""
    policy_storage.store(db, POLICY)
    for statement in REFUSALS:
        db.execute(statement.encode())

    pages = run_all(fleet, db, collector)

    logs = [line for each in fleet.programs for line in each.log.read_text().splitlines()]
    assert any(canary("error") in line for line in logs)
    quoting = [line for line in logs if found_in(line, *SECRETS)]
    assert [] == quoting
    errors = {json.loads(line)["event"] for line in logs if canary("error") in line}
    assert SAID == errors
    assert [] == found_in(pages, *SECRETS, "error")
    assert len(collector.spans) > len(KINDS)
    assert [] == found_in(repr(collector.spans), *SECRETS)
    (stored,) = db.execute(_STORED).fetchone() or ("",)
    assert canary("error") in stored
    assert "caused by KeyError: 19" in stored
    assert [] == found_in(stored, *SECRETS)
    events = {"attempt.failed", "child.overran", "child.died", "progress.not_stored"}
    assert {"ending.refused"} | events <= {json.loads(line)["event"] for line in logs}


@pytest.mark.parametrize(
    "wrong", [{"priority": 1000}, {"timeout": -1}, {"max_attempts": 0}, {"queue": "q" * 200}]
)
def test_a_refused_insert_quotes_the_field_that_is_wrong_and_no_other(
    db: Connection[TupleRow], wrong: dict[str, object]
) -> None:
    """An application logs its exceptions."""
    with pytest.raises(Error) as refused:
        enqueue_many(db, [replace(JOB, **wrong)])  # type: ignore[arg-type]  # fields by name

    assert [] == found_in(str(refused.value), *SECRETS)


@pytest.mark.parametrize(
    "payload",
    [
        {canary("payload"): object()},
        [canary("payload"), float("nan")],
        canary("payload") + "\0",
        canary("payload") + "\ud800",
        canary("payload") * 2**20,
    ],
    ids=["object", "nan", "nul", "surrogate", "large"],
)
def test_a_payload_that_is_no_json_is_not_quoted(
    db: Connection[TupleRow], payload: object
) -> None:
    """The sentence says what is wrong with it."""
    with pytest.raises((ValueError, Error)) as refused:
        enqueue(db, "k", payload)  # type: ignore[call-overload]  # that is the point

    assert [] == found_in(str(refused.value), *SECRETS)


@pytest.mark.parametrize(
    "words",
    [
        ("k", f'{{"secret": "{canary("payload")}'),
        ("k", "{}", "--headers", f'["{canary("headers")}"]'),
        ("k", "{}", "--headers", f'{{"{canary("headers")}'),
        ("k", f'"{canary("payload")}"', "--priority", "1000", "--dedup-key", canary("dedup")),
        ("k", "{}", "--dedup-key", canary("dedup") * 20),
    ],
    ids=["payload", "no object", "headers", "priority", "key"],
)
def test_a_refused_command_does_not_repeat_what_the_job_carries(
    fairlead: Fairlead, words: tuple[str, ...]
) -> None:
    """What a command prints ends up in the logs of whatever ran it."""
    assert [] == found_in(fairlead("enqueue", *words, code=2), *SECRETS)


def test_a_repeated_key_is_not_repeated(fairlead: Fairlead) -> None:
    """A key may be an address of a person's."""
    words = ("enqueue", "k", "--dedup-key", canary("dedup"))
    fairlead(*words)

    said = fairlead(*words)

    assert "an unfinished job has this dedup key" in said
    assert [] == found_in(said, *SECRETS)
