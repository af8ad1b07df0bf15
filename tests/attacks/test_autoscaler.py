"""What whoever has only the autoscaler's login can stop beyond its own work."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead.policy import digest, parse
from tests.attacks.test_scheduler import allowed
from tests.support.logins import LogIn
from tests.support.race import insert_one
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_OTHER = "version: 1\nqueues: [{match: {queue: a}, weight: 9}]\n"
REFUSED = (
    "UPDATE fairlead.leaders SET lease_until = 'infinity' WHERE role = 'scheduler'",
    "UPDATE fairlead.leaders SET epoch = 9223372036854775807",
    "SELECT FROM fairlead.leaders WHERE role = 'scheduler' FOR UPDATE",
    "SELECT FROM fairlead.leaders WHERE role = 'scheduler' FOR KEY SHARE",
    "LOCK TABLE fairlead.leaders IN ROW EXCLUSIVE MODE",
    "SELECT * FROM fairlead._acquire_leadership('me', 60, '')",
    "SELECT fairlead._renew_leadership(1, 60)",
    "SELECT fairlead._release_leadership(1)",
    "SELECT fairlead._leads(1)",
    "SELECT fairlead.reset_leadership()",
    "SELECT fairlead.make_history_partitions()",
    "SELECT * FROM fairlead.drop_history_partitions(1, 1)",
)


def test_the_autoscalers_login_has_no_right_to_the_schedulers_lead(log_in: LogIn) -> None:
    """It may neither change nor lock the row, by a statement or by a function."""
    assert [] == allowed(log_in("fairlead_autoscaler"), REFUSED)


@pytest.mark.parametrize("name", [None, "x" * 100_000])
def test_the_name_that_the_autoscaler_gives_is_bounded(log_in: LogIn, name: str | None) -> None:
    """Its epoch is one more than the last, and its row's other values are not its to give."""
    autoscaler = log_in("fairlead_autoscaler")

    with pytest.raises(errors.InvalidParameterValue):
        autoscaler.execute("SELECT fairlead._begin_autoscaler_epoch(%s, '')", [name])


def test_an_open_transaction_of_the_autoscaler_stops_no_scheduler(
    log_in: LogIn, database_url: str, db: Connection[TupleRow]
) -> None:
    """Everything that it may call locks its own row alone."""
    autoscaler = log_in("fairlead_autoscaler")
    with autoscaler.transaction():
        autoscaler.execute("SELECT fairlead._begin_autoscaler_epoch('me', '')")
        autoscaler.execute("SELECT * FROM fairlead.leaders, fairlead.work_queue")
        with scheduling(database_url):
            led(db)
            job = insert_one(db)
            until(
                lambda: (
                    db.execute(
                        "SELECT FROM fairlead.work_queue WHERE job_id = %s", [job]
                    ).fetchone()
                    is not None
                ),
                what="the dispatch",
            )


def test_who_moves_the_policy_is_in_the_audit_log(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """Whoever applies a policy is sent there; an autoscaler that says the same adds nothing."""
    autoscaler = log_in("fairlead_autoscaler")
    for place in ("kube-system/evil", "kube-system/evil", "work/policy"):
        autoscaler.execute(
            "UPDATE fairlead.install_options SET policy_source = 'configmap',"
            " policy_place = %s",
            [place],
        )

    evil, again = "configmap kube-system/evil", "configmap work/policy"
    assert [
        ("move_policy", {"from": "database", "to": evil}, autoscaler.info.user),
        ("move_policy", {"from": evil, "to": again}, autoscaler.info.user),
    ] == db.execute("SELECT verb, details, login FROM fairlead.audit ORDER BY id").fetchall()


@pytest.mark.parametrize("false", ["nonsense", _OTHER], ids=["no policy", "another"])
def test_a_false_digest_keeps_no_policy_from_being_stored(
    db: Connection[TupleRow], log_in: LogIn, false: str
) -> None:
    """An administrator's document was said to be in force that was not even stored."""
    right = _OTHER.replace("weight: 9", "weight: 2")
    log_in("fairlead_autoscaler").execute(
        "SELECT fairlead.apply_policy(%s, %s)", [false, digest(parse(right))]
    )

    stored = policy_storage.store(log_in("fairlead_admin"), right)

    newest = policy_storage.newest(db)
    assert newest is not None
    assert (True, stored.version, right) == (stored.new, newest.version, newest.document)
    assert digest(parse(right)) == newest.digest
    assert not policy_storage.store(db, right).new
