"""No notification is missed, during a rest or with the answer to a statement."""

from collections.abc import Iterator
from contextlib import closing
from time import monotonic

import psycopg
import pytest

from fairlead.db.notifications import Notifications
from fairlead.runtime.wakeup import Wakeup
from tests.conftest import Background, Connect
from tests.support.race import Database
from tests.support.waiting import blocked

LOCK = "select pg_advisory_lock(42)"
UNLOCK = "select pg_advisory_unlock(42)"
FOREVER_SECONDS = 60.0


@pytest.fixture
def wakeup() -> Iterator[Wakeup]:
    """Yield a wake-up, closed at the end."""
    with closing(Wakeup()) as made:
        yield made


@pytest.fixture
def listener(connect: Connect) -> Database:
    """Return a session that listens."""
    session = connect()
    session.execute("listen news")
    return session


def test_what_comes_with_an_answer_ends_the_next_wait(
    listener: Database, db: Database, wakeup: Wakeup, background: Background
) -> None:
    """Its socket is silent after that, so who waited for it alone would wait in vain."""
    notices = Notifications(listener)
    db.execute(LOCK)
    answered = background(lambda: listener.execute(LOCK))
    blocked(db, listener.info.backend_pid)
    db.execute("notify news, 'first'")
    db.execute(UNLOCK)
    answered.result()
    began = monotonic()

    payloads = notices.wait(wakeup, FOREVER_SECONDS)

    assert payloads == ["first"]
    assert monotonic() - began < FOREVER_SECONDS / 2


def test_what_comes_during_a_wait_ends_it(
    listener: Database, db: Database, wakeup: Wakeup, background: Background
) -> None:
    """A notification ends a wait."""
    notices = Notifications(listener)
    payloads = background(lambda: notices.wait(wakeup, FOREVER_SECONDS))

    db.execute("notify news, 'second'")

    assert payloads.result(FOREVER_SECONDS / 2) == ["second"]


def test_a_wakeup_ends_a_wait_with_nothing(listener: Database, wakeup: Wakeup) -> None:
    """A wake-up carries no payload."""
    notices = Notifications(listener)
    wakeup.wake()

    assert notices.wait(wakeup, FOREVER_SECONDS) == []


def test_each_notification_is_told_once(listener: Database, db: Database) -> None:
    """In the order in which they were sent."""
    notices = Notifications(listener)
    db.execute("notify news, 'a'")
    listener.execute("select")
    db.execute("notify news, 'b'")
    listener.execute("select")

    assert notices.take() == ["a", "b"]
    assert notices.take() == []


def test_a_lost_session_is_said_at_once(
    listener: Database, db: Database, wakeup: Wakeup
) -> None:
    """A wait for a lost session fails at once."""
    notices = Notifications(listener)
    db.execute("select pg_terminate_backend(%s, 10000)", (listener.info.backend_pid,))

    with pytest.raises(psycopg.OperationalError):
        notices.wait(wakeup, FOREVER_SECONDS)
