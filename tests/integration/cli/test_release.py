"""`fairlead workers release`: what a lost worker held is queued again, each job once."""

import json
import os
import subprocess
import sys

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.conftest import Connect
from tests.integration.cli.test_cli import insert, lease
from tests.integration.conftest import Fairlead


def test_a_worker_is_released_by_hand(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """It is dead, its jobs are in the queue again, and no attempt was used up."""
    job = insert(db, kind="k")
    worker = lease(db, job)

    assert {"id": worker, "released": 1, "held": 0} == json.loads(
        fairlead("workers", "release", "w1", "--json")
    )

    assert ("queued", 0, 0, 0) == db.execute(
        "SELECT state, attempt, crashes, losses FROM fairlead.job_status"
    ).fetchone()
    assert "dead" in fairlead("workers", "list")
    assert "unknown" in fairlead("workers", "release", "w1", code=1)
    assert {"id": worker, "released": 0, "held": 0} == json.loads(
        fairlead("workers", "release", str(worker), "--json")
    )


def test_a_release_by_hand_says_in_the_audit_log_who_did_it_and_why(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """As whatever else is done by hand."""
    worker = lease(db, insert(db, kind="k"))

    fairlead(
        "workers", "release", str(worker), "--actor", "ann", "--reason", "its node is gone"
    )

    assert [
        (verb, "ann", "its node is gone", worker) for verb in ("release_worker", "release_jobs")
    ] == db.execute(
        "SELECT verb, actor, reason, (details ->> 'worker')::bigint FROM fairlead.audit"
        " ORDER BY id"
    ).fetchall()
    assert f"worker: {worker}" in fairlead("audit", "--verb", "release_worker")


def test_a_worker_whose_pod_is_on_its_way_out_is_listed_as_such(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Draining while it finishes what it runs, drained once it is empty."""
    lease(db, insert(db, kind="k"))
    db.execute("UPDATE fairlead.worker_leases SET pod_uid = 'uid'")
    db.execute(
        "INSERT INTO fairlead.pod_drains (pod_uid, pool, drain_until, epoch)"
        " VALUES ('uid', 'default', now() + interval '1 minute', 1)"
    )
    assert " draining " in fairlead("workers", "list")
    db.execute("UPDATE fairlead.pod_drains SET drained_at = now()")
    assert " drained " in fairlead("workers")
    db.execute("UPDATE fairlead.pod_drains SET drain_until = now()")

    assert " live " in fairlead("workers")


def test_a_name_of_several_workers_is_not_enough_to_release_one(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """The ids are printed."""
    ids = [lease(db, insert(db, kind="k")) for _ in range(2)]

    assert f"give one id of {ids[0]}, {ids[1]}" in fairlead("workers", "release", "w1", code=2)


HOLD = "SELECT FROM fairlead.work_queue WHERE job_id = %s FOR UPDATE"


@pytest.fixture
def holder(connect: Connect) -> Connection[TupleRow]:
    """Return a connection whose transaction stays open, as a handler's does that completed."""
    return connect(autocommit=False)


def test_what_a_transaction_holds_is_waited_for_and_counted_once(
    database_url: str, db: Connection[TupleRow], holder: Connection[TupleRow]
) -> None:
    """A sentence says what is waited for, and the count is of jobs and not of questions."""
    job = insert(db, kind="k")
    worker = lease(db, job)
    holder.execute(HOLD, [job])

    with subprocess.Popen(
        [sys.executable, "-m", "fairlead_cli", "workers", "release", "w1", "--wait", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FAIRLEAD_DATABASE_URL": database_url},
        text=True,
    ) as releasing:
        assert releasing.stderr is not None
        assert "hold 1 of its jobs: waiting 60 s" in releasing.stderr.readline()
        holder.rollback()
        said, complaint = releasing.communicate(timeout=30)

    assert ("", 0) == (complaint, releasing.returncode)
    assert f"worker {worker} is dead; put 1 job back into the queue\n" == said


def test_a_transaction_that_stays_open_is_not_waited_for_for_ever(
    fairlead: Fairlead, db: Connection[TupleRow], holder: Connection[TupleRow]
) -> None:
    """The rest is handed back, and the exit code says that something is left."""
    held, free = insert(db, kind="k"), insert(db, kind="k")
    lease(db, held)
    worker = lease(db, free, name="w2")
    db.execute("UPDATE fairlead.work_queue SET worker = %s", [worker])
    holder.execute(HOLD, [held])

    said = fairlead("workers", "release", "w2", "--wait", "0.1", code=1)

    assert "hold 1 of its jobs: waiting 0.1 s" in said
    assert "fairlead: open transactions still hold 1 of its jobs" in said
    assert [(free,)] == db.execute(
        "SELECT job_id FROM fairlead.work_queue WHERE worker IS NULL"
    ).fetchall()


def test_a_job_whose_cancel_was_waiting_is_not_said_to_be_queued(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """It has ended with its attempt."""
    job = insert(db, kind="k")
    worker = lease(db, job)
    db.execute("UPDATE fairlead.jobs SET cancel_requested_at = now()")

    assert {"id": worker, "released": 0, "held": 0} == json.loads(
        fairlead("workers", "release", "w1", "--json")
    )


def test_a_dead_worker_was_up_until_it_died(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """It does not seem to run on."""
    db.execute(
        "INSERT INTO fairlead.worker_leases"
        " (name, pool, slots, started_at, lease_until, dead_at) VALUES"
        " ('old', 'default', 1, now() - interval '5 h', now(), now() - interval '10 min')"
    )

    said = fairlead("workers")

    assert "4 h 50 m" in said
