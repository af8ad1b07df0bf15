"""What handlers say of their kinds' jobs, `enqueue` puts into the rows."""

import gc
from collections.abc import Callable
from functools import partial

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead

_ROW = """
SELECT queue, priority, max_attempts, extract(epoch FROM timeout)::float8
FROM fairlead.jobs ORDER BY id DESC LIMIT 1
"""


def saying(
    *,
    queue: str | None = None,
    priority: int | None = None,
    max_attempts: int | None = None,
    timeout: float | None = None,
    backoff: float | None = None,
) -> fairlead.Tasks:
    """Return an application with a handler of the kind `says`."""
    tasks = fairlead.Tasks()

    @tasks.handler(
        "says",
        queue=queue,
        priority=priority,
        max_attempts=max_attempts,
        timeout=timeout,
        backoff=backoff,
    )
    def send(_job: fairlead.Job) -> None:
        """Do nothing."""

    return tasks


def test_what_the_caller_does_not_say_its_handler_does(db: Connection[TupleRow]) -> None:
    """One job, many, and those of other kinds; what is said wins, also where it is nothing."""
    tasks = saying(queue="mail", priority=5, max_attempts=3, timeout=90)

    fairlead.enqueue(db, "says")
    assert ("mail", 5, 3, 90.0) == db.execute(_ROW).fetchone()
    fairlead.enqueue_many(db, [fairlead.NewJob(kind="says")])
    assert ("mail", 5, 3, 90.0) == db.execute(_ROW).fetchone()
    fairlead.enqueue(db, "says", queue="default", priority=0, max_attempts=20, timeout=30)
    assert ("default", 0, 20, 30.0) == db.execute(_ROW).fetchone()
    fairlead.enqueue(db, "other")
    assert ("default", 0, None, None) == db.execute(_ROW).fetchone()
    assert ["says"] == [*tasks.handlers]


def test_an_application_that_is_gone_says_nothing(db: Connection[TupleRow]) -> None:
    """That of another test, for example."""
    saying(queue="mail")
    gc.collect()

    fairlead.enqueue(db, "says")

    assert ("default", 0, None, None) == db.execute(_ROW).fetchone()


def test_of_two_applications_the_one_that_came_last_is_heard(db: Connection[TupleRow]) -> None:
    """Not a mixture of both."""
    former, latter = saying(queue="mail", priority=5), saying(queue="letters")

    fairlead.enqueue(db, "says")

    assert former is not latter
    assert ("letters", 0, None, None) == db.execute(_ROW).fetchone()


@pytest.mark.parametrize(
    ("say", "sentence"),
    [
        (partial(saying, queue=""), "queue of 'says' must be 1 to 128 bytes, not ''"),
        (partial(saying, priority=101), "priority of 'says' must be -100 to 100, not 101"),
        (partial(saying, max_attempts=0), "max_attempts of 'says' must be 1 to 1000, not 0"),
        (partial(saying, backoff=-1), "backoff of 'says' must be 0 to 3.1536e.07 seconds"),
    ],
)
def test_a_handler_that_says_what_no_row_may_is_refused(
    say: Callable[[], fairlead.Tasks], sentence: str
) -> None:
    """When it is registered, and not with the first job."""
    with pytest.raises(ValueError, match=sentence):
        say()
