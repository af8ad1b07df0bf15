"""What any login of the database hears and sees without a right: security.md lists it."""

import json
import re
from pathlib import Path

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.statements import load
from tests.conftest import Connect
from tests.support import drains, race, tree
from tests.support.logins import LogIn

_SCHEMA = Path("core/fairlead/db/schema.sql")
_CHANNEL = re.compile(r"fairlead\._notify\('(\w+)'")
_PAGE = Path("docs/explanation/security.md")
_SECRETS = ("a queue", "a tenant", "a kind", "a payload")
_INSERT = (
    "INSERT INTO fairlead.jobs (queue, tenant, kind, payload)"
    " VALUES (%s, %s, %s, to_jsonb(%s::text)) RETURNING id"
)
_DEMAND = {
    "pool": "default",
    "at_us": 0,
    "became_runnable_total": 1,
    "work_slot_seconds": 1.0,
    "slots_useful": 1,
    "slots_kept": 0,
    "slots_allowed": 1,
    "oldest_us": 0,
    "scheduled_slot_seconds": [0.0] * 4,
    "service_mean": 1.0,
    "service_variance": 0.0,
    "fires": [],
}


def channels() -> set[str]:
    """Return every channel that a function or a statement notifies."""
    statements = (path for path in tree.files(".sql") if path.parent.name == "sql")
    texts = map(tree.text, (_SCHEMA, *statements))
    return {channel for text in texts for channel in _CHANNEL.findall(text)}


def test_the_page_names_every_channel() -> None:
    """A new one has to be told there: PostgreSQL keeps nobody from listening."""
    told = tree.text(_PAGE).partition("* any login may `LISTEN`")[2].partition("\n* ")[0]

    assert channels() == set(re.findall(r"`(fairlead_\w+)`", told))


def test_who_listens_hears_ids_pods_and_pools_and_no_more(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """All that a job's life and a drain tell, from its INSERT on."""
    stranger = log_in()
    for channel in channels():
        stranger.execute(f"LISTEN {channel}".encode())
    row = db.execute("SELECT epoch FROM fairlead._acquire_leadership('me', 60, '')").fetchone()
    assert row is not None
    epoch = int(row[0])
    for switch in ("inserts_notify", "endings_notify"):
        db.execute("SELECT setval(%s, 1, true)", [f"fairlead.{switch}"])

    worker = drains.register(db)
    inserted = db.execute(_INSERT, _SECRETS).fetchone()
    assert inserted is not None
    job = int(inserted[0])
    publish(db, epoch)
    assert (job,) == race.dispatch(db, [job], epoch=epoch, woken=[worker])
    lease = race.claim_one(db, worker)
    assert "requested" == race.cancel(db, job)
    mark_and_unmark(db)
    assert (job,) == race.finish(db, [lease])
    db.execute("SELECT fairlead.apply_policy('{}', '0123456789ab')")
    db.execute("SELECT fairlead._release_leadership(%s)", [epoch])

    assert {
        ("fairlead_leader", str(epoch)),
        ("fairlead_scheduler", ""),
        ("fairlead_scheduler", "inserted"),
        ("fairlead_scheduler", "ended"),
        ("fairlead_scheduler", "policy"),
        ("fairlead_autoscaler", "default"),
        ("fairlead_work", str(worker)),
        ("fairlead_cancel", str(job)),
        ("fairlead_cancel", drains.POD),
    } == heard(stranger, db)


def test_who_may_connect_sees_names_of_sessions_and_no_statement(
    log_in: LogIn, connect: Connect
) -> None:
    """PostgreSQL shows them to everybody."""
    stranger, theirs = log_in(), connect()
    theirs.execute("SET application_name = 'fairlead worker w'")
    theirs.execute("SELECT 'a payload'")

    seen = stranger.execute(
        "SELECT usename, application_name, client_addr, query FROM pg_stat_activity"
        " WHERE pid = %s",
        [theirs.info.backend_pid],
    ).fetchone()

    assert (theirs.info.user, "fairlead worker w", None, "<insufficient privilege>") == seen


def publish(db: Connection[TupleRow], epoch: int) -> None:
    """Say that jobs begin to wait in the pool default, as the leader does."""
    values: dict[str, object] = {"epoch": epoch, "pools": ["default"], "begins": ["default"]}
    values["rows"] = json.dumps([_DEMAND])
    db.execute(load("fairlead_scheduler.background", "publish_demand"), values)


def mark_and_unmark(db: Connection[TupleRow]) -> None:
    """Drain the worker's pod and change one's mind, as the autoscaler does."""
    row = db.execute("SELECT fairlead._begin_autoscaler_epoch('me', '')").fetchone()
    assert row is not None
    marks: dict[str, object] = {"epoch": row[0], "pool": "default", "drain_until": "infinity"}
    pods = [drains.POD]
    db.execute(
        load("fairlead_autoscaler.controller", "mark_drain"),
        {**marks, "pods": pods, "fresh": pods},
    )
    db.execute("SELECT fairlead._unmark_drains(%s, %s)", [row[0], pods])


def heard(stranger: Connection[TupleRow], db: Connection[TupleRow]) -> set[tuple[str, str]]:
    """Return what was notified until now, by channel."""
    db.execute("SELECT pg_notify('fairlead_work', 'last')")
    notices = set[tuple[str, str]]()
    for notice in stranger.notifies(timeout=10):
        if notice.payload == "last":
            return notices
        notices.add((notice.channel, notice.payload))
    raise AssertionError("the last notification was not received")
