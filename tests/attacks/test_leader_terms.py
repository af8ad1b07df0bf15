"""Who asks the leader why jobs wait, or waits for work itself, holds up nobody."""

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db import statements
from tests.support.children import register
from tests.support.logins import LogIn
from tests.support.race import insert
from tests.support.schedulers import scheduling
from tests.support.waiting import until

Session = Connection[TupleRow]

_EXPLAIN = statements.load("fairlead_scheduler.loop", "explain")
_LEADING = """
UPDATE fairlead.leaders SET epoch = 7, lease_until = now() + interval '1 h'
WHERE role = 'scheduler'
"""
_OLD = """
INSERT INTO fairlead.explain_requests (job_id, queue, tenant, ahead, asked_at)
SELECT id, queue, tenant, 0, now() - interval '2 minutes' FROM fairlead.jobs WHERE id = %s
RETURNING id
"""
_ASK_ALL = "SELECT count(fairlead.explain(id)) FROM fairlead.job_status"
_OPEN = """
SELECT login, count(*) FROM fairlead.explain_requests WHERE answered_at IS NULL GROUP BY login
"""


def test_who_has_asked_in_an_open_transaction_holds_up_no_answer(
    db: Session, log_in: LogIn
) -> None:
    """Nor do questions that are locked; what is old is forgotten when others are answered."""
    db.execute(_LEADING)
    old, other, asked = insert(db, count=3)
    (((question,),), ((forgotten,),)) = [
        db.execute(_OLD, [job]).fetchall() for job in (old, other)
    ]
    reader = log_in("fairlead_reader")
    db.execute("SET statement_timeout = '2s'")
    values = {"epoch": 7, "ids": [question], "answers": ['{"a": 1}'], "forget_max": 10}

    with reader.transaction():
        assert reader.execute("SELECT fairlead.explain(%s)", [asked]).fetchone() is not None
        db.execute(_EXPLAIN, values)

    found = db.execute(
        "SELECT id, answer FROM fairlead.explain_requests ORDER BY id"
    ).fetchall()
    assert (question, {"a": 1}) == found[0]
    assert forgotten not in {row[0] for row in found}


def test_a_login_asks_a_hundred_questions_at_a_time(db: Session, log_in: LogIn) -> None:
    """Those of others wait behind no more; and it may go on once they are answered."""
    db.execute(_LEADING)
    jobs = insert(db, count=150)
    log_in("fairlead_reader").execute(_ASK_ALL)
    assert [100] == [row[1] for row in db.execute(_OPEN).fetchall()]

    db.execute("SELECT fairlead.explain(%s)", [jobs[-1]])
    assert [1, 100] == sorted(row[1] for row in db.execute(_OPEN).fetchall())

    db.execute("UPDATE fairlead.explain_requests SET answered_at = 'epoch'")
    db.execute(_ASK_ALL)
    assert [100] == [row[1] for row in db.execute(_OPEN).fetchall()]


def test_more_idle_workers_than_a_notification_has_room_for_end_no_term(
    database_url: str, db: Session
) -> None:
    """Their ids have 13 digits after a fail-over."""
    db.execute("SELECT setval('fairlead.worker_leases_id_seq', 1000000000000)")
    for number in range(700):
        register(db, slots=1, name=f"idle {number}")
    with scheduling(database_url):
        led = "SELECT epoch FROM fairlead.leaders WHERE epoch > 0"
        epoch = until(lambda: db.execute(led).fetchone(), what="a leader")
        # Those that are few find slots that the leader knows of.
        insert(db, count=20)
        queued = "SELECT 1 FROM fairlead.work_queue HAVING count(*) >= %s"
        until(lambda: db.execute(queued, [20]).fetchone(), what="a leader that knows of slots")
        jobs = insert(db, count=1000)
        until(lambda: db.execute(queued, [600]).fetchone(), what="dispatches")
        said = "SELECT 1 WHERE fairlead.explain(%s) ->> 'blocked_by' <> 'no leader'"
        until(lambda: db.execute(said, [jobs[-1]]).fetchone(), what="a leader's answer")
        assert epoch == db.execute(led).fetchone()
