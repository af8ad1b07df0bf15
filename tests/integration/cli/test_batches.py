"""`fairlead batches`: which there are, how their jobs ended, and what they wait for."""

import json

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.integration.conftest import Fairlead
from tests.support.batches import LIMITED, add, finish, make, settle
from tests.support.logins import LogIn, as_login
from tests.support.race import lead

pytestmark = pytest.mark.any_server


def listed(fairlead: Fairlead, *options: str) -> list[tuple[int, str, str | None]]:
    """Return the ids, states and what is waited for."""
    found = json.loads(fairlead("batches", "list", "--json", *options))
    return [(row["id"], row["state"], row["waits_for"]) for row in found]


def test_each_state_of_a_batch_says_what_is_waited_for(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """The newest first; the first job that is not counted is what holds a batch up."""
    epoch = lead(db)
    db.execute(LIMITED.encode())
    completed, given_up, refused = make(db), make(db, is_open=True), make(db, tenant="full")
    waiting, opened, empty = make(db, tenant="acme"), make(db, is_open=True), make(db)
    finish(db, add(db, completed, count=3), "failed")
    first, second, third = add(db, waiting, count=3)
    (joined,) = add(db, opened)
    finish(db, [first, third])
    settle(db, epoch)
    db.execute(
        "UPDATE fairlead.batches SET open = false, completed_at = now() WHERE id = %s",
        [given_up],
    )
    closed = make(db, is_open=True)

    problem = json.loads(fairlead("batches", "show", str(refused), "--json"))["waits_for"]
    every = [
        (closed, "open", "close_batch"),
        (opened, "open", f"job {joined}"),
        (waiting, "waiting", f"job {second}"),
        (refused, "refused", problem),
        (given_up, "given_up", None),
        (completed, "completed", None),
    ]
    assert [each for each in listed(fairlead) if each[0] != empty] == every
    assert "backlog" in problem
    assert [every[2]] == listed(fairlead, "--tenant", "acme")
    assert every[:2] == listed(fairlead, "--state", "open")
    assert [every[2]] == listed(fairlead, "--state", "waiting")
    assert [every[3]] == listed(fairlead, "--state", "refused")
    assert [every[4]] == listed(fairlead, "--state", "given_up")
    assert every[:1] == listed(fairlead, "--limit", "1")
    assert every[1:2] == listed(fairlead, "--limit", "1", "--before", str(empty))
    finish(db, [second])
    assert [(waiting, "waiting", "the leader, which counts its jobs")] == listed(
        fairlead, "--state", "waiting"
    )


def test_a_batch_has_its_counts_for_people_and_programs(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Those that are counted by outcome, and all that have joined."""
    epoch = lead(db)
    batch = make(db, tenant="acme")
    jobs = add(db, batch, count=1100)
    finish(db, jobs[:2])
    finish(db, jobs[2:3], "failed")
    settle(db, epoch)

    heading, _, line = fairlead("batches", "list").splitlines()
    shown = json.loads(fairlead("batches", "show", str(batch), "--json"))

    assert ["id", "state", "tenant", "kind", "jobs", "ended"] == heading.split()[:6]
    assert f"{batch} waiting acme over 1,004+ 2 succeeded, 1 failed".split() == line.split()[:9]
    assert line.rstrip().endswith(f"job {jobs[3]}")
    counts = {
        "jobs": 1004,
        "jobs_is_more": True,
        "succeeded": 2,
        "failed": 1,
        "uncounted": 1001,
    }
    assert counts == {name: shown[name] for name in counts}
    said = fairlead("batches", "show", str(batch)).split()
    assert ["waits_for", "job", str(jobs[3])] == said[(at := said.index("waits_for")) : at + 3]
    finish(db, jobs[3:])
    settle(db, epoch)
    settle(db, epoch)
    ended = json.loads(fairlead("batches", "show", str(batch), "--json"))
    assert (1100, False, "completed") == (ended["jobs"], ended["jobs_is_more"], ended["state"])
    assert ended["completed_at"] is not None
    assert ended["completion_job"] is not None


def test_what_is_not_there_is_said(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """A tenant without batches, an id that never was, and what lies behind the bound."""
    assert "no batch is like that\n" == fairlead("batches", "list", "--tenant", "nobody")
    assert "batch 7 is unknown" in fairlead("batches", "show", "7", code=1)
    db.execute(
        "INSERT INTO fairlead.batches (kind, completed_at)"
        " SELECT 'k', now() FROM generate_series(1, 10001)"
    )
    heard: list[str] = []
    db.add_notice_handler(lambda notice: heard.append(str(notice.message_hint)))

    completed = "SELECT FROM fairlead.list_batches(in_state => 'completed')"
    assert [] == db.execute(completed).fetchall()
    assert ["For older ones give before_id => 2."] == heard


@pytest.mark.parametrize("isolation", ["by login", "by tenant"])
def test_a_login_sees_its_own_batches_and_a_reader_all(
    fairlead: Fairlead,
    database_url: str,
    db: Connection[TupleRow],
    log_in: LogIn,
    monkeypatch: pytest.MonkeyPatch,
    isolation: str,
) -> None:
    """As it is with jobs: by login, or by tenant where row-level security is installed."""
    mine, theirs = log_in("fairlead_enqueue"), log_in("fairlead_enqueue")
    worker, reader = log_in("fairlead_worker"), log_in("fairlead_reader")
    own, other = make(mine, tenant="acme"), make(theirs, tenant="other")
    made = make(worker, tenant="other")
    if isolation == "by tenant":
        migrate(db, rls=True)
        for login in (mine, reader):
            db.execute(
                "INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [login.info.user]
            )
    everything = [made, other, own]
    seen = {
        mine: [own],
        theirs: [] if isolation == "by tenant" else [other],
        worker: [made],
        reader: [own] if isolation == "by tenant" else everything,
        log_in("fairlead_operator"): everything,
    }

    for session, batches in seen.items():
        rows = session.execute("SELECT id FROM fairlead.list_batches()").fetchall()
        assert batches == [row[0] for row in rows], session.info.user
        viewed = session.execute("SELECT id FROM fairlead.batch_status ORDER BY id DESC")
        assert batches == [row[0] for row in viewed.fetchall()]
        monkeypatch.setenv(
            "FAIRLEAD_DATABASE_URL", as_login(database_url, str(session.info.user))
        )
        assert batches == [batch for batch, _, _ in listed(fairlead)]
