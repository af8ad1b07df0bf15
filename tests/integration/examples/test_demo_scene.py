"""The demo's scene: its policy file is edited, and what it says of that is the database's."""

from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

from examples.demo.policy_scene import Scene, document
from examples.demo.watch import PolicyInForce
from fairlead.db.connect import Connection
from fairlead.db.statements import load
from fairlead.policy import parse
from tests.support.race import register
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

STORED = "SELECT author, document FROM fairlead.policy_versions ORDER BY version"
WEIGHED = ("acme", "zenith")
WEIGHTS = ((1, 1), (2, 10), (3, 1))
HELD = """
    INSERT INTO fairlead.work_queue
        (job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant,
         worker, token, claimed_at, deadline)
    SELECT j.id, 1, 1, 1, now(), '1 min', 0, 'default', j.queue, j.tenant,
           %s, 7, now(), now() + interval '1 min'
    FROM fairlead.jobs j ORDER BY j.id LIMIT 1
"""
MEASURED = """
    WITH ended AS (
        INSERT INTO fairlead.job_history (
            id, created_at, claimed_at, finished_at, attempt, max_attempts, crashes, losses,
            priority, outcome, queue, tenant, kind)
        VALUES (%(id)s, %(began)s, %(began)s + (2 - %(seconds)s) * interval '1 s', now(), 1, 1,
                0, 0, 0, 'succeeded', 'sources', %(tenant)s, 'measure')
    )
    INSERT INTO demo.measurements (job_id, package, path, lines, ended_at)
    VALUES (%(id)s, %(tenant)s, 'a.py', 1, %(began)s + interval '2 s')
"""


def begun(file: Path, url: str, own: Connection) -> Scene:
    """Return a scene at its beginning, with the demo's own tables."""
    own.execute(load("examples.demo", "create"))
    scene = Scene(file, WEIGHED, url=url, own=own, say=lambda _name, _text: None)
    scene.begin(datetime.now(UTC))
    return scene


def test_an_edit_of_the_file_is_in_force_and_named_by_its_digest(
    tmp_path: Path, database_url: str, db: Connection
) -> None:
    """The watcher stores each save, the leader says when it is in force."""
    with scheduling(database_url):
        led(db)
        scene = begun(tmp_path / "policy.yaml", database_url, db)

        def in_force() -> PolicyInForce:
            return scene.look() or PolicyInForce(0, "", (), None)

        until(lambda: in_force().version == 1, what="the first version in force")
        said = scene.raise_weight()
        raised = scene.weights
        until(lambda: in_force().version == 2, what="the edit in force")
        edit = scene.edit
        scene.restore_weight()
        until(lambda: in_force().version == 3, what="the way back in force")

    assert "policy.yaml: acme and zenith weigh 10" == said
    assert ({"acme": 10.0, "zenith": 10.0}, {}) == (raised, scene.weights)
    assert edit is not None
    assert (WEIGHED, 10, 2) == (edit.tenants, edit.weight, edit.version)
    assert scene.edit is not None
    assert edit == scene.edit._replace(undone_seconds=None)
    assert [
        ("fairlead dev", document(WEIGHED, number, weight)) for number, weight in WEIGHTS
    ] == (db.execute(STORED).fetchall())


def test_the_edit_is_the_weight_of_some_tenants() -> None:
    """Of the queue that the demo's files are in."""
    (queue,) = parse(document(WEIGHED, 2, 10)).queues

    assert "sources" == queue.match.queue
    assert [(name, 10) for name in WEIGHED] == [
        (each.match.tenant, each.weight) for each in queue.tenants.overrides
    ]


def test_a_scene_waits_for_a_leader_for_a_while_only(
    tmp_path: Path, database_url: str, db: Connection
) -> None:
    """On a slow machine the demo goes on without it."""
    scene = begun(tmp_path / "policy.yaml", database_url, db)
    scene.raise_weight()
    is_seen_at_once = scene.seen()
    scene.begin(datetime.now(UTC) - timedelta(seconds=18.5))

    assert scene.look() is None
    assert (False, True) == (is_seen_at_once, scene.seen())


def test_who_had_a_slot_is_read_from_the_applications_own_record(
    tmp_path: Path, database_url: str, db: Connection
) -> None:
    """The share before an edit is of the slot-time, not of the jobs."""
    scene = begun(tmp_path / "policy.yaml", database_url, db)
    began = datetime.now(UTC) - timedelta(seconds=2)
    scene.begin(began)
    for job, (tenant, seconds) in enumerate((("acme", 0.3), ("other", 0.9)), start=1):
        values = {"id": job, "tenant": tenant, "began": began, "seconds": seconds}
        db.execute(MEASURED, values)
    scene.raise_weight()

    found = scene.effect()

    assert found is not None
    assert 0.25 == round(found.share_before or 0, 6)
    assert found.effect is None


def test_a_slot_that_is_held_now_counts_and_who_waits_is_told_once(
    db: Connection,
) -> None:
    """Of jobs under way only the end is missing: leaving them out would favour short ones."""
    db.execute(load("examples.demo", "create"))
    for tenant in ("acme", "acme", "other"):
        db.execute(
            "INSERT INTO fairlead.jobs (queue, tenant, kind) VALUES ('sources', %s, 'measure')",
            (tenant,),
        )
    db.execute(HELD, [register(db)])
    now = datetime.now(UTC)

    spells = db.execute(load("examples.demo", "slots"), {"began": now, "since": now}).fetchall()

    assert [
        ("acme", False, True),
        ("acme", True, True),
        ("other", True, True),
    ] == sorted((str(t), begun == inf, end == inf) for t, _, begun, end in spells)
