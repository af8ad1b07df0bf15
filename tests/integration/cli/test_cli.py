"""The command line: what it prints, what it changes, and the code that it exits with."""

import json
import os
import signal
import subprocess
import sys
from io import StringIO

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrations
from fairlead_cli import batches
from tests.integration.conftest import Fairlead
from tests.support.children import register
from tests.support.logins import as_login, login


def insert(db: Connection[TupleRow], **columns: object) -> int:
    """Insert a job and return its id."""
    names = ", ".join(columns)
    places = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO fairlead.jobs ({names}) VALUES ({places}) RETURNING id"
    row = db.execute(statement.encode(), list(columns.values())).fetchone()
    assert row is not None
    return int(row[0])


def lease(db: Connection[TupleRow], job: int, *, name: str = "w1") -> int:
    """Make a worker that runs the job, and return the worker's id."""
    worker = register(db, slots=8, name=name)
    db.execute(
        "INSERT INTO fairlead.work_queue (job_id, vtag, estimate_us, epoch, runnable_at,"
        " timeout, band, pool, queue, tenant, worker, token, claimed_at, deadline)"
        " SELECT id, 1, 1, 1, now(), '1 min', 0, 'default', queue, tenant, %s, 7, now(),"
        " now() + interval '1 min' FROM fairlead.jobs WHERE id = %s",
        [worker, job],
    )
    return worker


def fail(db: Connection[TupleRow], job: int) -> None:
    """Let a job have failed for good."""
    db.execute("SELECT fairlead._end_jobs(array[%s::bigint], '{failed}', '{boom}')", [job])


def test_enqueue_prints_the_id(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """Every option is a column."""
    job = fairlead(
        *("enqueue", "send", '{"to": "a@example.com"}', "--queue", "mail", "--tenant", "acme"),
        *("--priority", "5", "--in", "2h", "--dedup-key", "d", "--max-attempts", "3"),
        *("--timeout", "90s", "--cost-hint", "5ms", "--headers", '{"traceparent": "00"}'),
    )

    row = db.execute(
        "SELECT queue, tenant, kind, payload, priority, dedup_key, max_attempts, timeout::text,"
        " cost_hint::text, headers, run_at > now() + interval '1 hour'"
        " FROM fairlead.jobs WHERE id = %s",
        [int(job)],
    ).fetchone()
    assert row == (
        *("mail", "acme", "send", {"to": "a@example.com"}, 5, "d", 3, "00:01:30"),
        *("00:00:00.005", {"traceparent": "00"}, True),
    )
    assert "has this dedup key" in fairlead(
        *("enqueue", "send", "--queue", "mail", "--tenant", "acme", "--dedup-key", "d")
    )


def test_enqueue_reads_its_payload_from_standard_input(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dash stands for it."""
    monkeypatch.setattr(sys, "stdin", StringIO('[1, "zwei"]'))

    fairlead("enqueue", "k", "-")

    assert ([1, "zwei"],) == db.execute("SELECT payload FROM fairlead.jobs").fetchone()


def test_jobs_are_listed_in_every_state(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """Newest first, each where it is in its life."""
    ids = [insert(db, kind="k", tenant=tenant) for tenant in ("a", "b", "c")]
    scheduled = insert(db, kind="later", run_at="2999-01-01")
    lease(db, ids[0])
    fail(db, ids[1])

    found = json.loads(fairlead("jobs", "list", "--json"))

    states = {row["id"]: row["state"] for row in found}
    assert {
        ids[0]: "running",
        ids[1]: "failed",
        ids[2]: "pending",
        scheduled: "scheduled",
    } == states
    assert [row["id"] for row in found] == sorted(states, reverse=True)
    for job, state in states.items():
        listed = json.loads(fairlead("jobs", "list", "--state", state, "--json"))
        assert [job] == [row["id"] for row in listed]
    assert "b" in fairlead("jobs", "list", "--tenant", "b")
    assert "no job is like that" in fairlead("jobs", "list", "--queue", "none")


def test_a_job_is_shown_with_what_went_wrong(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Live or finished, with its attempts."""
    job = insert(db, kind="k", payload='{"a": 1}')
    lease(db, job)
    db.execute("SELECT fairlead.fail(%s, 7, 'boom \x1b[2J')", [job])

    said = fairlead("jobs", "show", str(job))

    assert 'payload       {"a": 1}\n' in said
    assert "boom \\x1b[2J" in said
    assert "\x1b" not in said
    assert 1 == len(json.loads(fairlead("jobs", "show", str(job), "--json"))["attempts"])


def test_the_errors_of_attempts_are_shown_with_causes_and_frames(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Those of attempts with the same text together; the job shows the last one itself."""
    job = insert(db, kind="k")
    frames = "  shop.py:3 in f\n    g()\ncaused by KeyError: 7\n  …\n  db.py:9 in g"
    first = f"ValueError: no\x1b\n{frames}"
    for text in (first, first, "LookupError: last\n  shop.py:5 in f"):
        lease(db, job, name=text[-1])
        db.execute("SELECT fairlead.fail(%s, 7, %s)", [job, text])

    said = fairlead("jobs", "show", str(job))
    shown = json.loads(fairlead("jobs", "show", str(job), "--json"))

    assert "error         LookupError: last\n                shop.py:5 in f\n" in said
    below = said.partition("attempts 1, 2:\n")[2]
    lines = ["ValueError: no\\x1b", *first.split("\n")[1:]]
    assert lines == [line.removeprefix("  ") for line in below.splitlines()[: len(lines)]]
    assert 1 == said.count("  shop.py:5 in f")
    assert "LookupError: last" == shown["error_chain"][0]["error"]
    outer, cause = shown["attempts"][0]["error_chain"]
    frame = {"file": "shop.py", "line": 3, "function": "f", "source": "g()"}
    assert {"link": None, "error": "ValueError: no\x1b", "frames": [frame]} == outer
    assert ("caused by", "KeyError: 7") == (cause["link"], cause["error"])
    assert ["db.py"] == [each["file"] for each in cause["frames"]]


def test_jobs_are_cancelled_and_retried(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """Each answer is printed; an unknown job is bad news."""
    pending, running = insert(db, kind="k"), insert(db, kind="k")
    lease(db, running)

    answers = json.loads(
        fairlead("jobs", "cancel", str(running), str(pending), str(running), "--json")
    )
    retried = json.loads(fairlead("jobs", "retry", str(pending), "--json"))

    assert ["cancelled", "requested"] == [row["answer"] for row in answers]
    assert retried[0]["new_id"] > running
    assert "unknown: 999" in fairlead("jobs", "cancel", "999", code=1)
    assert "unknown: 999" in fairlead("jobs", "retry", "999", code=1)
    assert "job 999 is unknown" in fairlead("jobs", "show", "999", code=1)


def test_failed_jobs_are_redriven_once(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is run and however many batches it takes."""
    monkeypatch.setattr(batches, "_BATCH", 1)
    for _ in range(3):
        fail(db, insert(db, kind="k"))

    assert {"made": 2} == json.loads(
        fairlead("jobs", "redrive", "default", "--limit", "2", "--json")
    )
    assert "runs 1 job again\n" == fairlead("jobs", "redrive", "default", "--within", "1h")
    assert "runs no job again\n" == fairlead("jobs", "redrive", "default")


def test_a_redrive_goes_on_behind_what_it_may_not_repeat(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """It looks at each failed job once, and finds those of a kind among ten thousand others."""
    db.execute("INSERT INTO fairlead.jobs (kind) SELECT 'other' FROM generate_series(1, 10001)")
    db.execute(
        "SELECT fairlead._end_jobs(array_agg(id), array_agg('failed'::text)) FROM fairlead.jobs"
    )
    for _ in range(2):
        fail(db, insert(db, kind="k"))

    assert "runs 2 jobs again\n" == fairlead("jobs", "redrive", "default", "--kind", "k")
    assert [(2,)] == db.execute("SELECT count(*) FROM fairlead.jobs").fetchall()
    db.execute("DELETE FROM fairlead.jobs")
    assert [(0,)] == db.execute("SELECT fairlead.redrive('default', kind => 'k')").fetchall()
    assert [(10_000,)] == db.execute(
        "SELECT fairlead.redrive('default', jobs_max => 10000)"
    ).fetchall()
    assert [(1,)] == db.execute("SELECT fairlead.redrive('default')").fetchall()


def test_a_list_says_when_it_did_not_look_at_every_job(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Nothing found among the newest does not mean that there is nothing."""
    old = insert(db, kind="old", queue="a")
    fail(db, old)
    db.execute(
        "INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts,"
        " crashes, losses, priority, outcome, queue, tenant, kind)"
        " SELECT 10 + i, now(), now(), 1, 1, 0, 0, 0, 'failed', 'b', '', 'k'"
        " FROM generate_series(1, 18000) i"
    )
    asked = ("jobs", "list", "--state", "failed", "--queue", "a")

    said = fairlead(*asked)

    assert (
        "no job is like that: looked at the newest 18,000 of the jobs that have failed, "
        f"expired or been cancelled, and there are older ones: give --before {old + 1}\n"
    ) == said
    assert f"{old} " in fairlead(*asked, "--before", str(old + 1))
    assert "no job is like that\n" == fairlead(*asked, "--until", "2020-01-01")
    assert f"{old} " in fairlead(*asked, "--since", "2020-01-01", "--before", str(old + 1))


def test_queues_and_tenants_say_what_waits(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Pending leaves out what is queued or runs; a pause is shown even without work."""
    for tenant in ("a", "a", "b"):
        job = insert(db, kind="k", queue="q", tenant=tenant)
    lease(db, job)
    insert(db, kind="k", queue="q", run_at="2999-01-01")
    fairlead("pause", "q")
    fairlead("pause", "idle")

    found = json.loads(fairlead("queues", "--json"))
    each = json.loads(fairlead("tenants", "--queue", "q", "--json"))

    wanted = ("queue", "pending", "running", "scheduled", "tenants", "paused")
    assert [("idle", 0, 0, 0, 0, True), ("q", 2, 1, 1, 2, True)] == [
        tuple(row[name] for name in wanted) for row in found
    ]
    assert [("a", 2, 0), ("b", 0, 1)] == [
        (row["tenant"], row["pending"], row["running"]) for row in each
    ]
    assert "resumed queue 'q'" in fairlead("resume", "q")
    assert "was not paused" in fairlead("resume", "q")


def test_schedules_are_listed_switched_and_removed(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """An application inserts them; people switch them."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '0 3 * * *', 'k')"
    )

    assert "enabled" in fairlead("schedules", "list")
    fairlead("schedules", "disable", "s")
    assert "disabled" in fairlead("schedules", "list")
    fairlead("schedules", "enable", "s")
    fairlead("schedules", "remove", "s")
    assert "there is no schedule" in fairlead("schedules", "list")
    assert "schedule 's' is unknown" in fairlead("schedules", "enable", "s", code=1)


def test_a_schedule_whose_name_several_tenants_use_is_switched_by_tenant(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Names are a tenant's own, so one that is not enough is refused."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, tenant, cron, kind)"
        " SELECT 's', t, '0 3 * * *', 'k' FROM unnest(ARRAY['acme', 'other']) t"
    )

    said = fairlead("schedules", "disable", "s", code=2)
    fairlead("schedules", "disable", "s", "--tenant", "acme")

    assert "give --tenant, one of 'acme', 'other'" in said
    assert [("acme", False), ("other", True)] == db.execute(
        "SELECT tenant, enabled FROM fairlead.schedules ORDER BY tenant"
    ).fetchall()
    assert "unknown" in fairlead("schedules", "remove", "s", "--tenant", "none", code=1)


def test_top_prints_one_line_a_look_where_there_is_no_terminal(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """And ends after as many looks as were asked for."""
    insert(db, kind="k")

    lines = fairlead("top", "--every", "0.1", "--count", "2").splitlines()

    assert 2 == len(lines)
    assert "pending 1 queued 0 running 0" in lines[1]
    said = {"queues", "tenants", "workers", "pool_decisions", "policy", "counters", "rates"}
    assert said == set(json.loads(fairlead("top", "--json")))


def test_tops_counters_begin_at_nothing(fairlead: Fairlead) -> None:
    """A sequence that gave no number yet counts for none."""
    counters = json.loads(fairlead("top", "--json"))["counters"]
    fairlead("enqueue", "greet")
    after = json.loads(fairlead("top", "--json"))["counters"]

    assert (0, 0, 1) == (counters["inserted"], counters["started"], after["inserted"])


def test_doctor_setup_says_what_is_wrong_and_exits_1_with_errors(database_url: str) -> None:
    """The tests' server is fast and not safe, and the doctor says so."""
    found = subprocess.run(
        [sys.executable, "-m", "fairlead_cli", "doctor", "--setup", "--json"],
        capture_output=True,
        env={**os.environ, "FAIRLEAD_DATABASE_URL": database_url, "FAIRLEAD_WORKRES": "1"},
        check=False,
    )
    findings = json.loads(found.stdout)

    assert 1 == found.returncode
    wrong = [each["sentence"] for each in findings if each["severity"] == "error"]
    assert any("fsync is off" in sentence for sentence in wrong)
    assert any("FAIRLEAD_WORKRES" in each["sentence"] for each in findings)


def test_migrate_says_what_it_did(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """A newer schema that fits is left alone; one that does not is refused."""
    version = migrations()[-1].version
    assert f"the schema is version {version}" in fairlead("migrate")
    assert "create or replace view" in fairlead("migrate", "--plan")

    db.execute("INSERT INTO fairlead.schema_versions VALUES (99, 'later', 1)")
    assert "newer than this code's" in fairlead("migrate")
    assert "no queue" in fairlead("queues")
    db.execute("UPDATE fairlead.schema_versions SET compatible_from = 99 WHERE version = 99")
    for command in (["migrate"], ["migrate", "--plan"], ["queues"], ["doctor", "--setup"]):
        assert "upgrade Fairlead" in fairlead(*command, code=2)


def test_a_database_without_the_schema_is_told_from_one_that_is_away(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clear sentence each, and exit code 2."""
    db.execute("DROP SCHEMA fairlead CASCADE")
    assert "run `fairlead migrate`" in fairlead("queues", code=2)

    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://u:secret@127.0.0.1:1/x")
    said = fairlead("queues", code=2)
    assert said.startswith("fairlead: cannot reach the database")
    assert "secret" not in said


def test_a_login_without_the_right_is_told_which_role_has_it(
    fairlead: Fairlead, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The enqueue role may enqueue, show, retry and cancel its own, and no more."""
    with login(database_url, "fairlead_enqueue") as name:
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, name))
        job = fairlead("enqueue", "k").strip()

        assert "pending" in fairlead("jobs", "show", job)
        assert "fairlead_admin" in fairlead("pause", "default", code=2)
        assert "cancelled" in fairlead("jobs", "cancel", job)


def test_ctrl_c_ends_with_130(database_url: str) -> None:
    """And without a traceback."""
    watching = subprocess.Popen(
        [sys.executable, "-m", "fairlead_cli", "top"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FAIRLEAD_DATABASE_URL": database_url},
    )
    assert watching.stdout is not None
    watching.stdout.readline()

    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=20)

    assert (130, b"") == (watching.returncode, said)
