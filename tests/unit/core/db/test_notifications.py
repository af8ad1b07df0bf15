"""What is kept of notifications that nobody has taken yet."""

from types import SimpleNamespace
from typing import cast

from psycopg.pq.misc import PGnotify

from fairlead.db.connect import Connection
from fairlead.db.notifications import Notifications


def session(notices: list[PGnotify]) -> Connection:
    """Return a session to which these notifications have come."""
    pgconn = SimpleNamespace(
        notify_handler=None,
        consume_input=lambda: None,
        notifies=lambda: notices.pop(0) if notices else None,
    )
    return cast("Connection", SimpleNamespace(pgconn=pgconn))


def texts(count: int) -> list[PGnotify]:
    """Return notifications of 8 kB, the longest that PostgreSQL sends, no two the same."""
    return [PGnotify(b"news", 1, str(number).encode().zfill(7999)) for number in range(count)]


def test_of_a_flood_a_megabyte_is_kept() -> None:
    """Any login may send such; what comes after they were taken is kept again."""
    arrived = texts(1000)
    notices = Notifications(session(arrived))

    kept = notices.take()

    assert [] == arrived
    assert (1 << 20) <= sum(map(len, kept)) < (1 << 20) + 8000
    arrived.extend(texts(3))
    assert 3 == len(notices.take())
