"""What a login that may only enqueue tries to learn and change of what others enqueued."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.support import race
from tests.support.logins import LogIn

Session = Connection[TupleRow]

JOB = """
    INSERT INTO fairlead.jobs (kind, tenant, payload) VALUES ('k', %s, '"secret"') RETURNING id
"""
SCHEDULE = """
    INSERT INTO fairlead.schedules (name, tenant, cron, kind, payload)
    VALUES (%s, %s, '0 3 * * *', 'k', '"secret"')
"""
IDS = "SELECT id FROM fairlead.job_status ORDER BY id"


def insert(login: Session, tenant: str = "") -> int:
    """Insert a job as a login and return its id."""
    row = login.execute(JOB, [tenant]).fetchone()
    assert row is not None
    return int(row[0])


def explained(login: Session, job: int) -> dict[str, object]:
    """Ask as a login why a job waits."""
    row = login.execute("SELECT fairlead.explain(%s)", [job]).fetchone()
    assert row is not None
    return dict(row[0])


@pytest.fixture
def mine(log_in: LogIn) -> Session:
    """Return a connection of the application that attacks."""
    return log_in("fairlead_enqueue")


@pytest.fixture
def theirs(log_in: LogIn) -> Session:
    """Return a connection of another application."""
    return log_in("fairlead_enqueue")


def test_a_login_sees_the_jobs_that_it_enqueued_and_no_other(
    mine: Session, theirs: Session
) -> None:
    """Not their payloads, not why they wait, and not which ids are unfinished."""
    own, other = insert(mine), insert(theirs)

    assert [(own,)] == mine.execute(IDS).fetchall()
    assert [(own,)] == mine.execute("SELECT id FROM fairlead.jobs").fetchall()
    assert ["pending", "unknown"] == [explained(mine, job)["state"] for job in (own, other)]


def test_a_function_of_its_own_is_shown_no_row_of_others(
    db: Session, mine: Session, theirs: Session
) -> None:
    """It costs little, so a plan would call it before it asks whose a row is."""
    ended = insert(theirs)
    insert(theirs)
    race.answer(theirs, "cancel(%s)", ended)

    assert [] == shown(db, mine, "job_status", "payload")
    insert(mine)
    assert ['"secret"'] == shown(db, mine, "job_status", "payload")


def shown(db: Session, login: Session, view: str, column: str) -> list[str]:
    """Return what a cheap function of the login is given where it is a condition on a view."""
    db.execute(f"CREATE SCHEMA IF NOT EXISTS mine AUTHORIZATION {login.info.user}".encode())
    login.execute(
        "CREATE OR REPLACE FUNCTION mine.look(seen text) RETURNS boolean LANGUAGE plpgsql"
        " IMMUTABLE COST 0.0001 AS $$ BEGIN RAISE NOTICE '%', seen; RETURN true; END $$"
    )
    told: list[str] = []
    login.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
    login.execute(f"SELECT FROM fairlead.{view} WHERE mine.look({column}::text)".encode())
    return told


def test_dedup_keys_are_of_all_logins_without_row_level_security(
    mine: Session, theirs: Session
) -> None:
    """As security.md says: it learns that a key is in use, and uses one before the other."""
    keyed = "INSERT INTO fairlead.jobs (kind, tenant, dedup_key) VALUES ('k', 'a', %s)"
    theirs.execute(keyed, ["first"])
    mine.execute(keyed, ["second"])

    with pytest.raises(errors.UniqueViolation):
        mine.execute(keyed, ["first"])
    assert (
        []
        == theirs.execute(
            f"{keyed} ON CONFLICT DO NOTHING RETURNING id".encode(), ["second"]
        ).fetchall()
    )
    mine.execute(keyed.replace("'a'", "'b'").encode(), ["first"])


def test_with_row_level_security_dedup_keys_are_of_one_tenants_logins(
    mine: Session, theirs: Session, db: Session
) -> None:
    """A login enqueues for its own tenants alone, and a key is unique in its tenant."""
    migrate(db, rls=True)
    keyed = "INSERT INTO fairlead.jobs (kind, tenant, dedup_key) VALUES ('k', %s, 'key')"
    for login, tenant in ((mine, "a"), (theirs, "b")):
        db.execute(
            "INSERT INTO fairlead.tenant_logins (login, tenant) VALUES (%s, %s)",
            [login.info.user, tenant],
        )

    theirs.execute(keyed, ["b"])
    with pytest.raises(errors.InsufficientPrivilege):
        mine.execute(keyed, ["b"])
    mine.execute(keyed, ["a"])


def test_the_tenant_that_it_names_opens_nothing(mine: Session, theirs: Session) -> None:
    """Without row-level security it may insert for any tenant: that is no way to read."""
    insert(theirs, "acme")
    own = insert(mine, "acme")

    assert [(own,)] == mine.execute(IDS).fetchall()


def test_an_ending_is_still_that_of_who_enqueued_the_job(
    db: Session, mine: Session, theirs: Session
) -> None:
    """However it ends: by its worker, by a function, and when it is repeated."""
    jobs = [insert(login) for login in (mine, theirs) for _ in range(2)]
    race.dispatch(db, jobs, epoch=race.lead(db))
    leases = race.claim(db, race.register(db))
    race.finish(db, [leases[0], leases[2]])
    for lease in (leases[1], leases[3]):
        race.answer(db, "complete(%s, %s)", lease.job, lease.token)
    repeat = race.answer(db, "retry(%s)", jobs[0])

    assert [(jobs[0],), (jobs[1],), (repeat,)] == mine.execute(IDS).fetchall()


def test_a_redriven_job_is_that_of_who_enqueued_it(db: Session, mine: Session) -> None:
    """And not that of the administrator who redrives it."""
    job = insert(mine)
    db.execute("SELECT fairlead._end_jobs(array[%s::bigint], '{failed}')", [job])

    assert 1 == race.answer(db, "redrive('default')")
    assert [("failed",), ("pending",)] == mine.execute(
        "SELECT state FROM fairlead.job_status ORDER BY id"
    ).fetchall()


def test_nobody_enqueues_in_another_logins_name(mine: Session, theirs: Session) -> None:
    """The login cannot be set, and no SET ROLE changes it."""
    for table, values in (("jobs", "kind"), ("schedules", "name, cron")):
        column = "enqueued_by" if table == "jobs" else "created_by"
        with pytest.raises(errors.InsufficientPrivilege):
            mine.execute(
                f"INSERT INTO fairlead.{table} ({values}, {column})"
                f" SELECT {', '.join(repr(c) for c in values.split(', '))}, 'me'".encode()
            )
    insert(theirs)
    mine.execute("SET ROLE fairlead_enqueue")

    assert [] == mine.execute(IDS).fetchall()
    assert [(1,)] == mine.execute(
        f"WITH made AS ({JOB}) SELECT count(*) FROM made", [""]
    ).fetchall()
    assert 1 == len(mine.execute(IDS).fetchall())


def test_a_login_cancels_its_own_jobs_and_knows_no_other(
    mine: Session, theirs: Session
) -> None:
    """What others enqueued is unknown to it, unfinished or finished."""
    own, other, ended = insert(mine), insert(theirs), insert(theirs)
    assert "cancelled" == race.answer(theirs, "cancel(%s)", ended)

    answers = [race.answer(mine, "cancel(%s)", job) for job in (own, own, other, ended)]

    assert ["cancelled", "finished", "unknown", "unknown"] == answers
    assert "pending" == explained(theirs, other)["state"]


def test_a_login_retries_its_own_jobs_and_learns_of_no_other(
    db: Session, mine: Session, theirs: Session
) -> None:
    """Not even the id of the job that holds the dedup key of its own."""
    other = insert(theirs)
    keyed = "INSERT INTO fairlead.jobs (kind, dedup_key) VALUES ('k', 'key') RETURNING id"
    own = mine.execute(keyed.encode()).fetchall()[0][0]
    db.execute("SELECT fairlead._end_jobs(%s, '{failed}', '{no}')", [[own]])
    held = theirs.execute(keyed.encode()).fetchall()[0][0]

    assert [None, None] == [race.answer(mine, "retry(%s)", job) for job in (other, held)]
    assert None is race.answer(mine, "retry(%s)", own)
    assert held == race.answer(db, "retry(%s)", own)


def test_a_login_that_cancels_many_jobs_cancels_its_own(mine: Session, theirs: Session) -> None:
    """Whatever tenant, queue or kind it names."""
    for login in (mine, theirs):
        insert(login, "acme")
    many = "SELECT cancelled FROM fairlead.cancel_jobs(queue => 'default', tenant => 'acme')"

    assert [[(1,)], [(0,)]] == [mine.execute(many).fetchall() for _ in range(2)]
    assert 1 == len(theirs.execute("SELECT id FROM fairlead.jobs").fetchall())


def test_with_row_level_security_a_tenants_logins_cancel_its_jobs(
    db: Session, mine: Session, theirs: Session
) -> None:
    """Whichever of them enqueued the job; another tenant's is unknown."""
    migrate(db, rls=True)
    for login, tenant in ((mine, "acme"), (theirs, "acme"), (theirs, "other")):
        db.execute(
            "INSERT INTO fairlead.tenant_logins VALUES (%s, %s)", [login.info.user, tenant]
        )
    job, other = insert(theirs, "acme"), insert(theirs, "other")

    assert [(job,)] == mine.execute(IDS).fetchall()
    assert "cancelled" == race.answer(mine, "cancel(%s)", job)
    assert "unknown" == race.answer(mine, "cancel(%s)", other)


def test_it_is_not_told_for_which_tenant_its_job_made_room(db: Session, mine: Session) -> None:
    """That tenant's name is of others, too."""
    job = insert(mine)
    db.execute(
        "INSERT INTO fairlead.evictions (job_id, token, for_queue, for_tenant)"
        " VALUES (%s, 1, 'secret', 'other')",
        [job],
    )

    told = str(explained(mine, job))

    assert "another tenant" in told
    assert "secret" not in told


def test_who_made_a_schedule_changes_and_removes_it(mine: Session, theirs: Session) -> None:
    """Others' schedules are out of its sight, and stay as they are."""
    mine.execute(SCHEDULE, ["mine", "acme"])
    theirs.execute(SCHEDULE, ["theirs", "acme"])

    assert [("mine",)] == mine.execute("SELECT name FROM fairlead.schedules").fetchall()
    assert 1 == mine.execute("UPDATE fairlead.schedules SET cron = '0 4 * * *'").rowcount
    assert [(1,)] == mine.execute("SELECT fairlead.remove_schedules('acme')").fetchall()
    assert [("theirs", "0 3 * * *")] == theirs.execute(
        "SELECT name, cron FROM fairlead.schedules"
    ).fetchall()


def test_an_upsert_changes_ones_own_schedule_and_no_other(
    mine: Session, theirs: Session
) -> None:
    """A name that another login has taken for the tenant is refused, and not taken over."""
    upsert = f"{SCHEDULE} ON CONFLICT (tenant, name) DO UPDATE SET cron = '0 5 * * *'"
    mine.execute(upsert, ["nightly", "acme"])
    mine.execute(upsert, ["nightly", "acme"])
    theirs.execute(SCHEDULE, ["theirs", "acme"])

    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        mine.execute(upsert, ["theirs", "acme"])

    assert [("0 5 * * *",)] == mine.execute("SELECT cron FROM fairlead.schedules").fetchall()
    assert [("0 3 * * *",)] == theirs.execute("SELECT cron FROM fairlead.schedules").fetchall()


@pytest.mark.parametrize(
    "change", ["created_by = 'me'", "tenant = 'x'", "name = 'x'", "considered_until = now()"]
)
def test_who_made_a_schedule_cannot_move_or_backdate_it(mine: Session, change: str) -> None:
    """Its owner, tenant and name stay, and what was considered is the leader's to say."""
    mine.execute(SCHEDULE, ["mine", "acme"])

    with pytest.raises(errors.InsufficientPrivilege):
        mine.execute(f"UPDATE fairlead.schedules SET {change}".encode())


@pytest.mark.parametrize("rls", [False, True], ids=["by login", "by tenant"])
def test_a_right_that_no_version_gives_is_taken_away_by_migrate(
    db: Session, mine: Session, *, rls: bool
) -> None:
    """Whatever gave it: an older version, or somebody's hand on a table, column or function."""
    for stray in (
        "SELECT, UPDATE ON fairlead.jobs TO fairlead_enqueue",
        "SELECT (payload) ON fairlead.job_history TO fairlead_enqueue WITH GRANT OPTION",
        "EXECUTE ON FUNCTION fairlead.pause(text, text, timestamptz) TO fairlead_enqueue",
        "USAGE ON SEQUENCE fairlead.tokens TO fairlead_enqueue",
        "CREATE ON SCHEMA fairlead TO fairlead_enqueue",
    ):
        db.execute(f"GRANT {stray}".encode())

    migrate(db, rls=rls)

    for refused in (
        "SELECT payload FROM fairlead.jobs",
        "UPDATE fairlead.jobs SET priority = 1",
        "SELECT payload FROM fairlead.job_history",
        "SELECT fairlead.pause('default')",
        "SELECT nextval('fairlead.tokens')",
        "CREATE TABLE fairlead.mine ()",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            mine.execute(refused.encode())
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, '')", [mine.info.user])
    assert [(insert(mine),)] == mine.execute(IDS).fetchall()
