"""The fleet behind PgBouncer: its clients bound the pods, and not the server's connections."""

from dataclasses import replace

import pytest

from fairlead import policy_storage
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.controller.database import Database
from tests.support import pgbouncer
from tests.support.controlling import POLICY, Scene
from tests.support.logged import Lines

needs_pgbouncer = pytest.mark.skipif(
    pgbouncer.program() is None, reason="PgBouncer is not installed (Debian: pgbouncer)"
)
WIDE = POLICY.replace("max: 20, slots: 10", "max: 200, slots: 1, connectionsPerPod: 3")


def behind(scene: Scene, url: str) -> None:
    """Put the controller behind a pooler."""
    scene.database.close()
    scene.database = Database(DatabaseSettings(database_url=url, database_direct=False))
    scene.options = replace(scene.options, direct=False)
    scene.controller = scene.another()


def wanted(scene: Scene, policy: str = WIDE) -> int:
    """Let the pool need all that it may have from zero; return what is asked of it."""
    policy_storage.store(scene.db, policy)
    scene.need(slots=200, work=40000.0)
    scene.step()
    scene.need(slots=200, work=40000.0)
    scene.step()
    return scene.replicas


@needs_pgbouncer
def test_pgbouncer_says_how_many_clients_it_accepts(scene: Scene, database_url: str) -> None:
    """Here 200; the server's own connections would be enough for fewer pods."""
    with pgbouncer.pooling(database_url, console=True) as pooler:
        behind(scene, pooler.url)
        assert (200 - 20) // 3 == wanted(scene)
        scene.database.close()

    assert "AtConnections" in str(scene.status()["limitedBy"])
    said = "200 clients of the pooler, as it says, reserved 20 by capacity.connectionsReserve"
    assert said in str(scene.status()["conditions"])


@needs_pgbouncer
def test_a_value_of_the_policy_goes_before(scene: Scene, database_url: str) -> None:
    """Of several replicas each tells its own number alone."""
    with pgbouncer.pooling(database_url, console=True) as pooler:
        behind(scene, pooler.url)
        policy = f"capacity: {{poolerConnections: 320}}\n{WIDE}"
        assert (320 - 20) // 3 == wanted(scene, policy)
        scene.database.close()


@needs_pgbouncer
def test_a_pooler_that_does_not_say_bounds_nothing_and_the_log_says_what_to_set(
    scene: Scene, database_url: str, logged: Lines
) -> None:
    """Its console is for the users that its settings name."""
    with pgbouncer.pooling(database_url) as pooler:
        behind(scene, pooler.url)
        assert 200 == wanted(scene)
        scene.database.close()

    (line,) = [each for each in logged() if each["event"] == "pooler.not_asked"]
    assert "set capacity.poolerConnections" in str(line["reason"])


def test_a_direct_fleet_is_bound_by_what_the_server_does_not_reserve(scene: Scene) -> None:
    """The status says which numbers."""
    (most, reserved) = scene.db.execute(
        "SELECT current_setting('max_connections')::int,"
        " current_setting('superuser_reserved_connections')::int"
        " + coalesce(current_setting('reserved_connections', true)::int, 0)"
    ).fetchall()[0]

    assert (most - reserved - 20) // 3 == wanted(scene)
    said = f"{most} max_connections, {reserved} reserved by it and 20 by"
    assert said in str(scene.status()["conditions"])
