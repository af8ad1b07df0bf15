"""The function by which operators run a schedule's job now."""

import psycopg
import pytest

from fairlead.db.migrate import migrate
from tests.support.logins import LogIn
from tests.support.race import Database, answer
from tests.support.schedules import schedule

_RUN = "run_schedule('acme', 'nightly')"
_MADE = """
    SELECT queue, tenant, kind, payload, priority, max_attempts,
           extract(epoch FROM timeout)::integer, headers ->> 'shop',
           headers ->> 'fairlead.schedule', enqueued_by,
           extract(epoch FROM expires_at - created_at)::integer,
           headers ->> 'fairlead.fire_time' = to_char(
               created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    FROM fairlead.jobs WHERE id = %s
"""
_FIRED = """
    SELECT considered_until, changes, problem, (SELECT count(*) FROM fairlead.schedule_fires)
    FROM fairlead.schedules
"""
_AUDIT = """
    SELECT job_id, queue, tenant, schedule, actor, reason, login::text FROM fairlead.audit
    WHERE verb = 'run_schedule'
"""
_MORE = {
    "payload": '{"days": 1}',
    "priority": "7",
    "max_attempts": "3",
    "timeout": "5 min",
    "expires_in": "1 h",
    "headers": '{"shop": "a"}',
    "enabled": "false",
}


def _nightly(db: Database, **more: str) -> None:
    schedule(db, "nightly", "0 2 * * *", tenant="acme", queue="mail", **more)


@pytest.mark.parametrize("rls", [False, True], ids=["open", "isolated"])
def test_a_schedules_job_is_as_that_of_its_next_fire(
    db: Database, log_in: LogIn, *, rls: bool
) -> None:
    """And when it fires next stays as it is; the audit log has who, why and which job."""
    migrate(db, rls=rls)
    _nightly(db, **_MORE)
    operator = log_in("fairlead_operator")
    maker = db.execute("SELECT created_by FROM fairlead.schedules").fetchall()[0][0]
    before = db.execute(_FIRED).fetchall()
    with operator.transaction():
        operator.execute("SET LOCAL fairlead.actor = 'ada'")
        operator.execute("SET LOCAL fairlead.reason = 'the bank was away'")
        job = answer(operator, _RUN)

    assert [
        ("mail", "acme", "noop", {"days": 1}, 7, 3, 300, "a", "nightly", maker, 3600, True)
    ] == db.execute(_MADE, [job]).fetchall()
    assert before == db.execute(_FIRED).fetchall()
    assert [
        (job, "mail", "acme", "nightly", "ada", "the bank was away", operator.info.user)
    ] == db.execute(_AUDIT).fetchall()


def test_a_repeat_runs_it_again_and_an_unknown_one_does_nothing(db: Database) -> None:
    """It is for the caller to know whether the first one came."""
    _nightly(db)

    first, second = answer(db, _RUN), answer(db, _RUN)

    assert first != second
    assert answer(db, "run_schedule('globex', 'nightly')") is None
    assert 2 == len(db.execute(_AUDIT).fetchall())


def test_a_schedule_runs_now_while_another_session_holds_it(
    db: Database, log_in: LogIn
) -> None:
    """Nor does it keep the leader from firing it: the row is not locked."""
    _nightly(db)
    operator = log_in("fairlead_operator")
    with db.transaction():
        db.execute("SELECT FROM fairlead.schedules FOR UPDATE")
        assert isinstance(answer(operator, _RUN), int)
    with operator.transaction():
        answer(operator, _RUN)
        free = "SELECT name FROM fairlead.schedules FOR UPDATE SKIP LOCKED"
        assert [("nightly",)] == db.execute(free).fetchall()


def test_nobody_but_an_operator_and_an_administrator_runs_a_schedule(
    db: Database, log_in: LogIn
) -> None:
    """Whoever may insert its job does that; whoever looks changes nothing."""
    _nightly(db)
    assert isinstance(answer(log_in("fairlead_admin"), _RUN), int)
    for role in ("fairlead_viewer", "fairlead_reader", "fairlead_enqueue", "fairlead_worker"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            answer(log_in(role), _RUN)
    assert 1 == len(db.execute(_AUDIT).fetchall())
