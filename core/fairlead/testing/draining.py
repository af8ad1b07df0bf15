"""Run the due jobs of a database in this process: `drain` and the checks of its arguments."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import datetime

import psycopg

from fairlead.db import session_settings
from fairlead.tasks import Tasks
from fairlead.testing.caller import OF_LIFESPAN, Caller
from fairlead.testing.drain_result import Drained


def drain(
    tasks: Tasks,
    connection: str | psycopg.Connection[object],
    *,
    queues: str | Iterable[str] | None = None,
    now: datetime | None = None,
    jobs_max: int | None = None,
    context: object = OF_LIFESPAN,
) -> Drained:
    """Run the jobs that are due in a migrated database, and those that they enqueue in turn.

    It acts as a worker of pool `default` and, for the moment, as its scheduler: higher priority
    first, then in the order they came, one at a time. Jobs that it retries or snoozes itself
    wait for another drain, unless the delay is 0: a backoff takes a random time. Handlers run
    in this process and thread, also with `process=True`; `concurrency` has no effect, and
    nothing happens at a deadline. Failures are passed to the application's `on_error`.
    Coroutines share one event loop, in another thread if the test is a coroutine itself. A
    lifespan is entered once. A repeat runs only the jobs that have fallen due meanwhile.

    Args:
        tasks: the application.
        connection: a URL: every step is committed. Or psycopg's connection: everything happens
            in its transaction, which the caller ends; in autocommit mode, outside of one,
            every step is committed.
        queues: a name or several; None is every queue.
        now: drain as if it were this instant (with a time zone): scheduled jobs, retries and
            snoozed jobs run in the order of time, and their delays count from there. The clocks
            of the database and of the handlers are not moved, and schedules do not fire.
        jobs_max: stop after so many attempts; None is when nothing is due any more, which never
            comes where a job snoozes for 0 seconds each time.
        context: what the lifespan would yield, such as fakes; then it is not entered.

    Raises:
        RuntimeError: a scheduler or a worker is at work in this database, which drain cannot
            share; the transaction is not READ COMMITTED; or the schema is missing.
        ValueError: an argument is out of bounds, or a handler asks for what is not there.
        TypeError: the connection is neither a URL nor psycopg's synchronous one.
        BaseException: what a handler raises that is no Exception (KeyboardInterrupt,
            SystemExit, CancelledError, pytest's failures), after its job was handed back
            unpunished. If the process dies in the middle, one job stays claimed.
    """
    _check(now, jobs_max)
    from fairlead.testing.drain_loop import DrainLoop
    from fairlead.testing.drain_store import Store

    names = [queues] if isinstance(queues, str) else None if queues is None else list(queues)
    opening, caller = _opened(connection), Caller()
    with opening as opened, caller, caller.started(tasks, context) as handlers:
        store = Store(opened, queues=names, now=now)
        return DrainLoop(handlers, tasks.on_error, store, caller).run(jobs_max)


def _check(now: datetime | None, jobs_max: int | None) -> None:
    if now is not None and now.utcoffset() is None:
        raise ValueError(f"now {now} has no time zone: give one, such as UTC")
    if jobs_max is not None and jobs_max < 1:
        raise ValueError(f"jobs_max must be at least 1, not {jobs_max}")


@contextmanager
def _opened(
    connection: str | psycopg.Connection[object],
) -> Generator[psycopg.Connection[object]]:
    """Yield the given connection, or a new one that is closed at the end."""
    given: object = connection  # callers without a type checker may pass anything
    if isinstance(connection, str):
        with psycopg.connect(connection, autocommit=True, client_encoding="UTF8") as own:
            own.execute(session_settings.of_session(own.info.server_version))
            yield own
    elif isinstance(given, psycopg.Connection):
        yield connection
    else:
        raise TypeError(
            f"connection must be a URL or a psycopg.Connection, not {type(given).__name__}"
        )
