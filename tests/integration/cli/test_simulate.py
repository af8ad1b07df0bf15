"""`fairlead policy simulate`: input, prediction and refusals."""

import json
from pathlib import Path
from typing import cast

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.policy import parse
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.simulation.engine import TICK_US
from fairlead_scheduler.simulation.workload import UNKNOWN_US
from tests.integration.conftest import Fairlead
from tests.support.children import register
from tests.support.fleet import Fleet

_BACKLOG = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, priority)
    SELECT 'q', tenant, 'k', CASE WHEN i %% 100 = 0 THEN 5 ELSE 0 END
    FROM unnest(%s::text[]) tenant, generate_series(1, %s) i
"""
_ENDED = """
    INSERT INTO fairlead.job_history
        (id, created_at, runnable_at, claimed_at, finished_at, attempt, max_attempts, crashes,
         losses, priority, outcome, queue, tenant, kind)
    SELECT 100000 + i, now(), at, at, at + interval '200 ms', 1, 5, 0, 0, 0, outcome,
           'q', tenant, 'k'
    FROM generate_series(1, 60) i, unnest(ARRAY['a', 'b', 'quiet']) tenant,
         unnest(ARRAY['succeeded', 'failed']) outcome,
         LATERAL (SELECT now() - i * interval '0.5 s' AS at) came
    WHERE tenant = 'quiet' OR i < 5
"""
_OF_KINDS = """
    INSERT INTO fairlead.job_history
        (id, created_at, runnable_at, claimed_at, finished_at, attempt, max_attempts, crashes,
         losses, priority, outcome, queue, tenant, kind)
    SELECT 100000 + i, at, at, at, at + CASE kind WHEN 'mail' THEN interval '100 ms'
                                                 ELSE interval '10 s' END,
           1, 5, 0, 0, 0, 'succeeded', 'q', 'a', kind
    FROM generate_series(1, 50) i,
         LATERAL (SELECT now() - interval '70 s' AS at,
                         CASE WHEN i % 10 = 0 THEN 'report' ELSE 'mail' END AS kind) came
"""
_SOON = ("--horizon", "1s")  # for what does not depend on how far a prediction looks ahead
_KEYED = "queues: [{match: {queue: q}, concurrency: [{key: payload.account, limit: 1}]}]"
_MIXED = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, payload)
    SELECT 'q', 'a', CASE WHEN i % 4 = 0 THEN 'bulk' ELSE 'mail' END,
           jsonb_build_object('account', 'account ' || i * i % 7)
    FROM generate_series(1, 200) i
"""
_OF_ACCOUNTS = """
    INSERT INTO fairlead.job_history
        (id, created_at, runnable_at, claimed_at, finished_at, attempt, max_attempts, crashes,
         losses, priority, outcome, queue, tenant, kind, payload)
    SELECT i, at, at, at, at + interval '1 s', 1, 5, 0, 0, 0, 'succeeded', 'q', 'a',
           CASE WHEN i % 4 = 0 THEN 'bulk' ELSE 'mail' END,
           jsonb_build_object('account', 'account ' || i % 2)
    FROM generate_series(1, 200) i, LATERAL (SELECT now() - interval '40 s' AS at) came
"""
_READ = "SELECT payload ->> 'account', kind FROM fairlead.jobs ORDER BY seq"
_HELD = """
    UPDATE fairlead.work_queue SET worker = %s, token = 1, claimed_at = now() - interval '50 ms'
"""
_QUEUED = """
    INSERT INTO fairlead.work_queue
        (job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant)
    SELECT j.id, 100, 200000, 0, now(), interval '1 min', 0, 'default', j.queue, j.tenant
    FROM fairlead.jobs j ORDER BY j.id LIMIT 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with a policy under which b weighs ten times as much."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "queues:\n  - match: {queue: q}\n    tenants:\n      overrides:\n"
        "        - {match: {tenant: b}, weight: 10}\n"
    )
    return path


@pytest.fixture
def busy(db: Connection[TupleRow]) -> Connection[TupleRow]:
    """Fill the database with a backlog, a worker, jobs in flight, and history."""
    worker = register(db, slots=8)
    db.execute(_BACKLOG, [["a", "b"], 3000])
    db.execute(_QUEUED)
    db.execute(_HELD, [worker])
    db.execute(_ENDED)
    return db


def simulated(fairlead: Fairlead, file: Path, *words: str) -> dict[str, object]:
    """Return the prediction as JSON says it."""
    return cast(
        "dict[str, object]",
        json.loads(fairlead("policy", "simulate", str(file), "--json", *words)),
    )


def shares(found: dict[str, object]) -> dict[str, tuple[float, float]]:
    """Return each tenant's share under the old and the new policy."""
    tenants = cast("list[dict[str, dict[str, float]]]", found["tenants"])
    return {
        str(each["tenant"]): (each["old"]["share"], each["new"]["share"]) for each in tenants
    }


@pytest.mark.usefixtures("busy")
def test_the_backlog_is_simulated_under_the_policy_in_force_and_a_file(
    fairlead: Fairlead, file: Path
) -> None:
    """Shares of winners and losers, and the input."""
    found = simulated(fairlead, file, "--horizon", "20s")

    assert (5997, False, 3, 8) == tuple(
        found[name] for name in ("waiting", "waiting_is_more", "in_flight", "slots")
    )
    of_a, of_b = shares(found)["a"], shares(found)["b"]
    assert of_a[0] == pytest.approx(of_b[0], abs=0.03)
    assert of_b[1] == pytest.approx(10 * of_a[1], rel=0.2)


@pytest.mark.usefixtures("busy")
def test_the_table_and_the_picture_say_the_same_side_by_side(
    fairlead: Fairlead, file: Path, tmp_path: Path
) -> None:
    """A line for each tenant, then all of them."""
    picture = tmp_path / "1.svg"

    lines = fairlead("policy", "simulate", str(file), "--plot", str(picture)).splitlines()

    assert lines[0].startswith(f"old: no policy; new: {file}, digest ")
    assert lines[1].startswith("5,997 jobs wait, 3 are in flight; history of the last 10 m; ")
    assert lines[2].startswith("simulated 60 s: ")
    assert ["queue", "tenant", "share", "new"] == lines[3].split()[:4]
    assert {"a", "b", "quiet"} == {line.split()[1] for line in lines[5:8]}
    assert "slots in use" in lines[8]
    assert lines[-1] == f"drawn into {picture}"
    assert b"wait p99" in picture.read_bytes()


def test_a_queue_that_the_file_moves_is_simulated_where_it_goes(
    fairlead: Fairlead, file: Path, busy: Connection[TupleRow]
) -> None:
    """With the slots of both pools; the table names the moved queue."""
    register(busy, slots=2, pool="gpu")
    file.write_text(
        "pools: [{name: default, queues: [other]}, {name: gpu, queues: [q]}, "
        "{name: spare, queues: [later]}]\n"
    )

    found = simulated(fairlead, file, "--horizon", "20s")
    lines = fairlead("policy", "simulate", str(file), *_SOON).splitlines()

    both = [{"pool": "default", "slots": 8}, {"pool": "gpu", "slots": 2}]
    assert (both, 10, 3) == (found["pools"], found["slots"], found["in_flight"])
    said = "queue 'q' moves from pool 'default' to 'gpu'"
    assert ([said], said) == (found["notes"], lines[2])
    assert "8 slots in default and 2 slots in gpu, seed 1" in lines[1]
    whole = cast("dict[str, dict[str, float]]", found["all"])
    assert whole["old"]["share"] == pytest.approx(0.8, abs=0.05)
    assert whole["new"]["share"] == pytest.approx(0.2, abs=0.05)


@pytest.mark.usefixtures("busy")
def test_what_is_in_force_already_changes_nothing(fairlead: Fairlead, file: Path) -> None:
    """The old column is the stored policy, not the absence of one."""
    fairlead("policy", "apply", str(file))

    found = simulated(fairlead, file, "--horizon", "10s")

    assert 1 == cast("dict[str, object]", found["old"])["version"]
    assert all(old == new for old, new in shares(found).values())


def test_a_long_lane_is_counted_up_to_a_bound(
    fairlead: Fairlead, file: Path, busy: Connection[TupleRow]
) -> None:
    """A tenant with more waiting jobs than were counted is assumed to have work throughout."""
    busy.execute(_BACKLOG, [["deep"], 25_000])

    found = simulated(fairlead, file, *_SOON)

    assert (5997 + 20_000 + 250, True) == (found["waiting"], found["waiting_is_more"])


@pytest.mark.usefixtures("busy")
def test_recorded_traffic_is_history_or_a_file(
    fairlead: Fairlead, file: Path, tmp_path: Path
) -> None:
    """Both start with the first job and nothing in flight; the result is reproducible."""
    trace, first, second = tmp_path / "trace.jsonl", tmp_path / "1.svg", tmp_path / "2.svg"
    fairlead("trace", "export", "--output", str(trace))
    from_file = ("--against", "recorded", "--trace", str(trace))

    history = simulated(fairlead, file, "--against", "recorded")
    recorded = simulated(fairlead, file, *from_file, "--plot", str(first))

    assert (
        recorded["tenants"]
        == simulated(fairlead, file, *from_file, "--plot", str(second))["tenants"]
    )
    assert first.read_bytes() == second.read_bytes()
    assert 136 == len(trace.read_text().splitlines())
    assert shares(history).keys() == shares(recorded).keys()
    for tenant, share in shares(history).items():
        assert share == pytest.approx(shares(recorded)[tenant], abs=0.01)
    assert "136 recorded jobs" in fairlead(
        "policy", "simulate", str(file), "--against", "recorded", "--slots", "3", *_SOON
    )


def test_nothing_to_do_is_bad_news(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """An empty backlog, no worker and no history each have their message."""
    words = ("policy", "simulate", str(file))
    assert "pool 'default' has no live worker" in fairlead(*words, code=1)
    register(db)

    assert "there is nothing to predict" in fairlead(*words, code=1)
    assert "no job of pool 'default'" in fairlead(*words, "--against", "recorded", code=1)


def test_a_fleet_without_history_is_predicted_all_the_same(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """Every job is assumed to take the estimator's prior."""
    db.execute(_BACKLOG, [["a", "b"], 500])

    found = simulated(fairlead, file, "--slots", "4", "--horizon", "10s")

    assert 4 == found["slots"]
    assert found["simulated_seconds"] == 10


_REFUSED = (
    (("--trace", "t.jsonl"), "--trace is recorded traffic: give --against recorded"),
    (("--horizon", "11m"), "--horizon is 11m: give more than 0 and at most 10 m"),
    (("--horizon", "soon"), "--horizon"),
    (("--within", "0"), "--within is 0: give more than 0 and at most 1 d"),
    (("--plot", "x.pdf"), "--plot is x.pdf: give a file that ends in .svg or .png"),
    (("--slots", "0"), "Invalid value for '--slots'"),
    (("--against", "dead"), "Invalid value for '--against'"),
    (("--against", "recorded", "--trace", "no.jsonl"), "--trace: no.jsonl cannot be read"),
    (("--plot", "no/such/x.svg", *_SOON), "--plot: no/such/x.svg cannot be written"),
)


@pytest.mark.usefixtures("busy")
def test_what_cannot_be_simulated_is_one_sentence(fairlead: Fairlead, file: Path) -> None:
    """The field, its value and the fix."""
    for words, said in _REFUSED:
        assert said in fairlead("policy", "simulate", str(file), *words, code=2)


@pytest.mark.usefixtures("busy")
def test_what_is_not_known_of_jobs_is_said(
    fairlead: Fairlead, file: Path, tmp_path: Path
) -> None:
    """How many jobs were read, and what a trace file leaves out."""
    trace = tmp_path / "trace.jsonl"
    fairlead("trace", "export", "--output", str(trace))
    file.write_text(_KEYED)

    recorded = (*_SOON, "--against", "recorded")
    of_history = simulated(fairlead, file, *recorded)["notes"]
    of_file = simulated(fairlead, file, *recorded, "--trace", str(trace))["notes"]

    (read,) = cast("list[str]", simulated(fairlead, file, *_SOON)["notes"])
    assert read.startswith("kinds and keys are read of 1,060 of 5,997 waiting jobs; ")
    assert str(of_history).startswith("['kinds and keys are those of history")
    source, silent = cast("list[str]", of_file)
    assert source.startswith("kinds and keys are those of the file, which has no deadlines; ")
    assert silent.startswith("136 of 136 jobs do not state payload.account, so no such key ")


@pytest.mark.parametrize(
    "document",
    [_KEYED, "rules: [{match: {kind: bulk}, when: hour >= 0, hold: true}]"],
)
def test_a_trace_is_judged_as_the_history_that_it_was_written_of(
    fairlead: Fairlead, file: Path, tmp_path: Path, db: Connection[TupleRow], document: str
) -> None:
    """Its kinds and key values limit the same jobs, which had no rule before."""
    register(db, slots=8)
    db.execute(_OF_ACCOUNTS)
    trace = tmp_path / "trace.jsonl"
    fairlead("trace", "export", "--key", "payload.account", "--output", str(trace))
    file.write_text(document)

    past, of_file = (
        cast(
            "dict[str, dict[str, int]]",
            simulated(fairlead, file, "--against", "recorded", *words)["all"],
        )
        for words in ((), ("--trace", str(trace)))
    )

    assert past == of_file
    assert past["new"]["started"] < past["old"]["started"] == 200


def test_a_job_takes_as_long_as_its_kind_does(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """Of a tenant that waits with reports no mails are assumed; seven slots have two each."""
    register(db, slots=8)
    db.execute(_OF_KINDS)
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind)"
        " SELECT 'q', 'a', 'report' FROM generate_series(1, 700)"
    )

    found = simulated(fairlead, file, "--horizon", "19s")

    whole = cast("dict[str, dict[str, int]]", found["all"])
    assert 2 * 7 == whole["new"]["started"]
    (said,) = cast("list[str]", found["notes"])
    assert said.startswith("kinds are read of 500 of 700 waiting jobs; ")


@pytest.mark.parametrize(
    ("document", "slots", "fields"),
    [
        (_KEYED, 8, True),
        ("rules: [{match: {kind: bulk}, when: hour >= 0, hold: true}]", 8, False),
        ("pools: [{name: default, queues: [r]}, {name: gpu, queues: [q]}]", 2, False),
    ],
)
def test_what_is_predicted_happens_in_the_order(
    fairlead: Fairlead,
    file: Path,
    db: Connection[TupleRow],
    document: str,
    slots: int,
    *,
    fields: bool,
) -> None:
    """The order itself takes the same time for the database's jobs, within a tenth."""
    db.execute(_MIXED)
    db.execute("UPDATE fairlead.jobs SET created_at = now() - interval '1 hour'")
    register(db, slots=8)
    register(db, slots=2, pool="gpu")
    file.write_text(document)

    found = simulated(fairlead, file, "--horizon", "3s")

    mine, table = parse(document), CompiledPolicy()
    if fields:
        table = compile_policy(mine)
    fleet = Fleet(slots=slots, depth=slots, tick_us=TICK_US, table=table)
    for account, kind in db.execute(_READ).fetchall():
        if kind != "bulk" or not mine.rules:
            fleet.arrive(0, "q", "a", UNKNOWN_US, fields={"payload.account": account})
    fleet.run(3_000_000)
    happened = len(fleet.ended) + len(fleet.running)
    whole = cast("dict[str, dict[str, int]]", found["all"])
    assert whole["new"]["started"] == pytest.approx(happened, rel=0.1)
    assert whole["old"]["started"] > 1.2 * happened


def test_a_bad_trace_is_refused_with_its_line(
    fairlead: Fairlead, file: Path, tmp_path: Path, db: Connection[TupleRow]
) -> None:
    """Line, field and value."""
    register(db)
    trace = tmp_path / "trace.jsonl"
    words = ("policy", "simulate", str(file), "--against", "recorded", "--trace", str(trace))
    trace.write_text('{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 0}\n')
    wrong = fairlead(*words, code=2)
    trace.write_bytes(b"\xff\n")

    assert f"--trace: {trace}: line 1: cost_us is 0" in wrong
    assert "is not UTF-8" in fairlead(*words, code=2)


def test_a_bad_document_is_the_sentence_of_check(fairlead: Fairlead, file: Path) -> None:
    """Before the database is read."""
    file.write_text("queues:\n  - {match: {queue: a}, wieght: 2}\n")

    said = fairlead("policy", "simulate", str(file), code=2)

    assert said == fairlead("policy", "check", str(file), code=2)


def test_without_a_database_it_says_so(
    fairlead: Fairlead, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")

    assert "FAIRLEAD_DATABASE_URL" in fairlead("policy", "simulate", str(file), code=2)
