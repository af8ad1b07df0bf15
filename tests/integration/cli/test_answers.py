"""What commands answer in JSON, in part, and where there is no database."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from rich.console import Console

from fairlead import policy, policy_storage
from fairlead_cli.commands import top
from fairlead_cli.dev.postgres import Server
from fairlead_cli.main import run
from tests.integration.conftest import Fairlead
from tests.support.logins import as_login, login


def test_a_plan_is_told_as_json_too(fairlead: Fairlead) -> None:
    """Whatever answers takes --json."""
    plan = json.loads(fairlead("migrate", "--plan", "--json"))["plan"]

    assert fairlead("migrate", "--plan") == plan


def test_top_prints_an_object_a_look(fairlead: Fairlead) -> None:
    """With --json it looks once, or as often as was asked for, and says the rates."""
    said = fairlead("top", "--json", "--every", "0.1", "--count", "2")

    first, end = json.JSONDecoder().raw_decode(said)
    second = json.loads(said[end:])
    assert first["counters"]["now"] < second["counters"]["now"]
    assert first["rates"] is None
    assert dict.fromkeys(
        ("inserted_a_second", "started_a_second", "ended_a_second"), 0.0
    ) == second.pop("rates")


def in_force(db: Connection[TupleRow], document: str) -> None:
    """Store a policy, and note that a leader has put it in force."""
    version = policy_storage.store(db, document).version
    db.execute(
        "INSERT INTO fairlead.policy_events (version, event, epoch) VALUES (%s, 'in_force', 1)",
        [version],
    )


def test_top_names_the_policy_in_force(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """In the picture, in a line and for programs; a newer one that does nothing, too."""
    in_force(db, "version: 1")
    ruled = top.look(db)
    policy_storage.store(db, "version: 2", author="ann")
    snapshot = top.look(db)
    drawn = [StringIO(), StringIO()]
    for file, each in zip(drawn, (ruled, snapshot), strict=True):
        Console(file=file, width=100).print(top.picture(each, each, width=100))

    of_one, of_two = (
        [line.rstrip() for line in each.getvalue().splitlines()] for each in drawn
    )

    digest = policy.digest(policy.parse("version: 1"))
    assert of_one[1].startswith(f"policy version 1, digest {digest}, in force; stored 0.")
    assert "" == of_one[2]
    assert of_two[2].startswith("version 2 is stored, and no leader has it in force: see ")
    assert " workers 0 policy 1 in/s " in fairlead("top", "--count", "1")
    said = json.loads(fairlead("top", "--json"))["policy"]
    assert ({"version": 1, "digest": digest}, 2) == (
        said["in_force"],
        said["newest"]["version"],
    )


def test_queues_say_which_pool_serves_them(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """The first one that names the queue, by the policy in force and none stored since."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, kind)"
        " SELECT q, 'k' FROM unnest(ARRAY['mail-in', 'lost', 'm']) q"
    )
    plain = json.loads(fairlead("queues", "--json"))
    in_force(db, "pools: [{name: mail, queues: ['mail*', m]}, {name: rest, queues: ['m*']}]")
    policy_storage.store(db, "pools: [{name: all, queues: ['*']}]")

    found = json.loads(fairlead("queues", "--json"))
    table = [line.split()[:2] for line in fairlead("queues").splitlines()]
    snapshot = json.loads(fairlead("top", "--json"))["queues"]

    assert all("pool" not in row for row in plain)
    assert [("lost", None), ("m", "mail"), ("mail-in", "mail")] == [
        (row["queue"], row["pool"]) for row in found
    ]
    assert [row["pool"] for row in found] == [row["pool"] for row in snapshot]
    assert [["queue", "pool"], ["lost", "none"], ["m", "mail"], ["mail-in", "mail"]] == [
        table[0],
        *table[2:],
    ]


def test_a_policy_of_a_newer_leader_hides_no_queue(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """How its pools say what they serve is not known to this program."""
    db.execute(
        "WITH stored AS ("
        " INSERT INTO fairlead.policy_versions (digest, author, document)"
        " VALUES ('0123456789ab', 'newer', 'pools: [{name: all, serves: {queue: m}}]')"
        " RETURNING version)"
        " INSERT INTO fairlead.policy_events (version, event, epoch)"
        " SELECT version, 'in_force', 1 FROM stored"
    )
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")

    (found,) = json.loads(fairlead("queues", "--json"))

    assert ("default", False) == (found["queue"], "pool" in found)


def test_who_may_not_read_the_policy_sees_the_queues(
    fairlead: Fairlead,
    db: Connection[TupleRow],
    monkeypatch: pytest.MonkeyPatch,
    database_url: str,
) -> None:
    """The autoscaler's login has the one and not the other."""
    in_force(db, "pools: [{name: all, queues: ['*']}]")
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
    with login(database_url, "fairlead_autoscaler") as name:
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, name))

        assert ["default"] == [row["queue"] for row in json.loads(fairlead("queues", "--json"))]


def test_a_list_of_schedules_says_when_there_are_more(
    fairlead: Fairlead, db: Connection[TupleRow], capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit hides nothing without a word."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, tenant, cron, kind)"
        " SELECT 's', t, '0 3 * * *', 'k' FROM unnest(ARRAY['a', 'b', 'c']) t"
    )

    of_b = json.loads(fairlead("schedules", "list", "--tenant", "b", "--json"))
    of_d = fairlead("schedules", "list", "--tenant", "d")
    code = run(["schedules", "list", "--limit", "2", "--json"])
    limited = capsys.readouterr()

    assert ["b"] == [row["tenant"] for row in of_b]
    assert "tenant 'd' has no schedule\n" == of_d
    assert (0, ["a", "b"]) == (code, [row["tenant"] for row in json.loads(limited.out)])
    assert "fairlead: there are more than 2: give --limit\n" == limited.err


def test_groups_that_list_do_so_without_a_command(fairlead: Fairlead) -> None:
    """`fairlead schedules` and `fairlead workers` are what people type first."""
    assert "there is no schedule\n" == fairlead("schedules")
    assert [] == json.loads(fairlead("schedules", "--json"))
    assert "no worker has registered\n" == fairlead("workers")
    assert [] == json.loads(fairlead("workers", "--json"))


def test_doctor_setup_without_a_database_still_looks_at_the_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable that is spelt wrong may be why there is none; each fault is said once."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://u@127.0.0.1:1/x")
    monkeypatch.setenv("FAIRLEAD_DATABSE_URL", "postgresql://u@127.0.0.1/x")
    monkeypatch.setenv("FAIRLEAD_LOG_FORMAT", "xml")

    code = run(["doctor", "--setup"])

    said = capsys.readouterr()
    assert 2 == code
    assert "nothing reads FAIRLEAD_DATABSE_URL: check the spelling" in said.out
    assert said.out.count("FAIRLEAD_LOG_FORMAT: ") == said.out.count("(it is 'xml')") == 1
    assert said.err == (
        'fairlead: cannot reach the database: connection to server at "127.0.0.1", port 1 '
        "failed: Connection refused; FAIRLEAD_DATABASE_URL says where it is\n"
    )


def test_a_project_with_a_database_of_its_own_is_told_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a terminal in which nobody has exported what `fairlead dev` printed."""
    (tmp_path / ".fairlead").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://u@127.0.0.1:1/x")

    code = run(["queues"])

    assert 2 == code
    assert capsys.readouterr().err.endswith(
        "; set FAIRLEAD_DATABASE_URL to the URL that `fairlead dev` prints here\n"
    )


def test_doctor_setup_finds_settings_that_contradict_each_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worker's too, whose application only a flag names."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://u@127.0.0.1:1/x")
    monkeypatch.setenv("FAIRLEAD_WORKER_RENEW_SECONDS", "10")
    monkeypatch.setenv("FAIRLEAD_MARGIN_SECONDS", "2.5")

    run(["doctor", "--setup", "--quiet"])

    said = capsys.readouterr().out
    assert "worker_renew_seconds (10 s) must be under a third of" in said
    assert "renew_seconds (1) and margin_seconds (2.5) together must be" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["worker", "--app", "jobs"], "app must be module:attribute"),
        (["worker", "--slots", "5"], "--slots"),
        (["scheduler", "--health-port", "x"], "FAIRLEAD_HEALTH_PORT"),
        (["scheduler", "--slots", "5"], "--slots"),
    ],
)
def test_a_service_that_cannot_start_exits_2(words: list[str], says: str) -> None:
    """As `fairlead worker` and `fairlead-worker` alike: a supervisor looks at the code."""
    done = subprocess.run(
        [sys.executable, "-m", "fairlead_cli", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (2, 1) == (done.returncode, done.stderr.count("\n")), done.stderr
    assert done.stderr.startswith("fairlead: ")
    assert says in done.stderr


def test_a_login_that_may_not_enqueue_is_told_which_role_may(
    fairlead: Fairlead, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading jobs is one right, and inserting them another; who has no role has neither."""
    for roles in (("fairlead_reader",), ()):
        with login(database_url, *roles) as name:
            monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, name))

            said = fairlead("enqueue", "k", code=2)

        assert said.endswith(": log in as a member of fairlead_enqueue\n")


def test_a_login_is_told_how_to_come_by_a_tenant(
    fairlead: Fairlead,
    db: Connection[TupleRow],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under row-level security the role is not enough: each login has its tenants."""
    fairlead("migrate", "--rls")
    with login(database_url, "fairlead_enqueue") as name:
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, name))

        said = fairlead("enqueue", "k", "--tenant", "acme", code=2)
        db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [name])
        job = fairlead("enqueue", "k", "--tenant", "acme")

    assert said.startswith(f"fairlead: login '{name}' may not enqueue for tenant 'acme': give ")
    assert "fairlead.tenant_logins" in said
    assert job.strip().isdigit()


def test_a_login_that_may_not_migrate_is_told_who_may(
    fairlead: Fairlead,
    db: Connection[TupleRow],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Making a schema is the right of the database's owner, and changing it of its own."""
    with login(database_url, "fairlead_admin") as name:
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, name))
        assert fairlead("migrate", code=2).endswith(": log in as the owner of the schema\n")
        db.execute("DROP SCHEMA fairlead CASCADE")

        assert fairlead("migrate", code=2).endswith(": log in as the owner of the database\n")


def test_a_pause_is_shown_with_the_tenants_that_it_stops(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Of a whole queue, or of one tenant in it."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind)"
        " VALUES ('q', 'a', 'k'), ('q', 'b', 'k'), ('r', 'a', 'k')"
    )
    fairlead("pause", "q", "--tenant", "a")
    fairlead("pause", "r")

    found = json.loads(fairlead("tenants", "--json"))

    paused = {(row["queue"], row["tenant"]): row["paused"] for row in found}
    assert {("q", "a"): True, ("q", "b"): False, ("r", "a"): True} == paused
    assert 2 == fairlead("tenants").count("paused")


def test_a_server_that_is_too_old_is_refused_before_the_first_step(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left behind by steps that its syntax allowed; here every server is too old."""
    db.execute("DROP SCHEMA fairlead CASCADE")
    monkeypatch.setattr("fairlead.db.migrate.SERVER_LOWEST", 99)

    for command in (["migrate"], ["migrate", "--plan"]):
        said = fairlead(*command, code=2)
        assert said.endswith(" is too old: upgrade it to 99 or newer\n")
        assert said.startswith("fairlead: PostgreSQL ")

    assert (None,) == db.execute("SELECT to_regnamespace('fairlead')").fetchone()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_text_is_refused(
    fairlead: Fairlead, server: Server, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    """Before the first step: errors of handlers could not be stored, nor half of all names."""
    name = f"in_{encoding.lower()}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        create = f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0"
        connection.execute(f"{create} LOCALE_PROVIDER libc LOCALE 'C'".encode())
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", server.url_of(name))
        said = [fairlead("migrate", *given, code=2) for given in ((), ("--plan",))]
        with psycopg.connect(server.url_of(name)) as there:
            schema = there.execute("SELECT to_regnamespace('fairlead')").fetchone()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    assert (
        f"fairlead: the database's encoding is {encoding}, which cannot hold every text: "
        "create it anew with ENCODING 'UTF8' and TEMPLATE template0\n"
    ) == said[0]
    assert (said[0], (None,)) == (said[1], schema)


@pytest.mark.any_server
@pytest.mark.parametrize("by", ["the server", "a pooler that does not say"])
def test_a_standby_is_not_migrated_and_can_be_read(
    fairlead: Fairlead, own_server: Server, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """A session there may not say that it writes."""
    said_by_server = psycopg.ConnectionInfo.parameter_status

    def parameter_status(info: psycopg.ConnectionInfo, name: str, /) -> str | None:
        return None if name == "in_hot_standby" else said_by_server(info, name)

    if by != "the server":
        monkeypatch.setattr(psycopg.ConnectionInfo, "parameter_status", parameter_status)
    own_server.stop()
    (own_server.data_dir / "standby.signal").touch()
    own_server.start()
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", own_server.url)

    said = fairlead("migrate", code=2)

    assert "fairlead: the server is a standby: connect to the primary\n" == said
    assert "[]\n" == fairlead("queues", "--json")


def test_a_server_that_hides_its_timeline_is_refused(
    fairlead: Fairlead, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first step: every claim asks for it, and some services refuse to say."""
    with (
        psycopg.connect(server.url, autocommit=True) as connection,
        login(server.url, options="CREATEROLE") as owner,
    ):
        connection.execute(f"CREATE DATABASE hides_timeline OWNER {owner}".encode())
        url = server.url_of("hides_timeline")
        with psycopg.connect(url, autocommit=True) as there:
            there.execute("REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC")
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(url, owner))
        said = [fairlead("migrate", *given, code=2) for given in ((), ("--plan",))]
        with psycopg.connect(url) as there:
            schema = there.execute("SELECT to_regnamespace('fairlead')").fetchone()
        connection.execute(b"DROP DATABASE hides_timeline WITH (FORCE)")

    assert (
        "fairlead: the server does not say which timeline it writes, which every claim asks "
        "for: permission denied for function pg_walfile_name\n"
    ) == said[0]
    assert (said[0], (None,)) == (said[1], schema)
