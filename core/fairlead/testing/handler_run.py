"""Run one handler without a database, and record what it reports while it runs."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from fairlead import jsontext
from fairlead.job import MAX_ATTEMPTS, Claimed, Job
from fairlead.jsontext import Json, JsonLike
from fairlead.tasks import Coroutines, Handler, Tasks
from fairlead.testing.caller import OF_LIFESPAN, Caller

_TIMEOUT_SECONDS = 600.0


class AttemptRecorder:
    """An attempt without a worker: it records what the handler reports, and can be cancelled.

    Args:
        cancelled: the handler finds `job.cancelled` true from its start.
        checkpoint: what `job.checkpoint_value` says: from where the job goes on; None is that
            of a job that has not come far enough yet.

    Raises:
        ValueError: the checkpoint is not JSON.
    """

    def __init__(self, *, cancelled: bool = False, checkpoint: JsonLike = None) -> None:
        self._cancelled = cancelled
        self._begins_at = (
            None if checkpoint is None else jsontext.encode("checkpoint", checkpoint)
        )
        self._checkpoints: list[str] = []
        self._progress: list[tuple[float, str]] = []
        self._extensions_seconds: list[float] = []
        self._completed = False
        self._deadline = datetime.now(UTC) + timedelta(seconds=_TIMEOUT_SECONDS)
        self._interrupt: Callable[[], object] = _nothing

    @property
    def progress(self) -> tuple[tuple[float, str], ...]:
        """Every `job.progress`: the fraction and the note, as they would be stored."""
        return tuple(self._progress)

    @property
    def checkpoints(self) -> tuple[Json, ...]:
        """Every `job.checkpoint`, as it would be read again."""
        return tuple(jsontext.parse("checkpoint", text) for text in self._checkpoints)

    @property
    def begins_at(self) -> str | None:
        """The checkpoint that the job finds, as JSON text."""
        return self._begins_at

    @property
    def extensions_seconds(self) -> tuple[float, ...]:
        """Every `job.extend`, in seconds."""
        return tuple(self._extensions_seconds)

    @property
    def completed(self) -> bool:
        """Whether the handler called `job.complete`."""
        return self._completed

    def cancel(self) -> None:
        """Tell the handler to stop, as a worker does: for what it calls meanwhile, any thread.

        `job.cancelled` is true from now on, and a coroutine is cancelled where it waits. A
        repeat changes nothing.
        """
        if not self._cancelled:
            self._cancelled = True
            self._interrupt()

    # --- called by `run` and fairlead.Job ---------------------------------------------------

    def begin(self, timeout_seconds: float) -> None:
        """Start the clock."""
        self._deadline = datetime.now(UTC) + timedelta(seconds=timeout_seconds)

    def interrupt_by(self, interrupt: Callable[[], object]) -> None:
        """Set the function that cancels the coroutine that runs now."""
        self._interrupt = interrupt

    @property
    def max_attempts(self) -> int:
        """How many attempts a job has whose row says nothing; `run` makes one that says it."""
        return MAX_ATTEMPTS

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop."""
        return self._cancelled

    @property
    def deadline(self) -> datetime:
        """When the attempt has run too long; nothing happens then."""
        return self._deadline

    def extend(self, by_seconds: float) -> datetime:
        """Move the deadline to at least so many seconds from now; no pool bounds it."""
        self._extensions_seconds.append(by_seconds)
        longer = datetime.now(UTC) + timedelta(seconds=by_seconds)
        self._deadline = max(self._deadline, longer)
        return self._deadline

    def report(self, fraction: float, note: str) -> None:
        """Note how far the work is."""
        self._progress.append((fraction, note))

    def save_checkpoint(self, text: str) -> None:
        """Record a checkpoint."""
        self._checkpoints.append(text)

    def stores_checkpoint(self, text: str) -> bool:
        """Record one of a handler's transaction; there is no database to write to."""
        self._checkpoints.append(text)
        return False

    def completes(self) -> bool:
        """Record that the handler finishes the job itself; there is no database to write to."""
        self._completed = True
        return False


def run(  # noqa: PLR0913 - each is a field of the job, or stands in for a part of the worker
    tasks: Tasks,
    kind: str,
    payload: JsonLike = None,
    *,
    queue: str = "default",
    tenant: str = "",
    headers: Mapping[str, JsonLike] | None = None,
    attempt: int = 1,
    recorder: AttemptRecorder | None = None,
    context: object = OF_LIFESPAN,
) -> Json:
    """Run one handler here and now, and return its result as it would be stored.

    No database is asked: `job.complete` sends nothing, and the job's id and token are 1. What
    the handler raises, Retry and its kin included, is raised. It runs in this process and
    thread, also with `process=True`; its `concurrency` does not matter, and nothing happens at
    its deadline. A coroutine gets an event loop, in another thread if the test is one too.

    Args:
        tasks: the application.
        kind: the job's.
        payload: the job's, any JSON value; None is an empty object.
        queue: the job's.
        tenant: the job's.
        headers: the job's.
        attempt: what `job.attempt` says, and `job.max_attempts` where the kind has fewer.
        recorder: records progress and extensions, and can cancel. Use one for each run.
        context: what the lifespan would yield, such as fakes; then it is not entered.

    Raises:
        LookupError: there is no handler of this kind.
        ValueError: the payload, or what the handler returned, is not JSON; or a handler or a
            middleware asks for what is not there.
    """
    handler = _handler(tasks, kind)
    row = _row(handler, payload, headers, attempt)._replace(queue=queue, tenant=tenant)
    with Caller() as caller, caller.started(tasks, context) as handlers:
        return _stored(_run_handler(caller, handlers[kind], row, recorder or AttemptRecorder()))


def _row(
    handler: Handler,
    payload: JsonLike,
    headers: Mapping[str, JsonLike] | None,
    attempt: int,
) -> Claimed:
    """Return a job as a claim would, in no queue and of no tenant."""
    return Claimed(
        job_id=1,
        token=1,
        queue="",
        tenant="",
        kind=handler.kind,
        payload=jsontext.encode("payload", {} if payload is None else payload),
        headers=None if headers is None else jsontext.encode("headers", headers),
        attempt=attempt,
        max_attempts=max(handler.max_attempts, attempt),
        timeout_seconds=min(handler.timeout_seconds or _TIMEOUT_SECONDS, _TIMEOUT_SECONDS),
        timeout_max_seconds=None,
        alone=False,
        waited_seconds=0.0,
        doomed=None,
    )


def _handler(tasks: Tasks, kind: str) -> Handler:
    handler = tasks.handlers.get(kind)
    if handler is None:
        known = ", ".join(sorted(tasks.handlers)) or "none"
        raise LookupError(f"no handler for kind {kind!r}; this application has: {known}")
    return handler


def _stored(result: object) -> Json:
    """Return a result as it comes back from the database."""
    if result is None:
        return None
    return jsontext.parse("result", jsontext.encode("result", result))


def _run_handler(
    caller: Caller, handler: Handler, row: Claimed, recorder: AttemptRecorder
) -> object:
    job = Job(row._replace(checkpoint=recorder.begins_at), recorder)
    recorder.begin(row.timeout_seconds)
    if handler.runs_on == "loop":
        coroutine = cast("Coroutines", handler.run)(job)
        return caller.wait_for(_interruptible(coroutine, recorder))
    return caller.call(handler, job)


async def _interruptible(
    coroutine: Coroutine[object, None, object], recorder: AttemptRecorder
) -> object:
    """Await a handler whose recorder may cancel it."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    recorder.interrupt_by(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await coroutine
    finally:
        recorder.interrupt_by(_nothing)


def _nothing() -> None:
    """Do nothing: no coroutine runs."""
