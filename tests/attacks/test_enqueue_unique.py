"""A login replaces its own jobs, and inserts by the function what it may insert without."""

from itertools import product

import psycopg
import pytest
from psycopg import errors

from fairlead.db.migrate import migrate
from tests.support import race
from tests.support.batches import NOT_JOINED, make
from tests.support.enqueuing import enqueue
from tests.support.logins import LogIn
from tests.support.race import Database
from tests.support.worker_logins import queue, register

_AUDIT = "SELECT verb, job_id, tenant, login::text FROM fairlead.audit WHERE verb = 'replace'"


@pytest.fixture
def mine(log_in: LogIn) -> Database:
    """Return the session of the application that attacks."""
    return log_in("fairlead_enqueue")


@pytest.fixture
def theirs(log_in: LogIn) -> Database:
    """Return the session of another application."""
    return log_in("fairlead_enqueue")


@pytest.mark.parametrize("mode", [{"replace": True}, {"debounce": "1 s"}])
@pytest.mark.parametrize("state", ["scheduled", "pending", "queued", "running"])
def test_a_login_replaces_no_job_of_another(
    db: Database, mine: Database, theirs: Database, state: str, mode: dict[str, object]
) -> None:
    """It is told so, and not whose the job is; the job is as it was, and keeps its key."""
    job = enqueue(theirs, run_at="2100-01-01Z" if state == "scheduled" else None).id
    assert job is not None
    if state in ("queued", "running"):
        race.dispatch(db, [job], epoch=race.leading(db))
    if state == "running":
        race.claim_one(db, race.register(db))
    before = db.execute("SELECT j::text FROM fairlead.jobs j").fetchall()

    with pytest.raises(
        errors.InsufficientPrivilege, match=r"is not login .* to replace"
    ) as refused:
        enqueue(mine, **mode)

    assert theirs.info.user not in str(refused.value)
    assert before == db.execute("SELECT j::text FROM fairlead.jobs j").fetchall()
    assert (state,) == race.places(db, job)


@pytest.mark.parametrize("mode", [{}, {"replace": True}, {"unique_for": "1 hour"}])
def test_a_login_joins_no_batch_of_another(
    mine: Database, theirs: Database, mode: dict[str, object]
) -> None:
    """Though the function runs as the owner."""
    batch = make(theirs)
    enqueue(mine, dedup_key="key")

    with pytest.raises(psycopg.Error) as refused:
        enqueue(mine, dedup_key="key" if "replace" in mode else "new", batch=batch, **mode)

    assert NOT_JOINED == refused.value.sqlstate


def test_with_row_level_security_the_logins_of_a_tenant_replace_its_jobs(
    db: Database, mine: Database, theirs: Database
) -> None:
    """As they cancel them; the audit log says who did, and whose it is stays."""
    migrate(db, rls=True)
    for login, tenant in ((mine, "a"), (theirs, "a"), (theirs, "b")):
        db.execute(
            "INSERT INTO fairlead.tenant_logins VALUES (%s, %s)", [login.info.user, tenant]
        )
    job = enqueue(theirs, tenant="a").id

    assert "replaced" == enqueue(mine, tenant="a", replace=True).became
    assert "replaced" == enqueue(theirs, tenant="a", replace=True).became
    with pytest.raises(errors.InsufficientPrivilege, match="may not enqueue for tenant 'b'"):
        enqueue(mine, tenant="b", replace=True)

    assert [(theirs.info.user,)] == db.execute(
        "SELECT enqueued_by FROM fairlead.jobs"
    ).fetchall()
    assert [("replace", job, "a", mine.info.user)] == db.execute(_AUDIT).fetchall()


def test_an_administrator_replaces_any_job_and_the_audit_log_has_it(
    db: Database, theirs: Database, log_in: LogIn
) -> None:
    """What a login replaces of its own is an INSERT and stands nowhere."""
    admin = log_in("fairlead_admin")
    enqueue(theirs)
    job = enqueue(theirs, replace=True).id

    assert "replaced" == enqueue(admin, replace=True).became

    assert [("replace", job, "", admin.info.user)] == db.execute(_AUDIT).fetchall()


@pytest.mark.parametrize("rls", [False, True], ids=["by login", "by tenant"])
def test_a_workers_handlers_replace_what_its_login_has_inserted(
    db: Database, theirs: Database, log_in: LogIn, *, rls: bool
) -> None:
    """And nothing else: it may cancel nothing."""
    worker = log_in("fairlead_worker")
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'a')", [theirs.info.user])
    migrate(db, rls=rls)
    enqueue(worker, tenant="a")
    enqueue(theirs, tenant="a", dedup_key="theirs")

    assert "replaced" == enqueue(worker, tenant="a", replace=True).became
    with pytest.raises(errors.InsufficientPrivilege, match="is not login"):
        enqueue(worker, tenant="a", dedup_key="theirs", replace=True)


_ROLES = (
    ("fairlead_enqueue",),
    ("fairlead_worker",),
    ("fairlead_enqueue", "fairlead_worker"),
    ("fairlead_admin",),
    ("fairlead_reader",),
    ("fairlead_operator",),
    (),
)


@pytest.mark.parametrize("rls", [False, True], ids=["by login", "by tenant"])
@pytest.mark.parametrize("bound", [False, True], ids=["free", "bound"])
@pytest.mark.parametrize("roles", _ROLES, ids="+".join)
def test_the_function_inserts_what_an_insert_may_and_nothing_else(
    db: Database, log_in: LogIn, roles: tuple[str, ...], *, bound: bool, rls: bool
) -> None:
    """For each tenant and queue: it runs as the owner, whom no policy keeps."""
    session = log_in(*roles)
    migrate(db, rls=rls)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'own')", [session.info.user])
    if bound:
        db.execute(
            "INSERT INTO fairlead.pool_logins VALUES (%s, 'default')", [session.info.user]
        )
    if "fairlead_worker" in roles:
        queue(db)
        race.claim_one(session, register(session))

    for place, (name, tenant) in enumerate(product(("default", "mail"), ("own", "other", ""))):
        by_insert = may(
            session,
            "INSERT INTO fairlead.jobs (kind, queue, tenant, dedup_key)"
            " VALUES ('k', %s, %s, %s)",
            [name, tenant, f"insert {place}"],
        )
        by_function = may(
            session,
            "SELECT fairlead.enqueue('k', queue => %s, tenant => %s, dedup_key => %s)",
            [name, tenant, f"function {place}"],
        )
        assert by_insert == by_function, (name, tenant)


def may(session: Database, statement: str, values: list[object]) -> bool:
    """Return whether a statement is refused for want of a right."""
    try:
        session.execute(statement.encode(), values)
    except errors.InsufficientPrivilege:
        return False
    return True


def test_a_login_learns_of_a_key_what_an_insert_tells(mine: Database, theirs: Database) -> None:
    """That it is in use; neither the id nor whose it is."""
    enqueue(theirs, unique_for="1 hour")

    assert [(None, "duplicate")] * 2 == [
        tuple(enqueue(mine)),
        tuple(enqueue(mine, unique_for="1 hour")),
    ]


@pytest.mark.parametrize(
    "call",
    [
        "SELECT * FROM fairlead.unique_periods",
        "INSERT INTO fairlead.unique_periods VALUES ('default', '', '', 'infinity')",
        "DELETE FROM fairlead.unique_periods",
        "SELECT fairlead._forget_periods(1, 1)",
        "SELECT fairlead._erase_periods('')",
        "SELECT fairlead._replace(j, null, null) FROM (SELECT null::fairlead.jobs AS j) x",
    ],
)
def test_periods_are_begun_by_jobs_alone(mine: Database, call: str) -> None:
    """A key is kept for a period by who has inserted a job, within its backlog limit."""
    with pytest.raises(errors.InsufficientPrivilege):
        mine.execute(call.encode())


def test_no_sentence_repeats_a_dedup_key(mine: Database, theirs: Database) -> None:
    """It may be an address, and errors go into logs."""
    enqueue(theirs, dedup_key="ann@example.com")

    with pytest.raises(errors.InsufficientPrivilege) as refused:
        enqueue(mine, dedup_key="ann@example.com", replace=True)

    assert "ann" not in str(refused.value)
