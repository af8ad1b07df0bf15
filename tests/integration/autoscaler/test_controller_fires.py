"""A schedule's jobs have their pods when it fires: a real scheduler, and a pool at zero."""

from fairlead import policy_storage
from tests.support.controlling import POLICY, Scene
from tests.support.schedulers import scheduling
from tests.support.waiting import until

AHEAD = 25


def test_a_pool_at_zero_gets_its_pods_before_a_schedule_fires(
    scene: Scene, database_url: str
) -> None:
    """No job is there yet; the reason in the status and in the database says whose it is."""
    policy_storage.store(scene.db, POLICY.replace("objective: 10s", "objective: 4s"))
    scene.db.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind)"
        " SELECT 'night ' || n, to_char(at AT TIME ZONE 'UTC', 'SS MI HH24 \"* * *\"'), 'k'"
        " FROM generate_series(1, 100) n,"
        " (SELECT now() + %s * interval '1 s' AS at) soon",
        [AHEAD],
    )

    def has_pods() -> bool:
        scene.step()
        return scene.replicas > 0

    with scheduling(database_url):
        until(has_pods, what="pods")

    assert [(0,)] == scene.db.execute("SELECT count(*) FROM fairlead.jobs").fetchall()
    message = str(scene.status()["message"])
    assert "of them 100 by schedules, from " in message
    assert [("ScheduledWork", message)] == scene.db.execute(
        "SELECT decision ->> 'reason', decision ->> 'message' FROM fairlead.pool_decisions"
    ).fetchall()
