"""`fairlead migrate` refuses a database of another release; `workers assign` moves a pool."""

import json

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import ownership
from tests.integration.conftest import Fairlead

FIRST, SECOND = "work/shop", "else/shop"


def test_migrate_refuses_the_database_of_another_release(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """The sentence names both and says what to do; without a name anybody may migrate."""
    said = fairlead("migrate", "--release", FIRST)

    refused = fairlead("migrate", "--release", SECOND, code=2)

    assert said.endswith(f"the database belongs to the release {FIRST}\n")
    assert 1 == len(refused.splitlines())
    assert f"belongs to the release {FIRST}, and this is {SECOND}: give it" in refused
    assert "`fairlead migrate --take-over`" in refused
    assert FIRST == json.loads(fairlead("migrate", "--json"))["owner"]
    assert FIRST == ownership.own(db, "")


def test_a_take_over_is_asked_for_and_goes_into_the_audit_log(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """It needs a name; the former owner's pools go with the database, and others stay."""
    fairlead("migrate", "--release", FIRST)
    for pool, owner in (("default", FIRST), ("reports", "work/reports")):
        ownership.own_pool(db, pool, owner)

    assert "give --release" in fairlead("migrate", "--take-over", code=2)
    for _ in range(2):
        fairlead("migrate", "--take-over", "--release", SECOND, "--actor", "ann")

    assert [SECOND, "work/reports"] == [
        ownership.own_pool(db, pool, "") for pool in ("default", "reports")
    ]
    assert [("take_over", {"from": FIRST, "to": SECOND}, "ann")] == db.execute(
        "SELECT verb, details, actor FROM fairlead.audit"
    ).fetchall()


def test_a_pool_is_assigned_to_another_release(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """And freed, so that the first one to come owns it."""
    ownership.own_pool(db, "default", FIRST)

    moved = fairlead("workers", "assign", "default", SECOND)
    owner = ownership.own_pool(db, "default", "")
    freed = json.loads(fairlead("workers", "assign", "default", "", "--json"))

    assert f"the pool default belongs to {SECOND}; it belonged to {FIRST}\n" == moved
    assert SECOND == owner
    assert {"pool": "default", "release": "", "former": SECOND} == freed
    assert "third" == ownership.own_pool(db, "default", "third")
