"""What a login that keeps a transaction open can hold up: no more than its own work."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead import ownership
from fairlead.db import statements
from tests.support import drains, race
from tests.support.logins import LogIn
from tests.support.race import lead
from tests.support.schedulers import scheduling
from tests.support.waiting import until

Session = Connection[TupleRow]

_LONG = "2s"
"""Longer than anything waits that waits for no lock."""
MARK = """
    INSERT INTO fairlead.pod_drains (pod_uid, pool, drain_until, epoch)
    VALUES ('uid', 'default', now() + interval '1 minute', 1)
"""
_REGISTERED = (
    "SELECT fairlead.register_worker('w', 'default', 1, 60, 1, '',"
    f" '{drains.POD}', '', '', true)"
)
SCHEDULE = "INSERT INTO fairlead.schedules (name, cron, kind) VALUES (%s, %s, 'k')"


@contextmanager
def held(attacker: Session, *attempts: str) -> Generator[None]:
    """Keep open a transaction that has done all of it."""
    with attacker.transaction(force_rollback=True):
        for attempt in attempts:
            attacker.execute(attempt.encode())
        yield


@pytest.fixture
def hurried(db: Session) -> Session:
    """Return the superuser's connection, on which nothing waits for long."""
    db.execute(f"SET statement_timeout = '{_LONG}'".encode())
    return db


def test_a_held_mark_stops_no_renewal_and_no_reading(hurried: Session, log_in: LogIn) -> None:
    """The leader reads the workers, and the marked pod's worker keeps its lease."""
    worker = race.register(hurried)
    hurried.execute("UPDATE fairlead.worker_leases SET pod_uid = 'uid'")
    hurried.execute(MARK.encode())
    autoscaler = log_in("fairlead_autoscaler")

    with held(autoscaler, "SELECT FROM fairlead.pod_drains FOR UPDATE"):
        hurried.execute("SELECT * FROM fairlead.workers").fetchall()
        renewed = hurried.execute("SELECT fairlead.renew_worker(%s, 15)", [worker]).fetchall()

    assert 1 == len(renewed)


def test_a_worker_that_holds_marks_stops_neither_autoscaler_nor_leader(
    hurried: Session, log_in: LogIn
) -> None:
    """It may register with any pod's UID, which writes the pod's mark."""
    hurried.execute(MARK.encode())
    hurried.execute("UPDATE fairlead.pod_drains SET drain_until = now() - interval '1 day'")
    row = hurried.execute("SELECT fairlead._begin_autoscaler_epoch('me', '')").fetchone()
    assert row is not None
    marks: dict[str, object] = {
        "epoch": row[0],
        "pool": "default",
        "drain_until": "infinity",
        "fresh": [],
    }
    mark = statements.load("fairlead_autoscaler.controller", "mark_drain")
    forget = statements.load("fairlead_scheduler.background", "forget_drains")
    epoch, uids = lead(hurried), "SELECT pod_uid FROM fairlead.pod_drains ORDER BY 1"

    with held(
        log_in("fairlead_worker"),
        "SELECT fairlead.register_worker('w', 'default', 1, 60, 1, '', 'uid', '', '', true)",
    ):
        none = hurried.execute(mark, {**marks, "pods": ["uid"]}).fetchall()
        other = hurried.execute(mark, {**marks, "pods": ["other", "uid"]}).fetchall()
        hurried.execute(forget, {"epoch": epoch})
        assert (
            []
            == hurried.execute(
                "SELECT fairlead._unmark_drains(%s, '{uid}')", [row[0]]
            ).fetchall()
        )

    assert [[None], ["other"]] == [[uid for uid, *_ in found] for found in (none, other)]
    assert [("other",), ("uid",)] == hurried.execute(uids.encode()).fetchall()
    hurried.execute(forget, {"epoch": epoch})
    assert [("other",)] == hurried.execute(uids.encode()).fetchall()


@pytest.mark.parametrize("since", ["1 second", "11 seconds"])
def test_a_held_mark_keeps_no_worker_from_registering_and_serving(
    hurried: Session, log_in: LogIn, since: str
) -> None:
    """While one that lapsed just now may still be prolonged, the pod takes no jobs."""
    worker = drains.register(hurried)
    drains.mark(hurried)
    drains.renew(hurried, worker)
    hurried.execute(
        "UPDATE fairlead.pod_drains SET drain_until = now() - %s::interval", [since]
    )
    serves = since == "11 seconds"

    with held(log_in("fairlead_worker"), _REGISTERED):
        again = race.rows(hurried, "fairlead_worker.parent", "register", drains.registration())
        assert (True, False, False) == drains.renew(hurried, worker)
        assert serves == drains.undrain(hurried, worker)

    assert [not serves] == [row["draining"] for row in again]
    assert serves or drains.undrain(hurried, worker)


def test_a_held_mark_is_not_drained_and_keeps_nobody_waiting(
    hurried: Session, log_in: LogIn
) -> None:
    """The worker that is empty asks again."""
    worker = drains.register(hurried)
    drains.mark(hurried)
    drains.renew(hurried, worker)

    with held(log_in("fairlead_worker"), _REGISTERED):
        assert not drains.say_drained(hurried, worker)

    assert drains.say_drained(hurried, worker)


def test_a_held_turn_to_claim_below_the_floor_stops_no_dispatch(
    hurried: Session, log_in: LogIn
) -> None:
    """Any login that may serve the pool may take it: the floor is the leader's alone."""
    first, second = race.insert(hurried, count=2)
    epoch, turn = lead(hurried), "SELECT fairlead.take_floor_scan_turn('default')"
    floor: dict[str, object] = {"epoch": epoch, "pool": "default", "band": 0, "floor": 500}
    assert (first,) == race.dispatch(hurried, [first], epoch=epoch)

    with held(log_in("fairlead_worker"), turn):
        assert [(False,)] == hurried.execute(turn.encode()).fetchall()
        assert (second,) == race.dispatch(hurried, [second], epoch=epoch, floor=1000)
        hurried.execute(statements.load("fairlead_scheduler.loop", "lower_floor"), floor)
        bands: dict[str, object] = {"epoch": epoch, "pool": "default", "bands": 2}
        hurried.execute(statements.load("fairlead_scheduler.loop", "open_bands"), bands)

    assert [(True,)] == hurried.execute(turn.encode()).fetchall()
    assert [(0, 500), (1, 0)] == hurried.execute(
        "SELECT band, vtag FROM fairlead.claim_floors WHERE pool = 'default' ORDER BY band"
    ).fetchall()


def test_a_held_turn_to_claim_below_the_floor_ends_no_new_leaders_term(
    database_url: str, hurried: Session, log_in: LogIn
) -> None:
    """It opens the bands of a pool before its first dispatch into it."""
    (job,) = race.insert(hurried)

    with (
        held(log_in("fairlead_worker"), "SELECT fairlead.take_floor_scan_turn('default')"),
        scheduling(database_url),
    ):
        until(lambda: race.places(hurried, job) == ("queued",), what="a dispatch")


def test_only_the_newest_epoch_removes_marks(hurried: Session, log_in: LogIn) -> None:
    """A marked pod takes jobs again when its mark is removed."""
    hurried.execute(MARK.encode())
    autoscaler = log_in("fairlead_autoscaler")
    row = autoscaler.execute("SELECT fairlead._begin_autoscaler_epoch('me', '')").fetchone()
    assert row is not None
    unmark = "SELECT fairlead._unmark_drains(%s, '{uid, other}')"

    assert [] == autoscaler.execute(unmark, [row[0] - 1]).fetchall()
    assert [("uid",)] == autoscaler.execute(unmark, [row[0]]).fetchall()
    assert [] == hurried.execute("SELECT FROM fairlead.pod_drains").fetchall()


def test_the_autoscaler_owns_no_database(hurried: Session, log_in: LogIn) -> None:
    """It would lock the scheduler's row, and keep the scheduler out for good."""
    autoscaler = log_in("fairlead_autoscaler")

    with pytest.raises(errors.InsufficientPrivilege):
        autoscaler.execute("SELECT fairlead._own_database('evil')")

    assert "" == ownership.owner_of(autoscaler)
    assert lead(hurried)


def test_a_held_epoch_keeps_no_release_from_owning_the_database(
    hurried: Session, log_in: LogIn
) -> None:
    """The autoscaler's row follows once it is free."""
    autoscaler = log_in("fairlead_autoscaler")
    releases = "SELECT role, release FROM fairlead.leaders ORDER BY role"

    with held(autoscaler, "SELECT fairlead._begin_autoscaler_epoch('me', '')"):
        assert "shop" == ownership.own(hurried, "shop")
        assert [("autoscaler", ""), ("scheduler", "shop")] == hurried.execute(
            releases.encode()
        ).fetchall()

    assert "shop" == ownership.own(hurried, "other")
    assert [("autoscaler", "shop"), ("scheduler", "shop")] == hurried.execute(
        releases.encode()
    ).fetchall()


def test_a_held_option_stops_no_redrive(hurried: Session, log_in: LogIn) -> None:
    """The autoscaler may write two columns of the row of options."""
    autoscaler = log_in("fairlead_autoscaler")

    with held(autoscaler, "SELECT policy_source FROM fairlead.install_options FOR UPDATE"):
        assert [(0,)] == hurried.execute("SELECT fairlead.redrive('default')").fetchall()


def test_a_pool_that_is_being_owned_keeps_no_worker_out(
    hurried: Session, log_in: LogIn
) -> None:
    """Who has not committed owns nothing yet; a pool that is owned is read without waiting."""
    attacker = log_in("fairlead_worker")
    ownership.own_pool(hurried, "owned", "shop")

    with held(
        attacker,
        "SELECT fairlead._own_pool('default', 'evil')",
        "SELECT fairlead._own_pool('owned', 'evil')",
    ):
        assert ownership.own_pool(hurried, "default", "shop") is None
        assert "shop" == ownership.own_pool(hurried, "owned", "other")

    assert "shop" == ownership.own_pool(hurried, "default", "shop")


def test_a_held_schedule_keeps_the_leader_from_no_other(
    hurried: Session, log_in: LogIn
) -> None:
    """What is wrong with one that its login holds is not noted, and the leader goes on."""
    mine = log_in("fairlead_enqueue")
    for name in ("held", "free"):
        mine.execute(SCHEDULE, [name, "99 99 * * *"])
    note = statements.load("fairlead_scheduler.cron", "record_problem")
    of = {"epoch": lead(hurried), "tenant": "", "problem": "p"}

    with held(mine, "SELECT FROM fairlead.schedules WHERE name = 'held' FOR UPDATE"):
        for name in ("held", "free"):
            hurried.execute(note, {**of, "name": name})

    assert [("free", "p"), ("held", None)] == hurried.execute(
        "SELECT name, problem FROM fairlead.schedules ORDER BY name"
    ).fetchall()


def test_a_login_removes_its_own_schedules_alone(hurried: Session, log_in: LogIn) -> None:
    """By tenant, or one by its name; an administrator removes everybody's."""
    mine, theirs = log_in("fairlead_enqueue"), log_in("fairlead_enqueue")
    admin = log_in("fairlead_admin")
    for login, names in ((mine, ("a", "b", "c")), (theirs, ("d", "e"))):
        for name in names:
            login.execute(SCHEDULE, [name, "* * * * *"])
    remove = "SELECT fairlead.remove_schedules('', %s)"

    removed = [
        login.execute(remove, [name]).fetchall()
        for login, name in ((mine, "a"), (mine, "d"), (mine, None), (admin, "d"))
    ]

    assert [[(1,)], [(0,)], [(2,)], [(1,)]] == removed
    assert [("e",)] == hurried.execute("SELECT name FROM fairlead.schedules").fetchall()
