"""The spans of attempts, as a real child of a worker sends them to a collector."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead_worker.ipc import messages
from fairlead_worker.tracing.setup import FLUSH_SECONDS
from tests.integration.worker.test_outcomes import ends
from tests.integration.worker.test_tokens import steal
from tests.support.children import RunningChild, child, register
from tests.support.collector import LATE, SOON, Collector, Mood, collecting
from tests.support.dispatching import dispatch_all, insert
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

APP = "tests.support.traced_app:tasks"
_TRACE, _SPAN = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7
TRACE_ID, SPAN_ID = f"{_TRACE:032x}", f"{_SPAN:016x}"
PARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"


class StartChild(Protocol):
    """Starts a child of a worker that runs the traced application."""

    def __call__(self, *, app: str = APP, **environment: str) -> RunningChild:
        """Start it with these variables."""
        ...


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Yield a collector."""
    with collecting() as started:
        yield started


@pytest.fixture
def start(database_url: str, db: Connection[TupleRow]) -> Iterator[StartChild]:
    """Yield a function that starts a child, which ends with the test."""
    db.execute("CREATE TABLE seen (at serial, what text)")
    with ExitStack() as started:

        def start_one(*, app: str = APP, **environment: str) -> RunningChild:
            worker = register(db, name=f"tested {len(environment)}")
            return started.enter_context(
                child(database_url, worker, app=app, environment=environment)
            )

        yield start_one


@pytest.fixture
def traced(start: StartChild, collector: Collector) -> RunningChild:
    """Return a child that sends its spans to the collector soon."""
    return start(**collector.environment, **SOON)


def enqueue(
    db: Connection[TupleRow], kind: str, headers: object, payload: object = None
) -> int:
    """Insert and dispatch a job with these headers."""
    row = db.execute(
        "INSERT INTO fairlead.jobs (kind, tenant, headers, payload)"
        " VALUES (%s, 'acme', %s::jsonb, %s::jsonb) RETURNING id",
        [kind, json.dumps(headers), json.dumps(payload)],
    ).fetchone()
    assert row is not None
    dispatch_all(db)
    return int(row[0])


def again(db: Connection[TupleRow], job_id: int) -> None:
    """Have a job that waits for its next attempt run now."""
    db.execute("UPDATE fairlead.jobs SET run_at = NULL WHERE id = %s", [job_id])
    dispatch_all(db)


def stopped(running: RunningChild) -> None:
    """Have a child finish what it has, and end."""
    running.send(messages.Drain())
    running.receives(messages.Drained)
    assert 0 == running.exits()


@pytest.mark.usefixtures("traced")
def test_an_attempt_is_a_wait_a_run_and_a_settlement(
    collector: Collector, db: Connection[TupleRow]
) -> None:
    """They follow on each other without a gap, below the span in which the job was enqueued."""
    flags, state = TraceFlags(TraceFlags.SAMPLED), TraceState([("shop", "7")])
    context = SpanContext(_TRACE, _SPAN, is_remote=False, trace_flags=flags, trace_state=state)
    before = datetime.now(UTC)
    with trace.use_span(NonRecordingSpan(context)):
        job_id = fairlead.enqueue(db, "in_thread", tenant="acme")
    assert job_id is not None
    dispatch_all(db)

    (run,) = collector.has("process default", job_id)
    (wait,), (settle,) = collector.has("wait default", job_id), collector.has("settle default")

    assert (TRACE_ID, SPAN_ID, "CONSUMER") == (run.trace_id, run.parent_id, run.kind)
    assert [(TRACE_ID, SPAN_ID)] == [(each.trace_id, each.span_id) for each in run.links]
    for part, kind in ((wait, "INTERNAL"), (settle, "CLIENT")):
        assert (TRACE_ID, run.span_id, kind) == (part.trace_id, part.parent_id, part.kind)
    assert wait.start_ns <= wait.end_ns <= run.start_ns + 1_000_000
    assert abs(wait.end_ns - run.start_ns) < 1_000_000
    assert run.start_ns < run.end_ns
    assert abs(run.end_ns - settle.start_ns) < 1_000_000
    assert settle.start_ns < settle.end_ns
    assert before.timestamp() * 1e9 - 1e9 < wait.start_ns
    assert settle.end_ns < datetime.now(UTC).timestamp() * 1e9 + 1e9
    assert "fairlead-worker" == run.service
    assert {
        "messaging.system": "fairlead",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "default",
        "messaging.message.id": str(job_id),
        "messaging.consumer.group.name": "default",
        "messaging.fairlead.kind": "in_thread",
        "messaging.fairlead.tenant": "acme",
        "messaging.fairlead.attempt": 1,
        "messaging.fairlead.ended_as": "succeeded",
    } == run.attributes
    assert not run.failed


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("kind", ["on_loop", "in_thread", "in_process"])
def test_what_a_handler_traces_is_a_part_of_its_run(
    collector: Collector, db: Connection[TupleRow], kind: str
) -> None:
    """The span of the run is current in the handler, wherever that runs."""
    job_id = enqueue(db, kind, {"traceparent": PARENT})

    result = ends(db, job_id)[1]
    (run,) = collector.has("process default", job_id)
    inner = collector.has("inner", count=2 if kind == "on_loop" else 1)

    assert TRACE_ID in str(result)
    assert {(TRACE_ID, run.span_id)} == {(each.trace_id, each.parent_id) for each in inner}


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("headers", [{"traceparent": PARENT}, {}])
def test_a_retry_is_a_sibling_of_its_former_attempt_and_linked_to_it(
    collector: Collector, db: Connection[TupleRow], headers: dict[str, str]
) -> None:
    """In one trace, whether or not the application began it."""
    job_id = enqueue(db, "raises", headers, "error")
    assert "scheduled" == ends(db, job_id)[0]
    again(db, job_id)

    first, second = collector.has("process default", job_id, count=2)

    creation = [(TRACE_ID, SPAN_ID)] if headers else []
    assert creation == [(each.trace_id, each.span_id) for each in first.links]
    *others, former = second.links
    assert creation == [(each.trace_id, each.span_id) for each in others]
    assert (first.trace_id, first.span_id) == (former.trace_id, former.span_id)
    assert {
        "messaging.fairlead.attempt": 1,
        "messaging.fairlead.ended_as": "failed",
    } == former.attributes
    assert first.trace_id == second.trace_id
    assert first.parent_id == second.parent_id == (SPAN_ID if headers else "")
    assert first.span_id != second.span_id
    assert [1, 2] == [each.attributes["messaging.fairlead.attempt"] for each in (first, second)]


@pytest.mark.usefixtures("traced")
def test_jobs_without_a_trace_get_one_each(
    collector: Collector, db: Connection[TupleRow]
) -> None:
    """A plain INSERT names none."""
    jobs = [insert(db, "in_thread") for _ in range(2)]

    runs = [collector.has("process default", job_id)[0] for job_id in jobs]

    assert 2 == len({each.trace_id for each in runs})
    assert ["", ""] == [each.parent_id for each in runs]


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("kind", ["raises", "raises_in_thread", "raises_in_process"])
def test_a_failed_run_says_so_and_keeps_what_was_raised(
    collector: Collector, db: Connection[TupleRow], kind: str
) -> None:
    """Status and exception, wherever the handler ran."""
    job_id = enqueue(db, kind, {}, "error")

    (run,) = collector.has("process default", job_id)
    (settle,) = collector.has("settle default", job_id)

    assert (True, "ValueError: no luck") == (run.failed, run.message)
    assert "failed" == run.attributes["messaging.fairlead.ended_as"]
    ((name, said),) = run.events
    assert ("exception", "ValueError", "no luck") == (
        name,
        said["exception.type"],
        said["exception.message"],
    )
    assert "traced_app.py" in str(said["exception.stacktrace"])
    assert not settle.failed


@pytest.mark.usefixtures("traced")
def test_a_snooze_is_no_failure(collector: Collector, db: Connection[TupleRow]) -> None:
    """It was too early, and that is all."""
    (run,) = collector.has("process default", enqueue(db, "raises", {}, "snooze"))

    assert (False, ()) == (run.failed, run.events)
    assert "snoozed" == run.attributes["messaging.fairlead.ended_as"]


def test_a_cancelled_run_is_no_failure(
    traced: RunningChild, collector: Collector, db: Connection[TupleRow]
) -> None:
    """It was requested."""
    job_id = enqueue(db, "forever", {})
    (entry,) = traced.runs()

    traced.send(messages.Cancel((entry.key,)))

    (run,) = collector.has("process default", job_id)
    assert (False, ()) == (run.failed, run.events)
    assert "cancelled" == run.attributes["messaging.fairlead.ended_as"]


@pytest.mark.usefixtures("traced")
def test_a_handler_that_was_killed_has_a_span_all_the_same(
    collector: Collector, db: Connection[TupleRow]
) -> None:
    """It stands outside of the process that was killed."""
    (run,) = collector.has("process default", enqueue(db, "deaf", {}))

    assert (True, "timeout: it ran longer than 0.2 s") == (run.failed, run.message[:33])


def test_an_ending_that_came_too_late_is_a_settlement_that_failed(
    traced: RunningChild, collector: Collector, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """The next attempt is linked to the one that had lost its job."""
    job_id = enqueue(db, "until_there", {}, str(tmp_path / "there"))
    (entry,) = traced.runs()
    steal(db, entry)
    until(lambda: len(traced.running()) == 2, what="a second attempt")
    (tmp_path / "there").touch()

    settled = collector.has("settle default", job_id, count=2)
    first, second = collector.has("process default", job_id, count=2)

    assert [True, False] == sorted((each.failed for each in settled), reverse=True)
    assert "the attempt had lost its job" in {each.message for each in settled}
    assert first.span_id == second.links[-1].span_id
    assert "lost" == second.links[-1].attributes["messaging.fairlead.ended_as"]


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize(
    "headers",
    [
        {"traceparent": 5},
        {"traceparent": ["x"], "tracestate": {}},
        {"traceparent": "nonsense"},
        {"traceparent": f"00-{'0' * 32}-{SPAN_ID}-01"},
        {"other": "traceparent"},
    ],
)
def test_headers_that_name_no_span_begin_a_trace(
    collector: Collector, db: Connection[TupleRow], headers: object
) -> None:
    """An application may write anything there; the job runs, and is traced."""
    job_id = enqueue(db, "in_thread", headers)

    (run,) = collector.has("process default", job_id)

    assert ("", ()) == (run.parent_id, run.links)


@pytest.mark.usefixtures("traced")
def test_what_is_not_sampled_is_not_sent(
    collector: Collector, db: Connection[TupleRow]
) -> None:
    """The parent span decides."""
    quiet = enqueue(db, "in_thread", {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-00"})
    assert "succeeded" == ends(db, quiet)[0]

    collector.has("settle default", enqueue(db, "in_thread", {}))

    assert [] == [each for each in collector.spans if each.trace_id == TRACE_ID]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_without_an_endpoint_nothing_is_loaded(
    start: StartChild, db: Connection[TupleRow], more: dict[str, str]
) -> None:
    """Off is off."""
    running = start(**more)

    loaded = ends(db, insert(db, "modules"))[1]

    assert loaded is False
    assert not [line for line in running.log if "traces" in line]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "set it to http/protobuf"),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "set it to otlp or none"),
        ({"OTEL_BSP_MAX_QUEUE_SIZE": "1"}, "see the OTEL_ variables"),
    ],
)
def test_a_wrong_configuration_is_logged_and_the_jobs_run(
    start: StartChild, db: Connection[TupleRow], more: dict[str, str], why: str
) -> None:
    """In one sentence, with what to set."""
    running = start(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1", **more)

    assert "succeeded" == ends(db, insert(db, "modules"))[0]

    said = [json.loads(line) for line in running.log if "traces.disabled" in line]
    assert [("warning", True)] == [(each["level"], why in each["reason"]) for each in said]


def test_a_provider_of_the_applications_own_gets_the_spans(
    start: StartChild, collector: Collector, db: Connection[TupleRow]
) -> None:
    """Nothing else configures it, and its retries are linked, too."""
    start(app="tests.support.providing_app:tasks", TEST_COLLECTOR=collector.url, **SOON)
    job_id = enqueue(db, "raises", {}, "error")
    ends(db, job_id)
    again(db, job_id)

    first, second = collector.has("process default", job_id, count=2)

    assert ("shop", "shop") == (first.service, second.service)
    assert [first.span_id] == [each.span_id for each in second.links]


def test_what_was_traced_is_sent_before_a_child_ends(
    start: StartChild, collector: Collector, db: Connection[TupleRow]
) -> None:
    """Its own spans, and those of the processes of its handlers."""
    running = start(**collector.environment, **LATE)
    jobs = [insert(db, kind) for kind in ("on_loop", "in_thread", "in_process")]
    assert ["succeeded"] * 3 == [ends(db, job_id)[0] for job_id in jobs]
    assert [] == collector.spans

    stopped(running)

    assert 3 == len(collector.of("process default"))
    assert 3 == len(collector.of("settle default"))
    assert 4 == len(collector.of("inner"))


@pytest.mark.parametrize("mood", ["refuses", "hangs"])
def test_a_collector_that_takes_nothing_delays_no_job_and_a_stop_by_little(
    start: StartChild,
    collector: Collector,
    db: Connection[TupleRow],
    mood: Mood,
) -> None:
    """Spans are dropped, and said to be."""
    collector.mood = mood
    running = start(**collector.environment, **SOON)
    insert(db, "in_thread")
    until(collector.asked.is_set, what="spans being sent")

    assert "succeeded" == ends(db, insert(db, "on_loop"))[0]
    began = datetime.now(UTC)
    stopped(running)

    assert datetime.now(UTC) - began < timedelta(seconds=FLUSH_SECONDS + 2)
    assert any("traces.cut_off" in line for line in running.log)
