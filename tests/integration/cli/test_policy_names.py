"""`fairlead policy` holds the names in a document against those that the database has."""

import json
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.inspection import policy_names
from fairlead_cli.main import run
from tests.integration.conftest import Fairlead
from tests.support.logins import as_login, login
from tests.support.statements import command_statements, nodes, prepare

DOCUMENT = """
pools: [{name: default, queues: [mail, mial]}]
labels: {acme: {tier: gold}, amce: {tier: gold}, later: {tier: gold}, gone: {tier: gold}}
"""
ENDED = """
    INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts,
        crashes, losses, priority, outcome, queue, tenant, kind)
    VALUES (%s, now(), now(), 1, 1, 0, 0, 0, 'failed', 'old', %s, 'k')
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with a policy that misspells a queue and a tenant."""
    path = tmp_path / "policy.yaml"
    path.write_text(DOCUMENT)
    return path


@pytest.fixture
def used(db: Connection[TupleRow]) -> Connection[TupleRow]:
    """Return a connection to a database with jobs, a schedule and an ending."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind, run_at) VALUES"
        " ('mail', 'acme', 'k', NULL), ('bulk', 'acme', 'k', NULL),"
        " ('mail', 'later', 'k', '2999-01-01')"
    )
    db.execute(ENDED, [-1, "gone"])
    return db


def unknown(said: list[str]) -> list[str]:
    """Return the names that warnings are about."""
    return [each.split("'")[1] for each in said]


@pytest.mark.parametrize("command", ["check", "apply"])
def test_names_that_nobody_has_and_queues_without_a_pool_are_warnings(
    fairlead: Fairlead,
    used: Connection[TupleRow],
    file: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    """Unfinished jobs count, also those of later, and so does what ended lately."""
    answer = json.loads(fairlead("policy", command, str(file), "--json"))

    assert ["bulk", "mial", "amce"] == unknown(answer["warnings"])
    assert 0 == run(["policy", command, str(file)])
    said = "fairlead: warning: pools: none serves queue 'bulk', which has jobs"
    assert said in capsys.readouterr().err
    used.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, queue, kind)"
        " VALUES ('amce', 'nightly', '0 3 * * *', 'mial', 'k')"
    )
    assert ["bulk"] == unknown(
        json.loads(fairlead("policy", command, str(file), "--json"))["warnings"]
    )


def test_a_rollback_warns_too(
    fairlead: Fairlead, used: Connection[TupleRow], file: Path
) -> None:
    """A queue may have come since."""
    fairlead("policy", "apply", str(file))
    used.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('new', 'k')")

    answer = json.loads(fairlead("policy", "rollback", "1", "--json"))

    assert ["bulk", "new", "mial", "amce"] == unknown(answer["warnings"])


def test_with_more_lanes_than_are_looked_at_no_name_is_nobodys(
    fairlead: Fairlead,
    used: Connection[TupleRow],
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Endings alone are cut without a word: they are only the last ones in any case."""
    monkeypatch.setattr(policy_names, "_LANES_MAX", 3)
    for number in range(5):
        used.execute(ENDED, [number + 10, "gone"])
    check = ("policy", "check", str(file), "--json")
    assert ["bulk", "mial", "amce"] == unknown(json.loads(fairlead(*check))["warnings"])

    used.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('new', 'k')")

    assert ["bulk", "new"] == unknown(json.loads(fairlead(*check))["warnings"])


def test_a_database_that_cannot_be_asked_is_said_and_no_error(
    fairlead: Fairlead,
    database_url: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither one that is away nor a login that may not look."""
    with login(database_url, "fairlead_enqueue") as name:
        for url in ("postgresql://127.0.0.1:1/nowhere", as_login(database_url, name)):
            monkeypatch.setenv("FAIRLEAD_DATABASE_URL", url)
            assert 0 == run(["policy", "check", str(file)])
            said = capsys.readouterr().err
            assert said.startswith("fairlead: its names are not held against a database: ")
            assert 1 == said.count("\n")
    monkeypatch.delenv("FAIRLEAD_DATABASE_URL")
    fairlead("policy", "check", str(file))
    assert "" == capsys.readouterr().err


def test_few_buffers_are_read_however_many_jobs_there_are(db: Connection[TupleRow]) -> None:
    """By jumping from lane to lane, and no further than the bound."""
    db.execute("ANALYZE")
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind)"
        " SELECT 'q' || i % 3, 't' || i % 40, 'k' FROM generate_series(1, 60000) i"
    )
    (names,) = (each for each in command_statements() if each.name == "known_names")
    plan = prepare(db, names).run({"limit": 100})

    assert 120 * 20 > int(str(plan["Shared Hit Blocks"])) + int(str(plan["Shared Read Blocks"]))
    assert {"Seq Scan"}.isdisjoint(
        str(node["Node Type"]) for node in nodes(plan) if node.get("Relation Name") == "jobs"
    )
