"""What each role may do with what the autoscaler goes by, proved by logins that do it."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from tests.support import race
from tests.support.logins import LogIn

DEMAND = (
    "INSERT INTO fairlead.pool_demand (pool, epoch, at, became_runnable_total,"
    " work_slot_seconds, slots_useful, slots_allowed, scheduled_slot_seconds, service_mean,"
    " service_variance)"
    " VALUES ('default', 1, now(), 0, 0, 0, 10, '{0,0,0,0}', 1, 0)"
)
MARK = (
    "INSERT INTO fairlead.pod_drains (pod_uid, pool, drain_until, epoch)"
    " VALUES ('uid', 'default', now() + interval '1 minute', 1)"
)
DRAINED = "UPDATE fairlead.pod_drains SET drained_at = now() WHERE pod_uid = 'uid'"
SOURCE = "UPDATE fairlead.install_options SET policy_source = 'configmap' WHERE only_row"
ALLOWED = {
    "fairlead_autoscaler": (
        "SELECT * FROM fairlead.pool_demand",
        "SELECT * FROM fairlead.policy_versions",
        "SELECT * FROM fairlead.policy_events",
        "SELECT EXISTS (SELECT FROM fairlead.jobs j WHERE j.queue = 'q' AND j.run_at IS NULL)",
        MARK,
        "UPDATE fairlead.pod_drains SET drain_until = now() + interval '1 minute'",
        "SELECT fairlead._unmark_drains(1, '{uid}')",
        "SELECT max(release) FROM fairlead.leaders",
        "SELECT policy_source FROM fairlead.install_options",
        SOURCE,
        "SELECT fairlead.apply_policy('{}', '0123456789ab')",
        "SELECT fairlead.note_refused_policy('0123456789ab', 'said')",
    ),
    "fairlead_scheduler": (
        "SELECT fairlead._own_database('work/shop')",
        DEMAND,
        "UPDATE fairlead.pool_demand SET at = now()",
        "DELETE FROM fairlead.pool_demand",
        "SELECT * FROM fairlead.pod_drains",
        "SELECT fairlead._forget_drains(1)",
    ),
    "fairlead_worker": ("SELECT fairlead.say_drained(1)",),
    "fairlead_admin": (
        "SELECT * FROM fairlead.pool_demand",
        "SELECT * FROM fairlead.pod_drains",
        "SELECT policy_source, policy_place FROM fairlead.install_options",
        "SELECT fairlead._take_over('work/shop')",
        "SELECT fairlead._assign_pool('default', 'work/shop')",
    ),
}
REFUSED = {
    "fairlead_autoscaler": (
        DEMAND,
        "UPDATE fairlead.pool_demand SET slots_useful = 0",
        "DELETE FROM fairlead.pool_demand",
        "SELECT payload FROM fairlead.jobs",
        "SELECT tenant FROM fairlead.jobs",
        "UPDATE fairlead.worker_leases SET dead_at = now()",
        "DELETE FROM fairlead.work_queue",
        "INSERT INTO fairlead.policy_versions (digest, author, document) VALUES ('', '', '')",
        "INSERT INTO fairlead.policy_events (version, event) VALUES (1, 'in_force')",
        "UPDATE fairlead.install_options SET rls = true",
        "SELECT fairlead.pause('default')",
        "SELECT fairlead.cancel(1)",
        DRAINED,
        "DELETE FROM fairlead.pod_drains",
        "SELECT fairlead._own_database('work/shop')",
        "SELECT fairlead._take_over('work/shop')",
    ),
    "fairlead_scheduler": (
        MARK,
        "UPDATE fairlead.pod_drains SET drain_until = now()",
        "DELETE FROM fairlead.pod_drains",
        DRAINED,
        SOURCE,
        "SELECT fairlead._take_over('work/shop')",
    ),
    "fairlead_worker": (
        MARK,
        DRAINED,
        "SELECT * FROM fairlead.pod_drains",
        "UPDATE fairlead.pod_drains SET drain_until = now()",
        "DELETE FROM fairlead.pod_drains",
        "SELECT * FROM fairlead.pool_demand",
        SOURCE,
        "SELECT fairlead._own_database('work/shop')",
        "SELECT fairlead._assign_pool('default', 'work/shop')",
    ),
    "fairlead_admin": (
        MARK,
        DRAINED,
        "DELETE FROM fairlead.pod_drains",
        "DELETE FROM fairlead.pool_demand",
        SOURCE,
    ),
    "fairlead_enqueue": (
        "SELECT * FROM fairlead.pool_demand",
        "SELECT * FROM fairlead.pod_drains",
        SOURCE,
    ),
}


@pytest.mark.parametrize("role", ALLOWED)
def test_a_role_may_do_its_part(log_in: LogIn, role: str) -> None:
    """The scheduler says what is needed, the autoscaler marks pods, workers say drained."""
    someone = log_in(role)

    for statement in ALLOWED[role]:
        someone.execute(statement.encode())


@pytest.mark.parametrize("role", REFUSED)
def test_a_role_may_do_no_more(log_in: LogIn, role: str) -> None:
    """No program writes another one's rows, and the autoscaler sees no job's content."""
    someone = log_in(role)
    allowed: list[str] = []
    for statement in REFUSED[role]:
        try:
            someone.execute(statement.encode())
        except errors.InsufficientPrivilege:
            continue
        allowed.append(statement)

    assert [] == allowed


def test_a_mark_that_begins_anew_is_not_drained(db: Connection[TupleRow]) -> None:
    """`drained_at` is of one mark, and null again when drain_until comes from the past."""
    db.execute(MARK.encode())
    db.execute(DRAINED.encode())

    renew = (
        "UPDATE fairlead.pod_drains SET drain_until = now() + interval %s RETURNING drained_at"
    )
    (kept,) = db.execute(renew.encode() % b"'2 minutes'").fetchall()
    (lapsed,) = db.execute(renew.encode() % b"'-1 second'").fetchall()
    (anew,) = db.execute(renew.encode() % b"'1 minute'").fetchall()

    assert (True, True, False) == tuple(each[0] is not None for each in (kept, lapsed, anew))


def test_workers_show_the_mark_that_is_in_force(db: Connection[TupleRow]) -> None:
    """A worker that does not say what it is to have has what it has; a lapsed mark is none."""
    race.register(db)
    seen = "SELECT slots_full = slots, drain_until > now(), drained_at FROM fairlead.workers"
    db.execute("UPDATE fairlead.worker_leases SET pod_uid = 'uid'")
    db.execute(MARK.encode())

    assert [(True, True, None)] == db.execute(seen.encode()).fetchall()

    db.execute("UPDATE fairlead.worker_leases SET slots_full = slots + 1")
    db.execute("UPDATE fairlead.pod_drains SET drain_until = now() - interval '1 second'")
    assert [(False, None, None)] == db.execute(seen.encode()).fetchall()
