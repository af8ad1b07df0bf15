"""Why a job does not run: what the tables know, and what the leader answers."""

from collections.abc import Mapping
from typing import cast

from fairlead import policy_storage
from fairlead.db.statements import load
from fairlead_worker.attempts import attempt_store
from fairlead_worker.attempts.attempt_store import ClaimRequest
from tests.integration.conftest import Fairlead
from tests.support.children import register
from tests.support.race import Database, insert, insert_one, places
from tests.support.schedulers import scheduling
from tests.support.waiting import until

_EXPLAIN = load("fairlead_scheduler.loop", "explain")


def explain(db: Database, job: int) -> Mapping[str, object]:
    """Ask once."""
    (row,) = db.execute("SELECT fairlead.explain(%s)", [job]).fetchall()
    return cast("Mapping[str, object]", row[0])


def explained(db: Database, job: int) -> Mapping[str, object]:
    """Ask until the leader has answered."""
    until(lambda: "asked" not in explain(db, job), what="an answer")
    return explain(db, job)


def test_without_a_leader_it_says_so(db: Database) -> None:
    """Nothing is dispatched until a scheduler leads, and no question is stored."""
    answer = explain(db, insert_one(db))

    assert ("pending", "no leader") == (answer["state"], answer["blocked_by"])
    assert [(0,)] == db.execute("SELECT count(*) FROM fairlead.explain_requests").fetchall()


def test_what_the_tables_know_is_answered_at_once(db: Database) -> None:
    """Unknown, scheduled, paused and ended jobs need no leader."""
    job = insert_one(db)
    db.execute("UPDATE fairlead.jobs SET run_at = '2100-01-01+00' WHERE id = %s", [job])
    paused = insert_one(db)
    db.execute("SELECT fairlead.pause('default')")

    found = [explain(db, each) for each in (job, paused, 999)]

    assert ["not due", "paused", None] == [each.get("blocked_by") for each in found]
    assert 0 <= cast("float", found[1]["blocked_seconds"]) < 60
    assert "2100" in str(found[0]["sentence"])
    assert "unknown" == found[2]["state"]


def test_it_says_that_the_kind_of_a_job_runs_alone(db: Database) -> None:
    """On as many workers as live and report it, whatever state the job is in; of no other."""
    sources = '[["raises", "noisy"], ["poison", "noisy"]]'
    for lease in ("1 hour", "1 hour", "-1 minute"):
        worker = register(db, lease=lease)
        db.execute(
            "UPDATE fairlead.worker_leases SET crash_breakers = %s WHERE id = %s",
            [sources, worker],
        )
    inserted = (
        "INSERT INTO fairlead.jobs (tenant, kind, run_at) VALUES (%s, %s, %s) RETURNING id"
    )
    jobs = [
        int(db.execute(inserted, values).fetchall()[0][0])
        for values in (
            ("noisy", "poison", "2100-01-01+00"),
            ("noisy", "poison", None),
            ("quiet", "poison", None),
            ("noisy", "nap", None),
            ("noisy", "poison", None),
        )
    ]
    db.execute("SELECT fairlead._end_jobs(array[%s::bigint], array['failed'])", [jobs[-1]])

    said = [explain(db, each) for each in jobs]

    breaker = {"kind": "poison", "workers": 2}
    assert [breaker, breaker, None, None, None] == [each.get("crash_breaker") for each in said]
    assert "2100-01-01" in str(said[0]["sentence"])
    assert str(said[0]["sentence"]).endswith(
        "; jobs of kind 'poison' of its tenant run one at a time on 2 workers, because several "
        "have ended the process that ran them"
    )


def test_the_leader_says_that_no_slot_is_free(database_url: str, db: Database) -> None:
    """With one worker whose slot is taken, what waits is behind those before it."""
    register(db, slots=1)
    with scheduling(database_url):
        jobs = insert(db, count=400)
        until(lambda: places(db, jobs[0]) == ("queued",), what="a dispatch")
        answer = explained(db, jobs[-1])

    assert ("pending", "capacity") == (answer["state"], answer["blocked_by"])
    assert 300 < cast("int", answer["ahead"]) < 400
    assert cast("float", answer["starts_in_seconds"]) > 1


def test_the_leader_says_why_no_worker_has_claimed_a_job(
    database_url: str, db: Database
) -> None:
    """A slot is free, none is, or no worker is left; without a leader nobody knows."""
    worker = register(db, slots=1)
    with scheduling(database_url):
        first, second = insert(db, count=2)
        until(lambda: places(db, second) == ("queued",), what="a dispatch")
        free = explained(db, first)
        attempt_store.claim(db, ClaimRequest(worker, "default"), limit=1, below_floor=False)
        busy = until(lambda: blocked_by(db, second, "capacity"), what="an answer")
        db.execute("UPDATE fairlead.worker_leases SET draining = true")
        drained = until(lambda: says(db, second, "start one"), what="an answer")
    db.execute("UPDATE fairlead.leaders SET lease_until = now()")
    unled = explain(db, second)

    assert ("queued", None, 0) == (free["state"], free["blocked_by"], free["ahead"])
    assert ("queued", 0) == (busy["state"], busy["ahead"])
    assert "capacity" == drained["blocked_by"]
    assert "none does" in str(unled["sentence"])
    assert "blocked_by" not in unled


def blocked_by(db: Database, job: int, reason: str) -> Mapping[str, object] | None:
    """Return the answer about a job if it is this reason."""
    found = explain(db, job)
    return found if found.get("blocked_by") == reason else None


def says(db: Database, job: int, what: str) -> Mapping[str, object] | None:
    """Return the answer about a job if its sentence says this."""
    found = explain(db, job)
    return found if what in str(found["sentence"]) else None


def test_the_leader_names_the_limit(database_url: str, db: Database) -> None:
    """Limits, whose they are, and the policy by which they hold."""
    register(db, slots=100)
    document = "queues: [{match: {queue: default}, slots: {limit: 2}}]"
    db.execute("SELECT fairlead.apply_policy(%s, '0123456789ab', 'me', '')", [document])
    with scheduling(database_url):
        jobs = insert(db, count=5)
        until(lambda: places(db, jobs[0]) == ("queued",), what="a dispatch")
        answer = explained(db, jobs[-1])

    assert ("limit", "queue", 2) == (answer["blocked_by"], answer["by"], answer["ahead"])
    waited = cast("Mapping[str, Mapping[str, object]]", answer["waited"])
    assert ["limit"] == list(cast("Mapping[str, float]", waited["queue"]["blocked_seconds"]))
    assert {} == waited["tenant"]["blocked_seconds"]
    since = cast("str", answer["blocked_since"])
    assert [(True,)] == db.execute(
        "SELECT %s::timestamptz BETWEEN created_at AND now() FROM fairlead.jobs WHERE id = %s",
        [since, jobs[0]],
    ).fetchall()
    assert {"version": 1} == {
        name: value
        for name, value in cast("Mapping[str, object]", answer["policy"]).items()
        if name == "version"
    }


def test_the_command_waits_for_the_answer(
    fairlead: Fairlead, database_url: str, db: Database
) -> None:
    """One command, one answer; an unknown job is bad news."""
    register(db, slots=1)
    stored = policy_storage.store(db, "version: 1")
    with scheduling(database_url):
        jobs = insert(db, count=400)
        until(lambda: places(db, jobs[0]) == ("queued",), what="a dispatch")
        said = fairlead("explain", str(jobs[-1]))

    assert "no slot is free" in said
    assert f"version {stored.version}, digest {stored.digest}" in said
    assert "999999" in fairlead("explain", "999999", code=1)


def test_a_deposed_leader_answers_nothing_and_old_questions_are_forgotten(
    db: Database,
) -> None:
    """An answer is fenced by the epoch; a question that is a minute old goes with the next."""
    db.execute(
        "UPDATE fairlead.leaders SET epoch = 7, lease_until = now() + interval '1 h'"
        " WHERE role = 'scheduler'"
    )
    first, second = insert(db, count=2)
    explain(db, first)
    ((question,),) = db.execute("SELECT id FROM fairlead.explain_requests").fetchall()
    values = {"answers": ['{"sentence": "so"}'], "forget_max": 10}

    for epoch in (6, 7):
        db.execute(_EXPLAIN, {"epoch": epoch, "ids": [question], **values})
        assert ("so" if epoch == 7 else None) == (
            None if "asked" in explain(db, first) else explain(db, first)["sentence"]
        )
    db.execute("UPDATE fairlead.explain_requests SET asked_at = now() - interval '2 min'")
    explain(db, second)
    newest = "SELECT max(id) FROM fairlead.explain_requests"
    ((question,),) = db.execute(newest).fetchall()
    db.execute(_EXPLAIN, {"epoch": 7, "ids": [question], **values})

    assert [(second,)] == db.execute("SELECT job_id FROM fairlead.explain_requests").fetchall()
