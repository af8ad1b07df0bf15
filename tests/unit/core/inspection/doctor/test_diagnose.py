"""What `fairlead doctor` makes of what it read."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.inspection.doctor.diagnose import diagnose, undecided
from fairlead.inspection.doctor.facts import Clocks, CrashBreaker, Facts, Lead, Queued, Sessions
from fairlead.inspection.doctor.finding import (
    HARMS,
    SUBJECTS,
    Finding,
    Step,
    identifier,
    literal,
    ordered,
)
from fairlead.inspection.doctor.schema_indexes import wanted
from fairlead.policy import parse
from tests.support import tree
from tests.support.examined import (
    HEALTHY,
    JOBS,
    LANE,
    MIB,
    NOTIFICATIONS,
    NOW,
    QUEUED,
    SECOND,
    SERVER,
    SESSION,
    SLOT,
    WORKER,
)

pytestmark = pytest.mark.any_server

POOLS = parse("pools: [{name: mail, queues: ['mail*']}, {name: gpu, queues: [train]}]")
TO_ZERO = parse(
    "pools: [{name: default, queues: ['*'], autoscale: {objective: 5s, min: 0, max: 2,"
    " slots: 4}}]"
)
MAIL_WORKER = replace(WORKER, pool="mail")

FAULTS: list[tuple[dict[str, object], str, str, str, str]] = [
    (
        {"lead": Lead("", None, held=False)},
        *("stops", "lead", "none ever has", "fairlead scheduler"),
    ),
    (
        {"lead": Lead("x", None, held=False)},
        *("stops", "lead", "none has since x gave the lead up", "fairlead scheduler"),
    ),
    (
        {"lead": Lead("x", None, held=True, faults=("the scheduler's: its lease is odd",))},
        *(
            "stops",
            "lead",
            "the scheduler's: its lease is odd",
            "select fairlead.reset_leadership()",
        ),
    ),
    (
        {"lead": Lead("x", 90 * SECOND, held=False)},
        *("stops", "lead", "none has for 1 m 30 s", "fairlead scheduler"),
    ),
    (
        {"workers": (WORKER, replace(WORKER, id=8, lapsed=60 * SECOND))},
        *("stops", "lease", "(id 8, pool default) lapsed 1 m ago, and it holds 2 jobs"),
        "fairlead workers release 8",
    ),
    (
        {"workers": (WORKER, replace(WORKER, id=8, lapsed=60 * SECOND, jobs=0))},
        *("wastes", "lease", "holds no job", "fairlead workers release 8"),
    ),
    (
        {"workers": (), "queues": ()},
        *("stops", "pool", "Pool default has no worker, and 3 jobs queued for one"),
        "fairlead worker --pool default --app MODULE:TASKS",
    ),
    (
        {"history_days_ahead": 3},
        *("slows", "partitions", "them for 3 days after today"),
        "select fairlead.make_history_partitions(14)",
    ),
    (
        {"history_days_ahead": 1},
        *(
            "slows",
            "partitions",
            "them for 1 day after today",
            "select fairlead.make_history_partitions",
        ),
    ),
    (
        {"history_days_ahead": -1},
        *("slows", "partitions", "none for today", "select fairlead.make_history_partitions"),
    ),
    (
        {"indexes": ()},
        *("stops", "index", "fairlead.jobs_lane of the schema is missing"),
        "create index concurrently jobs_lane on fairlead.jobs (queue)",
    ),
    (
        {"indexes": (replace(LANE, valid=False),)},
        *("stops", "index", "is invalid", "reindex index concurrently fairlead.jobs_lane"),
    ),
    (
        {"indexes": (LANE, replace(LANE, name="jobs_lane_ccnew", valid=False))},
        *("wastes", "index", "is invalid", "drop index concurrently fairlead.jobs_lane_ccnew"),
    ),
    (
        {"indexes": (LANE, replace(LANE, name="My own", valid=False))},
        *("wastes", "index", "is invalid", 'drop index concurrently fairlead."My own"'),
    ),
    (
        {"indexes": (replace(LANE, bytes=9 * MIB),)},
        *("wastes", "empty space", "takes 9 MiB for 100 rows"),
        "reindex index concurrently fairlead.jobs_lane",
    ),
    (
        {"tables": (replace(JOBS, bytes=33 * MIB),)},
        *("wastes", "empty space", "fairlead.jobs takes 33 MiB for 110 rows"),
        "vacuum (full, analyze) fairlead.jobs",
    ),
    (
        {"tables": (replace(JOBS, dead=20_001),)},
        *("slows", "dead rows", "20,001 dead rows beside 100 living", "vacuum (analyze) fair"),
    ),
    (
        {"tables": (replace(JOBS, autovacuum=False),)},
        *("slows", "autovacuum", "off for fairlead.jobs"),
        "alter table fairlead.jobs reset (autovacuum_enabled)",
    ),
    (
        {"server": replace(SERVER, autovacuum=False)},
        *("slows", "autovacuum", "server's autovacuum is off", "alter system set autovacuum"),
    ),
    (
        {"server": replace(SERVER, track_counts=False)},
        *("slows", "autovacuum", "track_counts is off", "alter system set track_counts = on"),
    ),
    (
        {"sessions": (Sessions("psql", 70, 80), Sessions("x", 10, 80))},
        *("slows", "connections", "80 of 97 connections are taken; most by psql 70, x 10"),
        "alter system set max_connections = 150",
    ),
    (
        {"sessions": (Sessions("psql", 97, 97),)},
        *("stops", "connections", "97 of 97", "alter system set max_connections = 150"),
    ),
    (
        {"notifications": NOTIFICATIONS},
        *("slows", "notifications", "25.0% full. The oldest transaction is of session 42 (rep"),
        "select pg_terminate_backend(42)",
    ),
    (
        {"notifications": replace(NOTIFICATIONS, part=0.11, pid=None)},
        *("slows", "notifications", "11.0% full. Which session", "select pid, usename"),
    ),
    (
        {"clocks": Clocks(NOW, NOW - 30 * SECOND, NOW)},
        *("slows", "clock", "30 s ahead of the server's", "timedatectl set-ntp true"),
    ),
    (
        {"clocks": Clocks(NOW, NOW + 30 * SECOND, NOW)},
        *("slows", "clock", "30 s behind the server's", "timedatectl set-ntp true"),
    ),
    (
        {"crash_breakers": (CrashBreaker("resize", "it's", 2),)},
        *(
            "slows",
            "crashes",
            "kind resize of tenant 'it'\\''s' run one at a time on 2 workers",
        ),
        "fairlead jobs list --kind resize --tenant 'it'\\''s'",
    ),
    (
        {"crash_breakers": (CrashBreaker("resize", "", 1),)},
        *("slows", "crashes", "kind resize of tenant '' run one at a time on 1 worker:"),
        "fairlead jobs list --kind resize --tenant ''",
    ),
    (
        {"holders": (SESSION,)},
        *("slows", "snapshot", "Session 42 (reports, login analyst, idle in transaction) has"),
        "select pg_terminate_backend(42)",
    ),
    (
        {"holders": (replace(SESSION, kind="standby", application="walreceiver"),)},
        *("slows", "snapshot", "A standby's session 42 (walreceiver", "select pg_terminate"),
    ),
    (
        {"holders": (replace(SESSION, kind="prepared", name="o'x", pid=None),)},
        *("slows", "snapshot", "prepared 20 m ago", "rollback prepared 'o''x'"),
    ),
    (
        {"holders": (SLOT,)},
        *("stops", "slot", "keeps 2,048 MiB of WAL, where 1,024 MiB are usual"),
        "select pg_drop_replication_slot('replica')",
    ),
    (
        {"holders": (replace(SLOT, transactions=2_000_000, wal_bytes=None),)},
        *("slows", "slot", "a snapshot 2,000,000 transactions old", "select pg_drop"),
    ),
    (
        {"holders": (replace(SLOT, pid=9, state="active"),)},
        *("stops", "slot", "which is active", "select pg_terminate_backend(9)"),
    ),
    (
        {"policy": POOLS, "workers": (MAIL_WORKER,), "queued": (), "queues": ("mail", "lost")},
        *("stops", "queue", "No pool of the policy serves queue lost"),
        'add "lost" to `queues` of one of `pools`',
    ),
    (
        {"policy": POOLS, "workers": (MAIL_WORKER,), "queued": (), "queues": ("train",)},
        *("stops", "pool", "Pool gpu has no worker, and jobs that are due"),
        "fairlead worker --pool gpu",
    ),
    (
        {"policy": POOLS, "workers": (MAIL_WORKER, WORKER), "queued": ()},
        *("wastes", "pool", "1 worker serves pool default, which the policy does not name"),
        "name the pool default among `pools`",
    ),
    (
        {"policy": TO_ZERO, "workers": (), "queued": (Queued("default", 1, 60 * SECOND),)},
        *("stops", "pool", "the oldest for 1 m", "fairlead worker --pool default"),
    ),
]


def found_in(**faults: object) -> tuple[Finding, ...]:
    """Return the findings of a healthy installation with faults."""
    return diagnose(replace(HEALTHY, **faults))  # type: ignore[arg-type]  # names of its fields


def test_nothing_is_found_in_a_healthy_installation() -> None:
    """With a policy that has pools and with one that may go to zero, too."""
    assert () == diagnose(HEALTHY)
    assert () == found_in(policy=POOLS, workers=(MAIL_WORKER,), queued=())
    assert () == found_in(policy=TO_ZERO, workers=(), queued=(QUEUED,))
    assert () == found_in(
        lead=None, workers=None, queued=None, queues=None, lanes=None, runs=None
    )


@pytest.mark.parametrize(("fault", "harm", "subject", "says", "fix"), FAULTS)
def test_each_fault_is_one_finding_with_its_fix(
    fault: dict[str, object], harm: str, subject: str, says: str, fix: str
) -> None:
    """With its harm, its numbers, what it means and what to do."""
    (finding,) = found_in(**fault)

    assert (harm, subject) == (finding.harm, finding.subject)
    assert says in finding.what
    assert finding.means.endswith(".")
    assert finding.fix[0].text.startswith(fix)
    typed = [each.text for each in finding.fix if each.where == "sql"]
    assert [] == [text for text in typed if "--" in text], "would swallow a `;` typed after it"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            {"lead": Lead("", None, held=False)},
            ["kubectl describe pods --show-events -l app.kubernetes.io/component=scheduler"],
        ),
        (
            {"policy": POOLS, "workers": (MAIL_WORKER,), "queued": (), "queues": ("train",)},
            ["kubectl describe pods --show-events -l fairlead/pool=gpu"],
        ),
        (
            {"sessions": (Sessions("psql", 97, 97),)},
            ["in the database's own resource */", "its operator does it"],
        ),
    ],
    ids=["lead", "pool", "connections"],
)
def test_what_starts_a_process_says_what_it_is_on_kubernetes(
    fault: dict[str, object], says: list[str]
) -> None:
    """In a comment, so that the line can be typed as it stands on one machine."""
    (finding,) = found_in(**fault)

    said = [each.text.partition("on Kubernetes: ") for each in finding.fix]
    assert says == [after for _, _, after in said]
    marks = {"shell": "  # ", "sql": "  /* "}
    assert all(
        before.endswith(marks[each.where])
        for (before, _, _), each in zip(said, finding.fix, strict=True)
    )


@pytest.mark.parametrize(
    "fine",
    [
        {"workers": (WORKER, replace(WORKER, id=8, lapsed=9 * SECOND))},
        {"tables": (replace(JOBS, dead=20_000),)},
        {"tables": (replace(JOBS, dead=90_000, vacuumed_at=25_000.0),)},
        {"tables": (replace(JOBS, bytes=33 * MIB, live=5000),)},
        {"indexes": (replace(LANE, bytes=9 * MIB, live=10_000),)},
        {"sessions": (Sessions("psql", 77, 77),)},
        {"notifications": replace(NOTIFICATIONS, part=0.1)},
        {"clocks": Clocks(NOW, NOW - 2 * SECOND, NOW)},
        {"clocks": Clocks(NOW, NOW, NOW + 60 * SECOND)},
        {"holders": (replace(SESSION, age=timedelta(minutes=5)),)},
        {"holders": (replace(SESSION, age=None),)},
        {"holders": (replace(SLOT, wal_bytes=1024 * MIB),)},
        {"history_days_ahead": 7},
        {"history_days_ahead": None, "indexes": None},
    ],
)
def test_what_is_usual_is_no_finding(fine: dict[str, object]) -> None:
    """Up to each bound, and a clock that was slow to ask says nothing."""
    assert () == found_in(**fine)


def test_a_snapshot_may_be_as_old_as_is_said() -> None:
    """Longer than five minutes, or shorter."""
    facts = replace(HEALTHY, holders=(SESSION,))

    assert () == diagnose(facts, older_than=timedelta(minutes=20))
    assert 1 == len(diagnose(facts, older_than=timedelta(minutes=19)))


def test_the_most_harmful_comes_first() -> None:
    """First what stops work, and of equals what holds vacuum back before dead rows."""
    findings = found_in(
        tables=(replace(JOBS, dead=50_000),),
        indexes=(replace(LANE, bytes=9 * MIB),),
        holders=(SESSION,),
        lead=Lead("", None, held=False),
    )

    assert ["lead", "snapshot", "dead rows", "empty space"] == [x.subject for x in findings]


def test_every_harm_and_subject_has_its_place() -> None:
    """So that none is lost in the order."""
    some = [Finding(harm, subject, "", "", ()) for harm in HARMS for subject in SUBJECTS]

    assert tuple(some) == ordered(reversed(some))


def test_names_are_quoted_for_statements() -> None:
    """Whatever is in them."""
    assert ("a_b", '"A b"', '"a""b"', '"ä"') == tuple(
        map(identifier, ("a_b", "A b", 'a"b', "ä"))
    )
    assert ("'a'", "'a''b'", r"e'a\\''b'") == tuple(map(literal, ("a", "a'b", r"a\'b")))


def test_the_schemas_indexes_are_read_from_its_text() -> None:
    """Each with a statement; an index of a partition comes with its parent's."""
    found = {each.name: each.statement for each in wanted(tree.text(SCHEMA))}

    assert {"jobs_lane", "jobs_pkey", "paused_once", "job_history_id"} <= found.keys()
    assert "job_history_succeeded_id_idx" not in found
    assert (
        "create unique index concurrently jobs_dedup on fairlead.jobs USING btree"
        " (queue, tenant, dedup_key) WHERE (dedup_key IS NOT NULL)"
    ) == found["jobs_dedup"]
    assert (
        "create index job_history_id on fairlead.job_history USING btree (id)"
        == (found["job_history_id"])
    )
    assert (
        "alter table fairlead.paused add constraint paused_once UNIQUE NULLS NOT DISTINCT"
        " (queue, tenant)"
    ) == found["paused_once"]


SCHEMA = Path("core/fairlead/db/schema.sql")


def test_too_few_endings_are_no_evidence() -> None:
    """It is said, and nothing is found."""
    few = replace(HEALTHY, policy=POOLS, workers=(MAIL_WORKER,), queued=(), runs=())

    assert () == diagnose(few)
    assert ["whether limits are used"] == [each.what for each in undecided(few)]
    assert () == undecided(replace(few, runs=HEALTHY.runs))
    assert () == undecided(replace(few, policy=None))


def test_a_step_says_where_it_is_done() -> None:
    """A change of the policy is stored by a command."""
    facts: Facts = replace(
        HEALTHY, policy=POOLS, workers=(MAIL_WORKER,), queued=(), queues=("a", "b", "mail")
    )

    (finding,) = diagnose(facts)

    assert "serves queues a, b:" in finding.what
    assert ("policy", Step("shell", "fairlead policy apply policy.yaml")) == (
        finding.fix[0].where,
        finding.fix[1],
    )
