"""An application tests one handler by hand: `run`, and the recorder that watches it."""

import asyncio
from datetime import UTC, datetime
from typing import cast

import pytest

import fairlead
from fairlead import testing

tasks = fairlead.Tasks()


@tasks.handler("add")
def add(job: fairlead.Job[dict[str, int]]) -> int:
    """Add two numbers."""
    return job.payload["a"] + job.payload["b"]


@tasks.handler("apart", process=True, concurrency=1)
def apart(job: fairlead.Job) -> fairlead.Json:
    """Be meant for a process."""
    return job.payload


@tasks.handler("greet")
async def greet(job: fairlead.Job) -> fairlead.Json:
    """Return the job's fields."""
    await asyncio.sleep(0)
    return [job.tenant, job.queue, job.attempt, job.headers, job.cancelled, job.max_attempts]


@tasks.handler("tuple")
def returns_a_tuple(_job: fairlead.Job) -> tuple[int, ...]:
    """Return what JSON has no word for."""
    return (1, 2)


@tasks.handler("object")
def returns_an_object(_job: fairlead.Job) -> fairlead.Json:
    """Return what JSON cannot hold."""
    return cast("fairlead.Json", object())


@tasks.handler("import", timeout=30)
def import_rows(job: fairlead.Job[int]) -> int:
    """Report each row, ask for more time, stop when cancelled."""
    for row in range(job.payload):
        if job.cancelled:
            return row
        job.progress(row / job.payload, f"row {row}")
        job.extend(60)
    return job.payload


@tasks.handler("fail")
def fail(job: fairlead.Job) -> None:
    """Raise what the payload says."""
    errors = {
        "retry": fairlead.Retry(after=60),
        "snooze": fairlead.Snooze(for_=60),
        "discard": fairlead.Discard("never"),
    }
    raise errors[str(job.payload)]


class _AsyncCursor:
    """A cursor that must not be used."""

    async def execute(self, query: bytes, params: object, /) -> object:
        """Fail the test."""
        raise AssertionError(query, params)


@tasks.handler("complete")
async def complete(job: fairlead.Job) -> str:
    """Finish the job in a transaction of its own."""
    await job.complete(_AsyncCursor())
    return "done"


def test_one_handler_runs_by_hand_and_answers_its_result() -> None:
    """`run` calls a handler with a payload: a function, a coroutine, one for a process."""
    assert 3 == testing.run(tasks, "add", {"a": 1, "b": 2})
    assert {} == testing.run(tasks, "apart")
    greeting = testing.run(
        tasks, "greet", tenant="acme", queue="mail", headers={"trace": 1}, attempt=7
    )
    assert ["acme", "mail", 7, {"trace": 1}, False, 20] == greeting


def test_a_result_is_answered_as_it_would_be_stored() -> None:
    """A tuple comes back as a list, and what is not JSON is refused."""
    assert [1, 2] == testing.run(tasks, "tuple")
    with pytest.raises(ValueError, match="result cannot be written as JSON"):
        testing.run(tasks, "object")


def test_a_handler_runs_inside_a_test_that_has_an_event_loop() -> None:
    """A test may be a coroutine itself."""

    async def test() -> fairlead.Json:
        return testing.run(tasks, "greet")

    assert ["", "default", 1, {}, False, 20] == asyncio.run(test())


def test_running_a_coroutine_leaves_the_tests_own_event_loop() -> None:
    """A plugin may have set one for tests that are coroutines."""
    own = asyncio.new_event_loop()
    asyncio.set_event_loop(own)
    try:
        testing.run(tasks, "greet")
        assert own is asyncio.get_event_loop()
    finally:
        asyncio.set_event_loop(None)
        own.close()


@pytest.mark.parametrize(
    ("payload", "error"),
    [("retry", fairlead.Retry), ("snooze", fairlead.Snooze), ("discard", fairlead.Discard)],
)
def test_what_a_handler_raises_is_raised(payload: str, error: type[Exception]) -> None:
    """A test can expect a Retry, and a bug shows its traceback."""
    with pytest.raises(error):
        testing.run(tasks, "fail", payload)


def test_a_kind_without_a_handler_is_named_with_those_that_have_one() -> None:
    """A misspelt kind is a sentence."""
    with pytest.raises(
        LookupError, match="no handler for kind 'ad'; this application has: add,"
    ):
        testing.run(tasks, "ad")


def test_completing_needs_no_database_by_hand() -> None:
    """`job.complete` sends nothing, is awaitable where it should be, and is recorded."""
    recorder = testing.AttemptRecorder()

    assert "done" == testing.run(tasks, "complete", recorder=recorder)
    assert recorder.completed
    assert not testing.AttemptRecorder().completed


def test_a_rehearsal_records_progress_and_extensions() -> None:
    """What the handler reports, in order."""
    recorder = testing.AttemptRecorder()

    assert 2 == testing.run(tasks, "import", 2, recorder=recorder)

    assert ((0.0, "row 0"), (0.5, "row 1")) == recorder.progress
    assert (60.0, 60.0) == recorder.extensions_seconds
    left = (recorder.deadline - datetime.now(UTC)).total_seconds()
    assert 60 == pytest.approx(left, abs=5)


def test_a_deadline_is_the_handlers_timeout_or_ten_minutes() -> None:
    """As where neither the job's row nor the pool says anything else."""
    lefts: list[float] = []
    for kind in ("import", "add"):
        recorder = testing.AttemptRecorder()
        testing.run(tasks, kind, {"a": 1, "b": 1} if kind == "add" else 0, recorder=recorder)
        lefts.append((recorder.deadline - datetime.now(UTC)).total_seconds())

    assert [30, 600] == [pytest.approx(left, abs=5) for left in lefts]


def test_a_rehearsal_may_be_cancelled_before_it_begins() -> None:
    """The handler finds `job.cancelled` true from its start."""
    assert 0 == testing.run(
        tasks, "import", 2, recorder=testing.AttemptRecorder(cancelled=True)
    )


def test_what_a_handler_calls_may_cancel_the_rehearsal() -> None:
    """A function has to ask; a repeat changes nothing."""
    recorder = testing.AttemptRecorder()
    own = fairlead.Tasks()

    @own.handler("ask")
    def ask(job: fairlead.Job) -> list[bool]:
        before = job.cancelled
        recorder.cancel()
        recorder.cancel()
        return [before, job.cancelled]

    assert [False, True] == testing.run(own, "ask", recorder=recorder)
    assert recorder.cancelled


def test_cancelling_interrupts_a_coroutine_where_it_waits() -> None:
    """As a worker does; what it does then is up to the handler."""
    recorder = testing.AttemptRecorder()
    own = fairlead.Tasks()

    @own.handler("stubborn")
    async def stubborn(job: fairlead.Job) -> bool:
        recorder.cancel()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if job.payload:
                raise
        return job.cancelled

    assert testing.run(own, "stubborn", payload=False, recorder=recorder) is True
    late = testing.AttemptRecorder()
    assert "done" == testing.run(tasks, "complete", recorder=late)
    late.cancel()  # of nothing that runs
    recorder = testing.AttemptRecorder()
    with pytest.raises(asyncio.CancelledError):
        testing.run(own, "stubborn", payload=True, recorder=recorder)
