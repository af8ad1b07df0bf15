"""What whoever has only the autoscaler's login can stop beyond its own work."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from tests.attacks.test_scheduler import allowed
from tests.support.logins import LogIn
from tests.support.race import insert_one
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

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
