"""Commands refuse a database of another release; `workers assign` moves a pool."""

import json
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import ownership
from tests.integration.conftest import Fairlead

FIRST, SECOND = "work/shop", "else/shop"
VERSIONS = "SELECT document FROM fairlead.policy_versions ORDER BY version"


def test_migrate_refuses_the_database_of_another_release(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """The sentence names both and says what to do; without a name anybody may migrate."""
    said = fairlead("migrate", "--release", FIRST)
    db.execute("GRANT SELECT ON fairlead.paused TO fairlead_enqueue")  # each migrate revokes it

    refused = fairlead("migrate", "--release", SECOND, code=2)

    granted = "SELECT has_table_privilege('fairlead_enqueue', 'fairlead.paused', 'select')"
    assert [(True,)] == db.execute(granted).fetchall()
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
    fairlead("migrate", "--release", FIRST, "--actor", "bob")
    for pool, owner in (("default", FIRST), ("reports", "work/reports")):
        ownership.own_pool(db, pool, owner)

    assert "give --release" in fairlead("migrate", "--take-over", code=2)
    for _ in range(2):
        fairlead("migrate", "--take-over", "--release", SECOND, "--actor", "ann")

    assert [SECOND, "work/reports"] == [
        ownership.own_pool(db, pool, "") for pool in ("default", "reports")
    ]
    assert [
        ("own_database", {"to": FIRST}, "bob"),
        ("take_over", {"from": FIRST, "to": SECOND}, "ann"),
    ] == db.execute("SELECT verb, details, actor FROM fairlead.audit ORDER BY id").fetchall()


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


@pytest.fixture
def file(fairlead: Fairlead, tmp_path: Path) -> Path:
    """Return a file with another policy than the one that is stored, of nobody yet."""
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\n")
    fairlead("policy", "apply", str(path))
    path.write_text("version: 2\n")
    return path


@pytest.mark.parametrize("words", [("apply", "FILE"), ("rollback", "1")])
@pytest.mark.parametrize(
    ("named", "called"),
    [((), "a release without a name"), (("--release", SECOND), SECOND)],
)
def test_the_policy_of_another_release_is_not_replaced(
    fairlead: Fairlead,
    db: Connection[TupleRow],
    file: Path,
    words: tuple[str, str],
    named: tuple[str, ...],
    called: str,
) -> None:
    """The sentence names both and what to say, and nothing is stored."""
    fairlead("policy", "apply", str(file))
    before = db.execute(VERSIONS).fetchall()
    ownership.own(db, FIRST)
    file.write_text("version: 3\n")
    given = [str(file) if word == "FILE" else word for word in words]

    said = fairlead("policy", *given, *named, code=2)

    assert 1 == len(said.splitlines())
    assert f"of the release {FIRST}, which owns the database, and this command" in said
    assert f"is for {called}: nothing is stored" in said
    assert f"give --release {FIRST} or set FAIRLEAD_RELEASE={FIRST}" in said
    assert before == db.execute(VERSIONS).fetchall()


def test_the_owners_policy_is_stored_for_whoever_names_it(
    fairlead: Fairlead, db: Connection[TupleRow], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an option or by the variable that the owner's pods have."""
    ownership.own(db, FIRST)

    said = fairlead("policy", "apply", str(file), "--release", FIRST)
    monkeypatch.setenv("FAIRLEAD_RELEASE", FIRST)
    rolled_back = json.loads(fairlead("policy", "rollback", "1", "--json"))

    assert said.endswith(f", for the release {FIRST}\n")
    assert (True, FIRST) == (rolled_back["stored"], rolled_back["release"])


def test_whoever_names_a_release_stores_the_policy_of_a_database_that_is_nobodys(
    fairlead: Fairlead, file: Path
) -> None:
    """The name is no claim: `fairlead migrate` and schedulers make a release the owner."""
    said = fairlead("policy", "apply", str(file), "--release", SECOND)

    assert said.startswith("stored version 2, digest ")
    assert "release" not in said


def test_a_configmap_would_replace_what_is_stored_by_hand(
    fairlead: Fairlead, db: Connection[TupleRow], file: Path
) -> None:
    """So not even the owner stores it; who names another release is not told to edit it."""
    ownership.own(db, FIRST)
    db.execute("UPDATE fairlead.install_options SET policy_source = 'configmap'")

    said = fairlead("policy", "apply", str(file), "--release", FIRST, code=2)

    others = fairlead("policy", "apply", str(file), "--release", SECOND, code=2)

    assert f"which owns the database, and this command is for {SECOND}" in others
    assert "edit" not in others
    assert said.startswith(f"fairlead: the policy of the release {FIRST} is edited in ")
    assert "the autoscaler would store it again in place of this one" in said
    assert [("version: 1\n",)] == db.execute(VERSIONS).fetchall()
