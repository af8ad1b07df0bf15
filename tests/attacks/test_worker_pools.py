"""A worker's login that is bound to a pool tries to serve others."""

import psycopg
import pytest
from psycopg import errors

from tests.support import race
from tests.support.logins import LogIn, as_login, login
from tests.support.race import Database, rows
from tests.support.worker_logins import queue, register


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
