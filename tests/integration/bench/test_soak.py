"""What a scene counts while a login does its worst."""

from bench.fairness.scenes.soak import Sessions
from fairlead_worker.ipc import messages
from tests.support.children import RunningChild
from tests.support.race import Database
from tests.support.waiting import until

_CHILDS = """
    SELECT pid FROM pg_stat_activity
    WHERE application_name LIKE 'fairlead %' AND pid <> pg_backend_pid() ORDER BY pid
"""


def test_a_session_that_a_child_loses_is_counted(running: RunningChild, db: Database) -> None:
    """Its process goes on with another one, so that nothing else shows it."""
    running.receives(messages.Idle)
    sessions = Sessions(db)
    first = {pid for (pid,) in db.execute(_CHILDS)}
    assert 0 == sessions.lost()

    db.execute("SELECT pg_terminate_backend(%s)", [min(first)])

    until(lambda: sessions.lost() == 1, what="the loss")
    second = until(
        lambda: {pid for (pid,) in db.execute(_CHILDS)} - first, what="a session in its place"
    )
    sessions.look(1e9)
    db.execute("SELECT pg_terminate_backend(%s)", [min(second)])
    until(lambda: sessions.lost() == 2, what="the loss of that one")
