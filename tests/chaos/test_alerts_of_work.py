"""What goes wrong with jobs, schedules and policies fires its alert, and no other."""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import fairlead
from tests.support.alerting import (
    CALM_SECONDS,
    alarmed,
    alone,
    await_calm,
    called,
    feeding,
    pausing,
    withdraw,
)
from tests.support.observed import schedule
from tests.support.observing import Watched
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.any_server, pytest.mark.timeout(600)]

_WORKERS = (1, 1)
_TURNS = itertools.cycle(range(12))
"""Of the insertions of orders: one in twelve has a job that fails."""


def policy(rest: str = "", *, most: int = 1) -> str:
    """Return a policy by which jobs may wait for long: these alerts are not about that."""
    return schedule.policy(1, most, rest).replace("objective: 2s", "objective: 40s")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield a fleet of one worker that may have no other beside it."""
    with alarmed(tmp_path_factory.mktemp("rules"), workers=_WORKERS) as running:
        running.apply_policy(policy())
        yield running


@pytest.fixture(autouse=True)
def calm(fleet: Watched) -> None:
    """Wait for silence, whatever the test before did."""
    await_calm(fleet)


def test_a_queue_of_which_nothing_starts_raises_an_alert(
    fleet: Watched, tmp_path: Path
) -> None:
    """A pause of it was forgotten."""
    name = "FairleadNoProgress"
    with pausing(fleet, "mail"), alone(fleet, name):
        reader = called(fleet, name, tmp_path, seconds=45)
        queues, *_ = reader.look()
        with fleet.connect() as db:
            row = db.execute("SELECT id FROM fairlead.jobs WHERE queue = 'mail'").fetchone()
        assert row is not None
        reader.known["JOB"] = str(row[0])
        *_, explained = reader.look()
        (mended,) = reader.mend("fairlead resume")
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert re.search(r"^mail .* paused *$", queues, re.MULTILINE)
    assert "paused" in explained
    assert "resumed" in mended


def calls() -> Sequence[fairlead.NewJob]:
    """Return jobs that wait for an answer that does not come, until their time is up."""
    job = fairlead.NewJob(kind="hang", queue="calls", tenant="one", max_attempts=1000)
    return [job, job]


def test_attempts_that_fail_raise_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """What the jobs of a queue call does not answer.

    Their queue is paused then, and the alert that nothing of it starts fires as well: rightly.
    """
    name = "FairleadAttemptsFail"
    with feeding(fleet.url, calls):
        with alone(fleet, name):
            reader = called(fleet, name, tmp_path, seconds=45)
            _, scheduled = reader.look()
            (job, *_) = re.findall(r"^ *(\d+) +scheduled +calls ", scheduled, re.MULTILINE)
            reader.known["JOB"] = job
            *_, shown = reader.look()
        reader.mend("fairlead pause")
    fleet.wait_for_silence(name, CALM_SECONDS)
    withdraw(fleet, "calls")
    (resumed,) = reader.mend("fairlead resume")

    assert "timeout: it ran longer than 0.5 s" in shown
    assert "resumed" in resumed


def test_jobs_that_fail_for_good_raise_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """What they call is busy, and they are tried once; most jobs of their queue succeed."""
    name = "FairleadDeadJobsGrow"
    call = fairlead.NewJob(kind="call", queue="mail", tenant="two", max_attempts=1)
    with alone(fleet, name):
        with fleet.connect() as db:
            fairlead.enqueue_many(db, [call] * 20)

        reader = called(fleet, name, tmp_path, seconds=120)
        (failed,) = reader.look()
        (job, *_) = re.findall(r"^ *(\d+) +failed +mail +two +call ", failed, re.MULTILINE)
        reader.known["JOB"] = job
        _, shown = reader.look()
        (again,) = reader.mend("fairlead jobs redrive")
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert re.search("the other side is busy|no such address", shown)
    assert re.search(r"[1-9]", again)


def await_crash_breaker(fleet: Watched) -> None:
    """Wait until a worker says that a kind runs alone on it."""
    asked = "SELECT 1 FROM fairlead.worker_leases WHERE crash_breakers IS NOT NULL"
    with fleet.connect() as db:
        until(lambda: db.execute(asked).fetchone(), what="an open circuit breaker", seconds=60)


def test_jobs_that_keep_ending_processes_raise_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """Three of one kind of a tenant do; they are withdrawn before one fails for good."""
    name = "FairleadCrashBreakersOpen"
    crash = fairlead.NewJob(kind="crash", queue="images", tenant="bolt")
    with alone(fleet, name):
        with fleet.connect() as db:
            first, *_ = fairlead.enqueue_many(db, [crash] * 3)
        await_crash_breaker(fleet)
        withdraw(fleet, "images")

        reader = called(fleet, name, tmp_path, seconds=30)
        reader.known.update(QUEUE="images", TENANT="bolt", JOB=str(first))
        doctor, *_, shown = reader.look()
        paused, resumed = reader.mend()
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert "Jobs of kind crash of tenant bolt run one at a time on 1 worker" in doctor
    assert "crashed" in shown
    assert "paused" in paused
    assert "resumed" in resumed


def test_jobs_of_a_kind_that_no_worker_has_raise_an_alert(
    fleet: Watched, tmp_path: Path
) -> None:
    """Its name is misspelt; they are cancelled by it."""
    name = "FairleadKindsUnhandled"
    sned = fairlead.NewJob(kind="sned", queue="mail", tenant="one")
    with alone(fleet, name):
        with fleet.connect() as db:
            first, *_ = fairlead.enqueue_many(db, [sned] * 3)

        reader = called(fleet, name, tmp_path, seconds=60)
        reader.known.update(JOB=str(first), KIND="sned")
        doctor, *_, shown, _workers = reader.look()
        (cancelled,) = reader.mend("fairlead jobs cancel")
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert "of kind sned wait for a worker with a handler for it" in doctor
    assert "unhandled: no worker of its pool has a handler for kind 'sned'" in shown
    assert "3" in cancelled


def parcels() -> Sequence[fairlead.NewJob]:
    """Return so many that succeed that those that failed are soon no twentieth of them."""
    return [fairlead.NewJob(kind="send", queue="orders", tenant="one")] * 12


def orders() -> Sequence[fairlead.NewJob]:
    """Return jobs of which a tenth of the attempts fails in the end, and never a third."""
    turn = next(_TURNS)
    unanswered = fairlead.NewJob(kind="hang", queue="orders", tenant="one", max_attempts=1000)
    return [*parcels()[:4], *([unanswered] if turn == 0 else [])]


def test_attempts_that_fail_all_the_time_raise_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """Most of the queue's succeed, and what some jobs of it call does not answer."""
    name = "FairleadAttemptsFailSteadily"
    with alone(fleet, name):
        with feeding(fleet.url, orders):
            reader = called(fleet, name, tmp_path, seconds=150)
            (scheduled,) = reader.look()
            (job, *_) = re.findall(r"^ *(\d+) +scheduled +orders ", scheduled, re.MULTILINE)
            reader.known["JOB"] = job
            *_, shown = reader.look()
        withdraw(fleet, "orders")
        with feeding(fleet.url, parcels):
            fleet.wait_for_silence(name, CALM_SECONDS)

    assert "timeout: it ran longer than 0.5 s" in shown


def missed_schedules(fleet: Watched) -> set[str]:
    """Return the schedules of which the schedulers' logs say that fires came too late."""
    lines = "\n".join(map(fleet.output, ("scheduler-1", "scheduler-2"))).splitlines()
    said = [json.loads(line) for line in lines if line.startswith("{")]
    return {str(each["schedule"]) for each in said if each.get("event") == "schedule.missed"}


def test_a_schedule_whose_fires_are_missed_raises_an_alert(
    fleet: Watched, tmp_path: Path
) -> None:
    """It was switched off for a while, and on again."""
    name = "FairleadCronMissed"
    with fleet.connect() as db, alone(fleet, name):
        db.execute(
            "INSERT INTO fairlead.schedules (name, cron, queue, tenant, kind, enabled)"
            " VALUES ('nightly', '* * * * * *', 'upkeep', 'shop', 'tidy', false)"
        )
        until(
            lambda: db.execute(
                "SELECT 1 FROM fairlead.schedules WHERE created_at < now() - interval '15 s'"
            ).fetchone(),
            what="a time that is missed",
            seconds=30,
        )
        db.execute("UPDATE fairlead.schedules SET enabled = true WHERE name = 'nightly'")

        reader = called(fleet, name, tmp_path, seconds=30)
        listed, *_ = reader.look()
        (found,) = re.findall(r"^(\S+) +shop .* (tidy) .* enabled *$", listed, re.MULTILINE)
        reader.known.update(dict(zip(("SCHEDULE", "KIND"), found, strict=True)))
        reader.known["QUEUE"] = "upkeep"
        enqueued, disabled = reader.mend()
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert {reader.known["SCHEDULE"]} == missed_schedules(fleet)
    assert enqueued
    assert "nightly" in disabled


def test_a_policy_that_is_refused_raises_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """A program that is newer than the fleet has stored it."""
    name = "FairleadConfigReloadFailed"
    newer = policy("inventedLater: true\n")
    with fleet.connect() as db, alone(fleet, name):
        store = "SELECT fairlead.apply_policy(%s, 'abcdef012345', 'newer', 'a new field')"
        db.execute(store, [newer])

        reader = called(fleet, name, tmp_path, seconds=30)
        _, history = reader.look()
        said = re.findall(r"^ *\d+ .* newer .* refused: (.*)$", history, re.MULTILINE)
        (last, *_) = re.findall(r"^ *(\d+) .* in force", history, re.MULTILINE)
        reader.known["VERSION"] = last
        (mended,) = reader.mend("fairlead policy rollback")
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert "inventedLater" in " ".join(said)
    assert "version" in mended


def reports() -> Sequence[fairlead.NewJob]:
    """Return a little more than one worker does in half a second."""
    return [fairlead.NewJob(kind="report", queue="reports", tenant="one")] * 2


def test_a_backlog_that_grows_at_the_most_pods_raises_an_alert(
    fleet: Watched, tmp_path: Path
) -> None:
    """More comes in than the one worker does, which the policy has no second one for.

    So much is there at once that a second one is wanted within seconds, and so little comes in
    beside that no job is late for a minute. From then on that alert would fire instead.
    """
    name = "FairleadBacklogGrowsAtMax"
    with alone(fleet, name):
        with fleet.connect() as db:
            fairlead.enqueue_many(db, [*reports()] * 30)
        with feeding(fleet.url, reports):
            reader = called(fleet, name, tmp_path, seconds=45)
            explained, queues, tenants = reader.look()
            fleet.apply_policy(policy(most=3))
            fleet.wait_for_silence(name, CALM_SECONDS)
    withdraw(fleet, "reports")
    fleet.apply_policy(policy())

    assert re.search(r"^limited by .*AtMax", explained, re.MULTILINE)
    assert re.search(r"^reports .*[1-9]", queues, re.MULTILINE)
    assert re.search(r"^reports +one .*[1-9]", tenants, re.MULTILINE)
