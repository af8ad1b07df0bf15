"""A job replaces the one that waits under its key, or is the only one of a period."""

import psycopg
import pytest

from fairlead.db.statements import load
from tests.conftest import Connect
from tests.integration.conftest import Fairlead
from tests.support import race
from tests.support.batches import make
from tests.support.enqueuing import Enqueued, enqueue, replace
from tests.support.race import Database, places

_JOBS = "SELECT id, payload FROM fairlead.jobs ORDER BY id"
_WAIT = """
    SELECT round(extract(epoch FROM run_at - clock_timestamp()))::integer FROM fairlead.jobs
"""


def first(db: Database, **given: object) -> int:
    """Enqueue the first job of the key."""
    found = enqueue(db, **given)
    assert "inserted" == found.became
    assert found.id is not None
    return found.id


def test_without_more_it_is_an_insert(db: Database) -> None:
    """Every column, and the row that an INSERT makes."""
    batch = make(db)
    job = first(
        db,
        batch=batch,
        queue="mail",
        tenant="acme",
        payload="[1]",
        priority=-5,
        expires_at="2100-01-01Z",
        max_attempts=3,
        timeout="90 s",
        cost_hint="2.5 s",
        headers='{"a": 1}',
    )
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind, payload, priority, expires_at,"
        " dedup_key, max_attempts, timeout, cost_hint, headers, batch) VALUES"
        " ('mail', 'acme', 'noop', '[1]', -5, '2100-01-01Z', 'other', 3, '90 s', '2.5 s',"
        " jsonb_build_object('a', 1), %s)",
        [batch],
    )

    assert Enqueued(None, "duplicate") == enqueue(db, queue="mail", tenant="acme")
    rows = db.execute(
        "SELECT to_jsonb(j) - '{id,seq,dedup_key,created_at}'::text[] FROM fairlead.jobs j"
        " ORDER BY id"
    ).fetchall()
    assert rows[0] == rows[1]
    assert ("pending",) == places(db, job)


def test_null_is_what_is_left_out(db: Database) -> None:
    """As for an INSERT whose columns are not named."""
    first(db, payload=None, queue=None, tenant=None, priority=None, replace=None)
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('noop')")

    rows = db.execute(
        "SELECT to_jsonb(j) - '{id,seq,dedup_key,created_at}'::text[] FROM fairlead.jobs j"
    ).fetchall()
    assert rows[0] == rows[1]


def test_a_job_that_waits_for_its_time_is_changed_in_place(db: Database) -> None:
    """Its id stays, also when it is due at once; whoever waits for it waits for the new one."""
    job = first(db, run_at="2100-01-01Z", payload="0", max_attempts=3, expires_at="2101-01-01Z")

    assert job == replace(db, run_at="2099-01-01Z", kind="other")
    row = "SELECT kind, payload, run_at, max_attempts, expires_at FROM fairlead.jobs"
    assert ("other", 1, "2099", None, None) == (
        *(found := db.execute(row).fetchall()[0])[:2],
        f"{found[2]:%Y}",
        *found[3:],
    )
    assert job == replace(db, "2")
    assert [(0,)] == db.execute(_WAIT).fetchall()
    assert (job,) == race.promote(db, epoch=race.leading(db))


def test_the_attempts_of_the_job_before_do_not_count(db: Database) -> None:
    """A job that failed and waits to run again is another one now, and runs at once."""
    lease = race.run_one(db, dedup_key="key")
    assert "scheduled" == race.end(db, lease, "failed")
    db.execute("UPDATE fairlead.jobs SET suspect = true, checkpoint = 'half'")

    assert lease.job == replace(db)

    fresh = "SELECT attempts, suspect, last_error, checkpoint FROM fairlead.jobs"
    assert [(0, False, None, None)] == db.execute(fresh).fetchall()
    assert [(0,)] == db.execute(_WAIT).fetchall()


@pytest.mark.parametrize("queued", [False, True])
def test_a_job_that_is_due_hands_its_place_on(db: Database, *, queued: bool) -> None:
    """The leader remembers what it read of an id: another takes the place, and so the wait."""
    job = first(db)
    race.insert(db)
    place = (
        "SELECT seq, created_at, due_at, enqueued_by FROM fairlead.jobs WHERE dedup_key = 'key'"
    )
    before = db.execute(place).fetchall()
    if queued:
        race.dispatch(db, [job], epoch=race.leading(db))

    other = replace(db, "2", priority=3)

    assert other > job
    assert before == db.execute(place).fetchall()
    assert [(2, 3, None)] == db.execute(
        "SELECT payload, priority, retry_of FROM fairlead.jobs WHERE id = %s", [other]
    ).fetchall()
    assert [("cancelled", f"replaced by job {other}", "key")] == db.execute(
        "SELECT outcome, error, dedup_key FROM fairlead.job_history"
    ).fetchall()
    told = db.execute("SELECT ended FROM fairlead.receipts WHERE ended IS NOT NULL").fetchall()
    assert ([([job],)] if queued else []) == told
    assert ("pending",) == places(db, other)


def test_a_job_that_is_due_may_be_put_off(db: Database) -> None:
    """Only by a time that was asked for."""
    job = first(db)

    other = replace(db, run_at="2100-01-01Z")

    assert ("cancelled",) == places(db, job)
    assert ("scheduled",) == places(db, other)
    assert [(True,)] == db.execute("SELECT due_at IS NULL FROM fairlead.jobs").fetchall()


def test_what_runs_ends_with_its_attempt_and_is_followed(db: Database) -> None:
    """It has read its payload already, and nothing old runs behind what is new."""
    lease = race.run_one(db, dedup_key="key")

    found = enqueue(db, replace=True, payload="2")

    assert "follows" == found.became
    assert [(lease.job, {}), (found.id, 2)] == db.execute(_JOBS).fetchall()
    assert (lease.job,) == race.finish(db, [lease])
    assert [("succeeded",)] == db.execute("SELECT outcome FROM fairlead.job_history").fetchall()


@pytest.mark.parametrize("ended_as", ["lost", "crashed", "released", "returned"])
def test_what_runs_and_is_followed_does_not_run_again(db: Database, ended_as: str) -> None:
    """Whatever ends its attempt: who claims it next is told that it has expired."""
    lease = race.run_one(db, dedup_key="key")
    enqueue(db, replace=True)

    assert "queued" == race.end(db, lease, ended_as)

    assert "expired" == race.claim_one(db, race.register(db)).doomed


def test_what_failed_and_is_followed_expires(db: Database) -> None:
    """It would have run again after its successor."""
    lease = race.run_one(db, dedup_key="key")
    enqueue(db, replace=True)
    assert "scheduled" == race.end(db, lease, "failed")

    values = {"epoch": race.leading(db), "from_us": 0, "limit": 10}
    db.execute(load("fairlead_scheduler.background", "expire"), values)

    assert ("expired",) == places(db, lease.job)


def test_a_debounced_job_runs_so_long_after_the_last_call(db: Database) -> None:
    """With the last payload, and the id of the first."""
    job = first(db, debounce="1 hour", payload="1")
    assert [(3600,)] == db.execute(_WAIT).fetchall()

    assert Enqueued(job, "replaced") == enqueue(db, debounce="2 hours", payload="2")

    assert [(7200,)] == db.execute(_WAIT).fetchall()
    assert [(job, 2)] == db.execute(_JOBS).fetchall()


@pytest.mark.parametrize(
    ("waited", "debounce_max", "left"),
    [("5 min", "6 min", 60), ("5 min", "1 min", 0), ("9.5 min", None, 30), ("1 day", None, 0)],
)
def test_no_call_prolongs_the_wait_for_ever(
    db: Database, waited: str, debounce_max: str | None, left: int
) -> None:
    """It is bounded from the first call on, by ten times the debounce unless one says so."""
    first(db, debounce="1 min")
    db.execute("UPDATE fairlead.jobs SET created_at = created_at - %s::interval", [waited])

    enqueue(db, debounce="1 min", debounce_max=debounce_max)

    assert [(left,)] == db.execute(_WAIT).fetchall()


def test_a_throttle_is_a_debounce_that_never_moves(db: Database) -> None:
    """The first call says when, the last one what."""
    first(db, debounce="1 hour", payload="1")
    when = db.execute("SELECT run_at - created_at FROM fairlead.jobs").fetchall()

    enqueue(db, debounce="1 hour", debounce_max="1 hour", payload="2")

    ((moved, payload),) = db.execute(
        "SELECT extract(epoch FROM run_at - created_at), payload FROM fairlead.jobs"
    ).fetchall()
    assert (3600, 2) == (round(moved), payload)
    assert 3600 == round(when[0][0].total_seconds())


def test_a_job_that_is_due_is_debounced_no_more(db: Database) -> None:
    """It waits for a slot now, and takes the last payload at its place."""
    job = first(db, debounce="1 hour")
    db.execute("UPDATE fairlead.jobs SET run_at = now()")
    assert (job,) == race.promote(db, epoch=race.leading(db))
    place = db.execute("SELECT seq, due_at FROM fairlead.jobs").fetchall()

    found = enqueue(db, debounce="1 hour", payload="2")

    assert "replaced" == found.became
    assert [(found.id, 2)] == db.execute(_JOBS).fetchall()
    assert place == db.execute("SELECT seq, due_at FROM fairlead.jobs").fetchall()


@pytest.mark.parametrize("scope", [{"queue": "mail"}, {"tenant": "acme"}])
def test_a_key_is_of_a_tenant_in_a_queue(db: Database, scope: dict[str, object]) -> None:
    """Of whatever kind."""
    job = first(db)

    assert "inserted" == enqueue(db, replace=True, **scope).became
    assert replace(db, kind="other") > job


def test_nothing_is_left_of_what_is_rolled_back(db: Database, connect: Connect) -> None:
    """The job before waits as it did, under its key."""
    application = connect(autocommit=False)
    job = first(db, payload="1")

    replace(application, "2")
    application.rollback()

    assert [(job, 1)] == db.execute(_JOBS).fetchall()
    assert ("pending",) == places(db, job)


def test_a_job_of_a_period_is_the_only_one(db: Database) -> None:
    """Whatever becomes of it; then another one may come."""
    job = first(db, unique_for="1 hour")
    assert "duplicate" == enqueue(db, unique_for="1 hour").became
    race.cancel(db, job)
    assert "duplicate" == enqueue(db, unique_for="1 s").became
    assert "inserted" == enqueue(db, unique_for="1 hour", tenant="other").became

    db.execute("UPDATE fairlead.unique_periods SET until = now()")

    assert "inserted" == enqueue(db, unique_for="1 hour").became
    assert "duplicate" == enqueue(db, unique_for="1 hour").became


def test_an_unfinished_job_is_the_only_one_when_its_period_is_over(db: Database) -> None:
    """As without a period, and the refusal begins none."""
    job = first(db)

    assert "duplicate" == enqueue(db, unique_for="1 hour").became

    race.cancel(db, job)
    assert "inserted" == enqueue(db, unique_for="1 hour").became


def test_who_gives_no_period_is_kept_by_none(db: Database) -> None:
    """A job is repeated by hand, and by who replaces."""
    race.cancel(db, first(db, unique_for="1 hour"))

    assert "inserted" == enqueue(db).became


def test_no_key_is_kept_for_a_period(db: Database) -> None:
    """Of an address there is a digest, until the period is over."""
    first(db, unique_for="1 hour", dedup_key="ann@example.com")

    ((row,),) = db.execute("SELECT p::text FROM fairlead.unique_periods p").fetchall()
    assert "ann" not in row


def test_periods_that_are_over_are_forgotten(db: Database) -> None:
    """A batch at a time, and by who leads alone."""
    for key in "abcd":
        first(db, dedup_key=key, unique_for="1 hour")
    db.execute("UPDATE fairlead.unique_periods SET until = now() WHERE ctid <> '(0,1)'")
    forget = "SELECT fairlead._forget_periods(%s, 2)"
    epoch = race.leading(db)

    assert [(0,)] == db.execute(forget, [epoch + 1]).fetchall()
    assert [[(2,)], [(1,)], [(0,)]] == [
        db.execute(forget, [epoch]).fetchall() for _ in range(3)
    ]


def test_an_erasure_forgets_the_keys_of_the_tenant(db: Database, fairlead: Fairlead) -> None:
    """A digest of an address can be guessed."""
    for tenant in ("acme", "other"):
        first(db, tenant=tenant, unique_for="1 hour")

    fairlead("tenants", "erase", "acme")

    assert [("other",)] == db.execute("SELECT tenant FROM fairlead.unique_periods").fetchall()


def full(db: Database) -> None:
    """Have the lane accept no jobs, as the leader would."""
    db.execute(
        "INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)"
        " VALUES ('default', '', 1, 0);"
        "SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/'))"
    )


def test_a_full_backlog_refuses_no_replacement(db: Database) -> None:
    """There are no more jobs than before."""
    first(db)
    full(db)

    replace(db)
    replace(db, run_at="2100-01-01Z")
    replace(db)


def test_a_full_backlog_refuses_what_follows_a_job_that_runs(db: Database) -> None:
    """That is one more; the one that runs has its key still."""
    lease = race.run_one(db, dedup_key="key")
    full(db)

    with pytest.raises(psycopg.Error, match="at its backlog limit") as refused:
        enqueue(db, replace=True)

    assert "FL005" == refused.value.sqlstate
    assert [(lease.job, "key")] == db.execute(
        "SELECT id, dedup_key FROM fairlead.jobs"
    ).fetchall()


@pytest.mark.parametrize(
    "mode", [{"replace": True}, {"debounce": "1 s"}, {"unique_for": "1 s"}]
)
def test_it_needs_to_see_what_others_have_committed(
    connect: Connect, mode: dict[str, object]
) -> None:
    """As cancel does."""
    session = connect(autocommit=False)
    session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ

    with pytest.raises(psycopg.Error, match="needs READ COMMITTED"):
        enqueue(session, **mode)


def test_its_settings_are_not_the_callers(connect: Connect) -> None:
    """It waits for 10 s at most, and the next statement as long as before."""
    session = connect(autocommit=False)
    session.execute(
        "CREATE TABLE seen (wait text);"
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
        " 'begin insert into public.seen select current_setting(''lock_timeout'');"
        " return null; end';"
        "CREATE TRIGGER z AFTER INSERT ON fairlead.jobs EXECUTE FUNCTION note()"
    )

    enqueue(session)
    enqueue(session, dedup_key="a", replace=True)
    session.execute("SET lock_timeout = '3s'")
    enqueue(session, dedup_key="b", replace=True)

    assert [("0",), ("10s",), ("3s",)] == session.execute("SELECT wait FROM seen").fetchall()
    assert [("3s",)] == session.execute("SHOW lock_timeout").fetchall()
