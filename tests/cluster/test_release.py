"""A release from an empty namespace to its end: jobs run, pods come and go, all is whole.

The tests go on with one release, in the order in which they stand here.
"""

from datetime import datetime, timedelta
from time import monotonic
from typing import cast

import pytest
import yaml
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.cluster.conftest import VALUES, autoscale_of
from tests.support import cluster, jobs
from tests.support.chart import Json, Object, at
from tests.support.cluster import AUTOSCALER, NAMED, POOL, RELEASE, Release
from tests.support.object_changes import Record, is_ready, is_terminating, uid
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

OBJECTIVE_SECONDS = 30.0
"""That of the pool in the values."""

EDITED_MAX = 5
"""Pods of the pool once the policy was edited; the values say 6."""

WRITES_AS = "fairlead-autoscaler"
"""The autoscaler's name as a field manager."""

INSERT = """
    INSERT INTO fairlead.jobs (kind, tenant) SELECT 'hello', 'psql' FROM generate_series(1, 20)
"""
GREETED = """
    SELECT count(*), max(attempt), min(result->>'said') FROM fairlead.job_history
    WHERE tenant = 'psql' AND outcome = 'succeeded'
"""
IN_FORCE = "SELECT at FROM fairlead.policy_events WHERE event = 'in_force' AND at > %s"
NEWEST = "SELECT version, document FROM fairlead.policy_versions ORDER BY version DESC LIMIT 1"
ATTEMPT = "SELECT attempt FROM fairlead.job_status WHERE id = %s"
CUT_SHORT = """
    SELECT ended_as, count(*) FROM fairlead.attempt_errors GROUP BY ended_as
"""


@pytest.fixture(scope="module", autouse=True)
def before(release: Release) -> set[str]:
    """Install the release that the tests go on with; return what was there before."""
    found = objects(release)
    release.install(VALUES)
    return found


def at_zero(release: Release) -> None:
    """Wait until the pool has no pod any more, not even one that is going."""
    until(lambda: not pool_pods(release), what="the end of the pool's last pod", seconds=120)


def test_what_psql_inserts_runs(release: Release, db: Connection[TupleRow]) -> None:
    """`helm install`, and jobs that are inserted by psql run."""
    words = ("psql", "-h/tmp", "-Upostgres", "-dfairlead", "-c", INSERT)
    release.kubectl("exec", f"{NAMED}-trial-database-0", "--", *words)

    until(
        lambda: (20, 1, "hello, psql") == db.execute(GREETED).fetchone(),
        what="the end of 20 jobs",
        seconds=60,
    )


def test_helm_test_passes(release: Release) -> None:
    """`helm test` enqueues a job, reads metrics, and checks the holder of the Lease."""
    said = release.helm("test", RELEASE, "--logs")

    assert "Succeeded" in said


def test_a_live_policy_is_in_force_within_two_seconds_and_restarts_nothing(
    release: Release, db: Connection[TupleRow], figures: dict[str, float]
) -> None:
    """An edit of the policy is effective within 2 s, without rolling a pod."""
    edited = document(release)
    autoscale_of(edited)["max"] = EDITED_MAX
    before = rolled(release)

    begun = monotonic()
    release.edit_policy(yaml.safe_dump(edited))
    figures["policy: kubectl's write of an edit"] = monotonic() - begun
    written = (db.execute("SELECT clock_timestamp()").fetchone() or (None,))[0]
    assert isinstance(written, datetime)

    at_once = until(
        lambda: db.execute(IN_FORCE, [written - timedelta(seconds=1)]).fetchone(),
        what="the edited policy in force",
        seconds=10,
    )
    seconds = (at_once[0] - written).total_seconds()
    figures["policy: from kubectl's end to in force"] = seconds
    assert seconds <= 2.0
    assert before == rolled(release)


def test_a_bad_policy_is_refused_and_the_status_says_why(
    release: Release, db: Connection[TupleRow]
) -> None:
    """A bad policy is refused, which is seen in the status; the one before stays in force."""
    good = str(at(release.got("configmap", f"{NAMED}-policy"), "data", "policy.yaml"))
    newest = db.execute(NEWEST).fetchone()

    release.edit_policy(good.replace("30s", "soon"))

    until(
        lambda: "soon" in str(at(release.status(), "policy", "refused")),
        what="the refusal in the status",
        seconds=20,
    )
    assert at(release.status(), "policy", "accepted") is False
    assert newest == db.execute(NEWEST).fetchone()
    release.edit_policy(good)
    until(
        lambda: at(release.status(), "policy", "accepted"),
        what="the good policy in the status",
        seconds=20,
    )


def test_load_adds_pods_and_its_jobs_start_within_the_objective(
    db: Connection[TupleRow], record: Record
) -> None:
    """Load of a known kind adds pods, and no job waits for longer than the objective says."""
    jobs.inserted(db, 4, seconds=4).await_end()
    load = jobs.inserted(db, 60, seconds=4)

    ended = load.await_end()

    assert ended.attempts == 1
    assert ended.longest_wait_seconds <= OBJECTIVE_SECONDS
    assert max(count for _, count in record.scales()) > 1
    assert max(count for _, count in record.scales()) <= EDITED_MAX


def test_without_load_drained_pods_go_until_none_is_left(
    release: Release, db: Connection[TupleRow], record: Record
) -> None:
    """When load is gone pods are removed, down to zero, each after it reported not ready."""
    long = jobs.inserted(db, 5, seconds=20)
    long.await_running(1)

    at_zero(release)

    assert record.served_before_termination()
    assert [] == record.terminated_while_ready()
    assert (5, 1) == (long.ended().succeeded, long.ended().attempts)
    assert 0 == record.scales()[-1][1]
    assert [] == db.execute(CUT_SHORT).fetchall()


def test_from_zero_a_pod_is_asked_for_within_a_second_of_the_commit(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """From zero in at most 1 s after the commit."""
    assert 0 == release.replicas()
    job = jobs.inserted(db, 1, seconds=0)
    committed = monotonic()

    job.await_end(seconds=60)
    started = monotonic() - committed

    asked = next(when for when, count in record.scales() if count == 1) - committed
    figures["from zero: commit to the write of /scale"] = asked
    figures["from zero: commit to the job's end"] = started
    assert asked <= 1.0


def test_scale_in_cuts_no_job_short(
    release: Release, db: Connection[TupleRow], record: Record
) -> None:
    """Jobs that run while pods are taken away: 0 interrupted, 0 lost."""
    load = jobs.inserted(db, 150, seconds=3)
    until(
        lambda: sum(is_ready(each) for each in pool_pods(release)) >= 3,
        what="three pods at work",
        seconds=90,
    )
    # Behind the load, and fewer than pods: when it has gone there are pods without a job.
    long = jobs.inserted(db, 2, seconds=cluster.JOB_SECONDS)
    long.await_running(2, seconds=120)
    asked = release.replicas()

    until(
        lambda: release.replicas() < asked,
        what="a pod less while jobs run",
        seconds=cluster.JOB_SECONDS,
    )
    assert (2, 0) == (long.running(), long.ended().succeeded)

    for each in (load, long):
        ended = each.await_end()
        assert (len(each.ids), 1) == (ended.succeeded, ended.attempts)
        assert {} == each.cut_short()
    assert [] == record.terminated_while_ready()


def test_a_new_image_by_an_upgrade_cuts_no_job_short(
    release: Release, db: Connection[TupleRow]
) -> None:
    """Jobs that run through an upgrade, and the rollout that comes of it: 0 lost, 0 cut.

    One pod may be left, and of its four slots one is kept for short jobs.
    """
    assert {WRITES_AS} == scaled_by(release)
    long = jobs.inserted(db, 3, seconds=cluster.JOB_SECONDS)
    long.await_running(3)

    release.upgrade({**VALUES, "image": cluster.image(cluster.NEXT_IMAGE)})

    until(
        lambda: (
            {uid(each) for each in pool_pods(release) if is_terminating(each)} & long.pods()
        ),
        what="a terminating pod that runs a job to its end",
        seconds=cluster.JOB_SECONDS,
    )
    release.await_rollout(f"{NAMED}-scheduler", AUTOSCALER, POOL)
    ended = long.await_end()
    assert (3, 1) == (ended.succeeded, ended.attempts)
    assert {} == long.cut_short()
    await_image(release, cluster.NEXT_IMAGE)
    assert EDITED_MAX == edited_max(release, db)
    assert {WRITES_AS} == scaled_by(release)


def test_a_rollback_brings_the_old_image_and_keeps_the_live_policy(
    release: Release, db: Connection[TupleRow]
) -> None:
    """What a rollout cuts short after its grace is released without using an attempt."""
    job = jobs.inserted(db, 1, seconds=120, queue="brief")
    job.await_running(1)

    release.helm("rollback", RELEASE, "1", "--wait", "--timeout=150s")

    until(job.cut_short, what="the end of the grace", seconds=30)
    job.await_running(1)
    assert {"released": 1} == job.cut_short()
    assert (1,) == db.execute(ATTEMPT, [job.ids[0]]).fetchone()
    await_image(release, cluster.IMAGE)
    assert EDITED_MAX == edited_max(release, db)


def test_uninstall_leaves_what_its_notes_say(release: Release, before: set[str]) -> None:
    """`helm uninstall` leaves only what its notes say: the pod of `helm test`."""
    notes = release.helm("get", "notes", RELEASE)

    release.helm("uninstall", RELEASE, "--wait", "--timeout=100s")

    assert "`helm uninstall` leaves nothing:" in notes
    assert f"delete pod {NAMED}-test" in notes
    until(
        lambda: before | {f"pod/{NAMED}-test"} == objects(release),
        what="the end of every object of the release",
        seconds=60,
    )


def objects(release: Release) -> set[str]:
    """Return every object in the namespace but for events."""
    listed = ("api-resources", "--verbs=list", "--namespaced", "--output=name")
    kinds = [each for each in release.kubectl(*listed).split() if "events" not in each]
    return set(release.kubectl("get", ",".join(kinds), "--output=name").split())


def pool_pods(release: Release) -> list[Object]:
    """Return the pods of the pool that is scaled, ending ones too."""
    return [
        each
        for each in release.pods("worker")
        if at(each, "metadata", "labels", "fairlead/pool") == "default"
    ]


def rolled(release: Release) -> set[str]:
    """Return what a rollout makes anew: every ReplicaSet, and the pods that are not scaled."""
    kept = ("scheduler", "autoscaler")
    pods = {uid(pod) for each in kept for pod in release.pods(each)}
    return pods | set(release.kubectl("get", "replicasets", "--output=name").split())


def await_image(release: Release, image: str) -> None:
    """Wait until no pod of workers and schedulers runs another image."""
    until(
        lambda: all(
            at(pod, "spec", "containers", 0, "image") == image
            for component in ("worker", "scheduler")
            for pod in release.pods(component)
        ),
        what=f"the end of pods of another image than {image}",
        seconds=60,
    )


def document(release: Release) -> Object:
    """Return the policy that the chart made from the values."""
    text = at(release.got("configmap", f"{NAMED}-policy-values"), "data", "policy.yaml")
    return cast("Object", yaml.safe_load(str(text)))


def edited_max(release: Release, db: Connection[TupleRow]) -> Json:
    """Return the pool's highest number of pods, if cluster and database agree on it."""
    live = str(at(release.got("configmap", f"{NAMED}-policy"), "data", "policy.yaml"))
    stored = (db.execute(NEWEST).fetchone() or (0, ""))[1]
    found, kept = (autoscale_of(yaml.safe_load(each))["max"] for each in (live, stored))
    assert found == kept
    return found


def scaled_by(release: Release) -> set[str]:
    """Return the field manager of the pool's `replicas`, as the API server recorded it."""
    shown = release.got("deployment", POOL, "--show-managed-fields")
    fields = cast("list[Object]", at(shown, "metadata", "managedFields"))
    return {
        str(each["manager"])
        for each in fields
        if at(each, "fieldsV1", "f:spec", "f:replicas") is not None
    }
