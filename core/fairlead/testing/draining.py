"""Run what a database holds, in this process: the door, and what may come through it."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import datetime

import psycopg

from fairlead.tasks import Tasks
from fairlead.testing.calling import Caller
from fairlead.testing.drained import Drained


def drain(
    tasks: Tasks,
    connection: str | psycopg.Connection[object],
    *,
    queues: str | Iterable[str] | None = None,
    now: datetime | None = None,
    jobs_max: int | None = None,
) -> Drained:
    """Run the jobs that are due in a migrated database, and those that they enqueue in turn.

    It acts as a worker of pool `default` and, for the moment, as its scheduler: higher priority
    first, then in the order they came, one at a time. What it puts off itself waits for another
    drain, except for a delay of 0: a back-off takes a random time. Handlers run in this process
    and thread, also with `process=True`; `concurrency` does not matter, and nothing happens at
    a deadline. The application's `on_error` is told of failures. Coroutines share one event
    loop, in another thread if the test is a coroutine itself. A repeat finds no more than what
    has fallen due meanwhile.

    Args:
        tasks: the application.
        connection: a URL: every step is committed. Or psycopg's connection: everything happens
            in its transaction, which the caller ends; in autocommit mode, outside of one,
            every step is committed.
        queues: a name or several; None is every queue.
        now: drain as if it were this instant (with a time zone): scheduled jobs, retries and
            snoozed jobs run in the order of time, and what they put off counts from there. The
            clocks of the database and of the handlers are not moved, and schedules do not fire.
        jobs_max: stop after so many attempts; None is when nothing is due any more, which never
            comes where a job snoozes for 0 seconds each time.

    Raises:
        RuntimeError: a scheduler or a worker is at work in this database, which drain cannot
            share; the transaction is not READ COMMITTED; or the schema is missing.
        ValueError: `now` has no time zone, or `jobs_max` is below 1.
        TypeError: the connection is neither a URL nor psycopg's synchronous one.
        BaseException: what a handler raises that is no Exception (KeyboardInterrupt,
            SystemExit, CancelledError, pytest's failures), after its job was handed back
            unpunished. If the process dies in the middle, one job stays claimed.
    """
    _check(now, jobs_max)
    from fairlead.testing.store import Store
    from fairlead.testing.turns import Turns

    names = [queues] if isinstance(queues, str) else None if queues is None else list(queues)
    with _opened(connection) as opened, Caller() as caller:
        store = Store(opened, queues=names, now=now)
        return Turns(tasks, store, caller).run(jobs_max)


def _check(now: datetime | None, jobs_max: int | None) -> None:
    if now is not None and now.utcoffset() is None:
        raise ValueError(f"now {now} has no time zone: give one, such as UTC")
    if jobs_max is not None and jobs_max < 1:
        raise ValueError(f"jobs_max must be at least 1, not {jobs_max}")


@contextmanager
def _opened(
    connection: str | psycopg.Connection[object],
) -> Generator[psycopg.Connection[object]]:
    """Yield the connection, or one of our own that is closed in the end."""
    given: object = connection  # whatever its caller thinks that it is
    if isinstance(connection, str):
        with psycopg.connect(connection, autocommit=True) as own:
            yield own
    elif isinstance(given, psycopg.Connection):
        yield connection
    else:
        raise TypeError(
            f"connection must be a URL or a psycopg.Connection, not {type(given).__name__}"
        )
