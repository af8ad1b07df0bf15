"""Services log in as members of their roles, and jobs go from insert to history."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import NewJob, enqueue, enqueue_many
from fairlead.db.migrate import migrate
from fairlead.db.statements import load
from tests.integration.conftest import Fairlead
from tests.support import drains, race
from tests.support.functions import called
from tests.support.logins import LogIn, as_login
from tests.support.statements import generic_plan, statements


@pytest.fixture(params=[False, True], ids=["open", "isolated"])
def isolation(request: pytest.FixtureRequest, db: Connection[TupleRow]) -> bool:
    """Install row-level security or not, and tell."""
    rls = bool(request.param)
    migrate(db, rls=rls)
    return rls


def application(db: Connection[TupleRow], log_in: LogIn) -> Connection[TupleRow]:
    """Return the connection of an application that has the tenant without a name."""
    client = log_in("fairlead_enqueue")
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, '')", [client.info.user])
    return client


@pytest.mark.usefixtures("isolation")
def test_the_roles_carry_jobs_from_insert_to_history(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """Insert, dispatch, claim, finish, and every other way for an attempt to end."""
    client = application(db, log_in)
    scheduler, worker = log_in("fairlead_scheduler"), log_in("fairlead_worker")
    jobs = race.insert(client, count=5)
    epoch = race.lead(db)
    assert jobs == race.dispatch(scheduler, jobs, epoch=epoch)
    me = race.register(worker)
    leases = race.claim(worker, me)

    assert jobs[:1] == race.finish(worker, leases[:1])
    assert "scheduled" == race.hand_back(worker, leases[1], "failed")
    assert "queued" == race.hand_back(worker, leases[2], "released")
    race.answer(worker, "complete(%s, %s)", leases[3].job, leases[3].token)
    assert "scheduled" == race.answer(worker, "fail(%s, %s)", leases[4].job, leases[4].token)

    states = ["succeeded", "scheduled", "queued", "succeeded", "scheduled"]
    assert [(state,) for state in states] == client.execute(
        "SELECT state FROM fairlead.job_status ORDER BY id"
    ).fetchall()


def test_the_workers_role_may_call_every_function_of_its_statements(
    db: Connection[TupleRow],
) -> None:
    """And those are all that its statements need."""
    functions = {called(each.text()) for each in statements("fairlead_worker")} - {None}

    rows = db.execute(
        "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace"
        " AND p.proname = ANY(%s)"
        " AND has_function_privilege('fairlead_worker', p.oid, 'execute')",
        [sorted(map(str, functions))],
    )

    assert sorted(map(str, functions)) == sorted(str(row[0]) for row in rows.fetchall())


def test_the_schedulers_role_may_run_every_statement_of_its_own(log_in: LogIn) -> None:
    """PostgreSQL asks for the rights of a statement that it explains, too."""
    scheduler = log_in("fairlead_scheduler")
    of_leaders = statements("fairlead_scheduler", but="fairlead_scheduler.simulation")

    for statement in of_leaders:
        generic_plan(scheduler, statement)

    assert len(of_leaders) > 50


@pytest.mark.usefixtures("isolation")
def test_the_schedulers_role_sweeps(db: Connection[TupleRow], log_in: LogIn) -> None:
    """It promotes, expires, recalls, marks workers dead and steals what they held."""
    client = application(db, log_in)
    scheduler, worker = log_in("fairlead_scheduler"), log_in("fairlead_worker")
    late, expired, queued, running = race.insert(client, count=4)
    epoch = race.lead(db)
    db.execute("UPDATE fairlead.jobs SET run_at = now() WHERE id = %s", [late])
    race.let_expire(db, expired)
    race.dispatch(scheduler, [running], epoch=epoch)
    me = race.register(worker)
    race.claim(worker, me)
    race.dispatch(scheduler, [queued], epoch=epoch)

    scheduler.execute(
        load("fairlead_scheduler.background", "promote"),
        {"epoch": epoch, "from_us": 0, "limit": 10},
    )
    assert ("pending",) == race.places(db, late)
    assert 1 == race.answer(scheduler, "_expire(%s, '-infinity', 10)", epoch)
    for turns in ("promote_turns", "expire_turns"):
        scheduler.execute(
            load("fairlead_scheduler.background", turns),
            {
                "epoch": epoch,
                "from_us": 0,
                "after_queue": "",
                "after_tenant": "",
                "lanes": 10,
                "lane_jobs": 10,
                "limit": 10,
            },
        )
    assert queued == race.answer(scheduler, "_recall(%s, %s::bigint[])", epoch, [queued])
    race.let_lapse(db, me)
    assert (me,) == race.mark_dead(scheduler, epoch=epoch)
    assert (running,) == race.steal(scheduler, epoch=epoch)


@pytest.mark.usefixtures("isolation")
def test_the_autoscalers_role_marks_a_pod_and_the_workers_role_heeds_it(
    log_in: LogIn,
) -> None:
    """The one writes marks and the other what became of them."""
    autoscaler, worker = log_in("fairlead_autoscaler"), log_in("fairlead_worker")
    me = drains.register(worker)
    drains.mark(autoscaler)
    assert (True, True, False) == drains.renew(worker, me)
    assert drains.say_drained(worker, me)
    assert 0 == drains.slots(log_in("fairlead_scheduler"), me)
    assert drains.drained_at(autoscaler) is not None

    row = autoscaler.execute("SELECT fairlead._begin_autoscaler_epoch('me', '')").fetchone()
    assert [(drains.POD,)] == autoscaler.execute(
        "SELECT fairlead._unmark_drains(%s, %s)", [*(row or ()), [drains.POD]]
    ).fetchall()

    assert (True, False, False) == drains.renew(worker, me)
    assert drains.undrain(worker, me)


@pytest.mark.usefixtures("isolation")
def test_a_handler_enqueues_follow_ups_over_its_workers_login(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """For whichever tenant and queue, as many as it likes, with dedup keys."""
    handler = log_in("fairlead_worker")
    race.insert(db, count=2)

    job = enqueue(handler, "thumbnail", [1], queue="images", tenant="acme", dedup_key="a")
    assert enqueue(handler, "thumbnail", queue="images", tenant="acme", dedup_key="a") is None
    many = enqueue_many(handler, [NewJob(kind="mail", tenant=each) for each in ("", "acme")])

    ids = [job, *many]
    assert [(each,) for each in ids] == handler.execute(
        "SELECT id FROM fairlead.jobs ORDER BY id"
    ).fetchall()
    assert [
        ("acme", "images", "thumbnail"),
        ("", "default", "mail"),
        ("acme", "default", "mail"),
    ] == db.execute(
        "SELECT tenant, queue, kind FROM fairlead.jobs WHERE enqueued_by = %s ORDER BY id",
        [handler.info.user],
    ).fetchall()


@pytest.mark.usefixtures("isolation")
def test_an_application_enqueues_lists_cancels_and_schedules(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """Its own, over one login; another application has no part in it."""
    mine, theirs = application(db, log_in), log_in("fairlead_enqueue")
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [theirs.info.user])
    job, kept = (enqueue(mine, "k"), enqueue(mine, "other"))
    enqueue(theirs, "k", tenant="acme")
    listed = "SELECT id, state FROM fairlead.list_jobs(of_kind => %s)"
    mine.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '0 3 * * *', 'k')"
    )

    assert [(job, "pending")] == mine.execute(listed, ["k"]).fetchall()
    assert "unknown" == race.answer(theirs, "cancel(%s)", job)
    assert "cancelled" == race.answer(mine, "cancel(%s)", job)
    assert [(job, "cancelled")] == mine.execute(listed, ["k"]).fetchall()
    assert [(kept, "pending")] == mine.execute(
        "SELECT id, state FROM fairlead.list_jobs(in_state => 'pending')"
    ).fetchall()
    mine.execute("UPDATE fairlead.schedules SET enabled = false")
    assert 0 == race.answer(theirs, "remove_schedules('', 's')")
    assert 1 == race.answer(mine, "remove_schedules('', 's')")


@pytest.mark.parametrize(
    "words",
    [
        ("jobs", "list"),
        ("jobs", "list", "--state", "queued"),
        ("jobs", "show", "1"),
        ("jobs", "cancel", "1"),
        ("jobs", "cancel", "--kind", "k"),
        ("schedules", "list"),
        ("schedules", "disable", "s"),
        ("schedules", "enable", "s"),
        ("schedules", "remove", "s"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("isolation")
def test_a_developer_looks_after_an_applications_jobs_by_its_login(
    db: Connection[TupleRow],
    fairlead: Fairlead,
    database_url: str,
    log_in: LogIn,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    """With the command line, for what is the application's own."""
    client = application(db, log_in)
    assert 1 == enqueue(client, "k")
    client.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '0 3 * * *', 'k')"
    )
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, str(client.info.user)))

    fairlead(*words)


@pytest.mark.usefixtures("isolation")
def test_the_admins_role_steers_jobs_of_every_tenant(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """It cancels, retries and pauses whatever the tenant."""
    admin = log_in("fairlead_admin")
    job = race.insert_one(db)

    assert "cancelled" == race.answer(admin, "cancel(%s)", job)
    assert race.answer(admin, "retry(%s)", job) is not None
    race.answer(admin, "pause('default')")
    assert True is race.answer(admin, "resume('default')")


@pytest.mark.parametrize(
    "words",
    [
        ("top", "--json"),
        ("queues",),
        ("tenants",),
        ("workers", "list"),
        ("jobs", "list"),
        ("schedules", "list"),
        ("policy", "history"),
    ],
    ids=" ".join,
)
def test_a_person_watches_by_the_schedulers_login(
    fairlead: Fairlead,
    database_url: str,
    log_in: LogIn,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    """The chart's notes say so: what only looks runs in the scheduler's pod."""
    name = str(log_in("fairlead_scheduler").info.user)
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, name))

    fairlead(*words)
