"""`fairlead doctor` beside a fleet: its faults are provoked, found, and gone once mended."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
import yaml
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead.policy_storage import store
from fairlead_cli.dev.postgres import Server
from fairlead_cli.main import run
from tests.support import tree
from tests.support.children import register
from tests.support.databases import fast_folder, running_server
from tests.support.doctoring import Examine, mend
from tests.support.schedulers import scheduling
from tests.support.waiting import until

_IN_FORCE = """
    SELECT v.document FROM fairlead.policy_events e
    JOIN fairlead.policy_versions v USING (version)
    WHERE e.event = 'in_force' ORDER BY e.id DESC LIMIT 1
"""
_ENDED = """
    INSERT INTO fairlead.job_history (id, created_at, claimed_at, finished_at, attempt,
        max_attempts, crashes, losses, priority, outcome, queue, tenant, kind)
    SELECT i, now(), now() - i * interval '1 s', now(), 1, 1, 0, 0, 0, 'succeeded', 'mail',
        'acme', 'k'
    FROM generate_series(1, 150) i
"""
_POOLS = "pools: [{name: mail, queues: [mail]}]\n"
_LIMITS = """
queues:
  - {match: {queue: fax}, slots: {limit: 5}}
  - {match: {queue: mail}, slots: {limit: 150}, rate: {limit: 9000, per: 1m}}
"""
_APP = "import fairlead\ntasks = fairlead.Tasks()\n"
_SETTINGS = {
    "fsync": "off",
    "max_prepared_transactions": "5",
    "max_wal_size": "32MB",
}

Shell = Callable[[list[str]], None]


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Examine:
    """Return a function that asks the doctor."""
    return Examine(monkeypatch, capsys)


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Iterator[Shell]:
    """Yield a function that starts a service as it is printed, with an application."""
    (tmp_path / "app.py").write_text(_APP)
    paths = os.pathsep.join([str(tmp_path), tree.SOURCES])
    given = {"FAIRLEAD_DATABASE_URL": database_url, "PYTHONPATH": paths}
    with ExitStack() as leaving:

        def start(words: list[str]) -> None:
            assert "fairlead" == words[0]
            filled = ["app:tasks" if word == "MODULE:TASKS" else word for word in words[1:]]
            service = leaving.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "fairlead_cli", *filled],
                    env={**os.environ, **given},
                    stderr=subprocess.DEVNULL,
                )
            )
            leaving.callback(service.terminate)

        yield start


@pytest.fixture
def strict_server() -> Iterator[Server]:
    """Yield a migrated server that vacuums, with prepared transactions and little WAL."""
    with running_server(_SETTINGS, within=fast_folder()) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            migrate(connection)
        yield running


def follow(db: Connection[TupleRow], document: str) -> None:
    """Store a policy and wait until the leader goes by it."""
    store(db, document)
    until(
        lambda: db.execute(_IN_FORCE).fetchone() == (document,),
        what="the policy in force",
        seconds=30,
    )


class Policy:
    """A policy whose document is changed as the doctor asks."""

    def __init__(self, db: Connection[TupleRow], document: str) -> None:
        self._db = db
        self._document = document

    def change(self, asked: str) -> None:
        """Change the document in one of the ways that the doctor has words for."""
        value = yaml.safe_load(self._document)
        if added := re.fullmatch(r'add "(.+)" to `queues` of one of `pools`', asked):
            value["pools"][0]["queues"].append(added[1])
        elif named := re.fullmatch(r"name the pool (\S+) among `pools`, .*", asked):
            value["pools"].append({"name": named[1], "queues": ["more"]})
        else:
            gone = re.fullmatch(r"take out or correct `queues\[(\d+)\](?:\.(\w+))?`", asked)
            assert gone, asked
            if gone[2]:
                del value["queues"][int(gone[1])][gone[2]]
            else:
                del value["queues"][int(gone[1])]
        self._document = yaml.safe_dump(value)

    def apply(self, words: list[str]) -> None:
        """Store the document, as the command would, and wait for the leader."""
        assert ["fairlead", "policy", "apply", "policy.yaml"] == words
        follow(self._db, self._document)


def test_that_nobody_leads_is_told_until_a_scheduler_runs(
    database_url: str, examine: Examine, shell: Shell
) -> None:
    """Which is started by the command that is printed."""
    found = examine(database_url).one("lead")

    mend(database_url, found, shell=shell)

    until(lambda: not examine(database_url).of("lead"), what="a leader", seconds=40)


def test_a_queue_without_a_pool_and_a_pool_without_a_worker_are_told(
    database_url: str, examine: Examine, db: Connection[TupleRow], shell: Shell
) -> None:
    """One after the other: the pool comes first, and then its workers."""
    with scheduling(database_url):
        follow(db, _POOLS)
        db.execute("INSERT INTO fairlead.jobs (kind, queue) VALUES ('k', 'lost')")
        policy = Policy(db, _POOLS)

        queue = examine(database_url).one("queue")

        assert "No pool of the policy serves queue lost:" in str(queue["what"])
        mend(database_url, queue, shell=policy.apply, policy=policy.change)
        report = examine(database_url)
        assert () == report.of("queue")
        pool = report.one("pool")
        assert "Pool mail has no worker, and " in str(pool["what"])
        mend(database_url, pool, shell=shell)
        until(lambda: not examine(database_url).of("pool"), what="a worker", seconds=40)


def test_workers_of_a_pool_that_the_policy_does_not_name_are_told(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """They get no job until it does."""
    with scheduling(database_url):
        follow(db, _POOLS)
        register(db, pool="extra")
        register(db, pool="mail")
        policy = Policy(db, _POOLS)

        pool = examine(database_url).one("pool")

        assert "1 worker serves pool extra, which the policy does not name" in str(pool["what"])
        mend(database_url, pool, shell=policy.apply, policy=policy.change)
        assert () == examine(database_url).of("pool")


def test_limits_that_are_of_no_use_are_told(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """Those that match no lane, and those that none came near; one that is used stays."""
    with scheduling(database_url):
        follow(db, _LIMITS)
        policy = Policy(db, _LIMITS)
        assert {"whether limits are used"} == examine(database_url).unseen_things()
        db.execute(_ENDED)

        unmatched, far = examine(database_url).of("limit")

        assert str(unmatched["what"]).endswith(": queues[0].")
        assert "queues[1].rate of 9000 per 1m (at most 60)" in str(far["what"])
        assert "slots" not in str(far["what"])
        for each in (far, unmatched):
            mend(database_url, each, shell=policy.apply, policy=policy.change)
        assert () == examine(database_url).of("limit")


def test_a_fleet_without_a_fault_is_exit_code_0(
    strict_server: Server, examine: Examine, capsys: pytest.CaptureFixture[str]
) -> None:
    """And one sentence."""
    with scheduling(strict_server.url), psycopg.connect(strict_server.url) as own:
        register(own)
        own.commit()
        until(lambda: not examine(strict_server.url).findings, what="health", seconds=30)

        assert 0 == run(["doctor"])

    assert "nothing is wrong" in capsys.readouterr().out.splitlines()


def test_what_a_whole_server_is_wrong_in_is_told(
    strict_server: Server, examine: Examine
) -> None:
    """A prepared transaction, a slot without a reader, and no autovacuum."""
    url = strict_server.url
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_create_physical_replication_slot('left_behind', true)")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("BEGIN")
        db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
        db.execute("PREPARE TRANSACTION 'o''clock'")
        for _ in range(4):
            db.execute("SELECT pg_logical_emit_message(false, 'x', 'x'), pg_switch_wal()")
        db.execute("ALTER SYSTEM SET autovacuum = off")
        db.execute("SELECT pg_reload_conf()")
        until(
            lambda: db.execute("SHOW autovacuum").fetchone() == ("off",), what="no autovacuum"
        )

    report = examine(url, "--older-than", "1ms")

    assert 'Transaction "o\'clock" of fairlead was prepared' in str(
        report.one("snapshot")["what"]
    )
    assert "MiB of WAL, where 32 MiB are usual" in str(report.one("slot")["what"])
    for subject in ("snapshot", "slot", "autovacuum"):
        mend(url, report.one(subject))
    until(
        lambda: {"lead"} == {str(x["subject"]) for x in examine(url).findings},
        what="all mended",
        seconds=10,
    )


def test_connections_that_run_out_are_told(examine: Examine) -> None:
    """With who has most of them; the server is started again with what is printed."""
    few = {**_SETTINGS, "max_connections": "20"}
    with running_server(few, within=fast_folder()) as small, ExitStack() as leaving:

        def restart(words: list[str]) -> None:
            assert "pg_ctl" == words[0]
            said = (small.data_dir / "postgresql.auto.conf").read_text()
            more = re.search(r"max_connections = '(\d+)'", said)
            assert more is not None
            small.stop()
            # What this server is told on its command line goes before its file.
            given = {**_SETTINGS, "max_connections": more[1]}
            leaving.enter_context(Server(small.data_dir, settings=given))

        with psycopg.connect(small.url, autocommit=True) as db:
            migrate(db)
        with ExitStack() as opened:
            greedy(small.url, opened)
            found = examine(small.url).one("connections")
        assert "16 of 17 connections are taken; most by greedy 15" in str(found["what"])

        mend(small.url, found, shell=restart)

        greedy(small.url, leaving)
        assert () == examine(small.url).of("connections")


def greedy(url: str, opened: ExitStack) -> None:
    """Open a lot of sessions."""
    for _ in range(15):
        opened.enter_context(psycopg.connect(url, application_name="greedy"))
