"""A worker's login that is bound to a pool tries to serve others."""

import psycopg
import pytest
from psycopg import errors

from fairlead import ownership
from tests.support import race
from tests.support.logins import LogIn, as_login, login
from tests.support.race import Database, rows
from tests.support.worker_logins import queue, register

_OWNERS = "SELECT pool, release FROM fairlead.pool_owners ORDER BY pool"


@pytest.fixture
def thief(log_in: LogIn) -> Database:
    """Return the session of the login that attacks."""
    return log_in("fairlead_worker")


@pytest.fixture
def bound(db: Database, thief: Database) -> Database:
    """Bind the attacking login to the pool elsewhere."""
    db.execute("INSERT INTO fairlead.pool_logins VALUES (%s, 'elsewhere')", [thief.info.user])
    return thief


def test_a_bound_login_registers_for_its_pools_alone(bound: Database) -> None:
    """Whatever its environment says."""
    assert register(bound, "elsewhere")
    with pytest.raises(errors.InsufficientPrivilege, match="may not serve pool default"):
        register(bound, "default")


def test_a_bound_login_claims_in_its_pools_alone(db: Database, bound: Database) -> None:
    """The pool is that of its worker's row, and no parameter of the claim."""
    job = queue(db)

    assert () == race.claim(bound, register(bound, "elsewhere"), pool="default")
    assert ("queued",) == race.places(db, job)


def test_a_login_is_bound_from_its_next_claim_on(db: Database, thief: Database) -> None:
    """A worker that registered before claims no more."""
    mine = register(thief)
    job = queue(db)
    db.execute("INSERT INTO fairlead.pool_logins VALUES (%s, 'elsewhere')", [thief.info.user])

    assert () == race.claim(thief, mine)
    assert ("queued",) == race.places(db, job)


def test_a_bound_login_takes_no_turn_of_another_pool(bound: Database) -> None:
    """The pool's own workers would never claim what came back below the floor."""
    values = {"pool": "default"}

    found = rows(bound, "fairlead_worker.attempts", "take_floor_scan_turn", values)

    assert not any(row.get("ours", True) for row in found)


def test_a_member_of_a_bound_login_is_bound_too(database_url: str, bound: Database) -> None:
    """A handler's login has the rights of its worker's, and no others."""
    with (
        login(database_url, str(bound.info.user)) as handler,
        psycopg.connect(as_login(database_url, handler), autocommit=True) as session,
    ):
        with pytest.raises(errors.InsufficientPrivilege, match="may not serve pool default"):
            register(session, "default")
        assert register(session, "elsewhere")


@pytest.mark.usefixtures("bound")
def test_a_login_that_is_not_listed_serves_every_pool(db: Database, log_in: LogIn) -> None:
    """Binding one login binds no other."""
    other = log_in("fairlead_worker")
    job = queue(db)

    assert job == race.claim_one(other, register(other)).job


def test_a_pool_of_bound_logins_is_owned_by_them_alone(
    db: Database, bound: Database, log_in: LogIn
) -> None:
    """Another login's worker waits for theirs, and may own pools that no login is bound to."""
    other = log_in("fairlead_worker")

    squats = [ownership.own_pool(other, pool, "evil") for pool in ("elsewhere", "default")]

    assert ["", "evil"] == squats
    assert [("default", "evil")] == db.execute(_OWNERS).fetchall()
    assert "shop" == ownership.own_pool(bound, "elsewhere", "shop")
    assert "shop" == ownership.own_pool(other, "elsewhere", "evil")


def test_an_administrator_may_own_a_pool_of_bound_logins(
    db: Database, bound: Database, log_in: LogIn
) -> None:
    """As it may bind and unbind logins."""
    assert bound
    assert "shop" == ownership.own_pool(log_in("fairlead_admin"), "elsewhere", "shop")
    assert [("elsewhere", "shop")] == db.execute(_OWNERS).fetchall()
