"""Pools short of room or of pods: quotas, pods that crash, full nodes, nights at zero.

The tests go on with one release, in the order in which they stand here.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from time import monotonic
from typing import cast

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.cluster.conftest import VALUES as TRIAL
from tests.support import cluster, jobs
from tests.support.chart import Object, at
from tests.support.cluster import NAMED, Release
from tests.support.jobs import Jobs
from tests.support.object_changes import Record
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

ROOM = 10
"""Pods of the pool that the quota has CPU for."""

MAX = ROOM + 4
"""Pods of the pool that the policy allows."""

CPU_MILLIS = 30
"""What each of them asks for."""

GPU = "example.com/gpu"
NIGHT_OBJECTIVE_SECONDS = 10.0
AHEAD_SECONDS = 55
"""Before it fires a schedule is inserted; a start is taken to last half a minute at first."""

FIXED_MILLIS = 2 * 20 + 2 * 20 + 2 * 20 + 100
"""What schedulers, autoscalers, the pods with a GPU and the trial database ask for.

While the release is installed, its migrations and a pod of each pool ask for no more than the
pods that there is room for later.
"""

QUOTA: Object = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "compute"},
    "spec": {"hard": {"requests.cpu": f"{FIXED_MILLIS + ROOM * CPU_MILLIS}m"}},
}
CRASHES = """
import pathlib, sys

if pathlib.Path("/tmp/crashes").exists():
    sys.exit("this pod crashes")
from fairlead_cli.trial import tasks
"""
CRASH = "import os, pathlib; pathlib.Path('/tmp/crashes').touch(); os.kill(1, 15)"
APP: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "crashing"},
    "data": {"crashing.py": CRASHES},
}
SCALED: Object = {"min": 0, "stabilization": "5s", "keep": "5s"}
POOLS: Object = {
    "default": {
        "app": "crashing:tasks",
        "volumes": [{"name": "app", "configMap": {"name": "crashing"}}],
        "volumeMounts": [{"name": "app", "mountPath": "/app", "readOnly": True}],
        "concurrency": 1,
        "resources": {"requests": {"cpu": f"{CPU_MILLIS}m", "memory": "64Mi"}},
        "autoscale": {**SCALED, "objective": "15s", "max": MAX},
    },
    "night": {
        "concurrency": 2,
        "autoscale": {**SCALED, "objective": f"{NIGHT_OBJECTIVE_SECONDS:g}s", "max": 3},
    },
    "gpu": {
        "concurrency": 1,
        "resources": {
            "requests": {"cpu": "20m", "memory": "64Mi"},
            "limits": {GPU: 1},
        },
        "autoscale": {"min": 2, "max": 2},
    },
}
VALUES: Object = {
    **TRIAL,
    **cluster.values(POOLS),
    "autoscaler": {
        **cast("Object", TRIAL["autoscaler"]),
        "rbac": {"resourceQuotas": True},
    },
    "extraObjects": [APP, QUOTA],
}
NIGHTLY = """
    INSERT INTO fairlead.schedules (name, cron, timezone, kind, queue, payload)
    SELECT 'night ' || n,
        to_char(%s AT TIME ZONE 'UTC', 'FMSS FMMI FMHH24 FMDD FMMM') || ' *',
        'UTC', 'wait', 'night', '{"seconds": 4}'
    FROM generate_series(1, 6) n
"""
FIRES_AT = """
    SELECT now(), date_trunc('second', now()) + %s * interval '1 second'
"""
FIRED = """
    SELECT id FROM fairlead.job_status
    WHERE queue = 'night' AND headers ->> 'fairlead.schedule' IS NOT NULL
"""
LATEST = """
    SELECT max(extract(epoch FROM claimed_at - %s))::float FROM fairlead.job_history
    WHERE queue = 'night' AND headers ->> 'fairlead.schedule' IS NOT NULL
"""
POD_OF_ANY = """
    SELECT pod_name FROM fairlead.workers WHERE pool = 'default' AND state = 'live'
    ORDER BY running DESC LIMIT 1
"""


@pytest.fixture(scope="module", autouse=True)
def installed(release: Release) -> Iterator[None]:
    """Install the release that the tests go on with, once the first node has two GPUs."""
    node = str(at(release.got("nodes"), "items", 0, "metadata", "name"))
    capacity = f"/status/capacity/{GPU.replace('/', '~1')}"
    change(release, node, {"op": "add", "path": capacity, "value": "2"})
    try:
        release.install(VALUES)
        yield
    finally:
        change(release, node, {"op": "remove", "path": capacity})


def change(release: Release, node: str, *operations: Object) -> None:
    """Change what a node says of itself."""
    patch = f"--patch={json.dumps(operations)}"
    release.kubectl("patch", "node", node, "--subresource=status", "--type=json", patch)


def limited_by(release: Release) -> set[str]:
    """Return what the status says of the pool's limits: the reasons, and a sentence's words."""
    status = at(release.status(), "pools", "default")
    conditions = cast("list[Object]", at(status, "conditions") or [])
    said = [str(each["message"]) for each in conditions if each["type"] == "ScalingLimited"]
    return {*cast("list[str]", at(status, "limitedBy") or []), *" ".join(said).split()}


@pytest.mark.long
def test_a_quota_of_cpu_is_kept_and_said_and_its_end_starts_pods(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """With CPU for ten pods it asks for ten, and says so; for more once there is room."""
    jobs.inserted(db, 2, seconds=4).await_end()
    until(
        lambda: len(release.pods("worker")) == len(pods_of(release, "gpu")) == 2,
        what="two pods with a GPU, and no others",
        seconds=120,
    )
    begun = monotonic()

    load = [jobs.inserted(db, 80, seconds=4)]
    until(
        lambda: {"AtQuota", "requests.cpu,", "compute"} <= limited_by(release),
        what="the quota and what it counts in the status",
        seconds=120,
    )
    figures["a quota of CPU: to its name in the status"] = monotonic() - begun
    until(lambda: running(db, load) >= ROOM, what="a job in each pod", seconds=180)
    assert ROOM == max(count for when, count in record.scales() if when > begun)
    assert "FailedCreate" not in release.kubectl("get", "events")

    release.kubectl("delete", "resourcequota", "compute")
    lifted = monotonic()
    until(lambda: release.replicas() > ROOM, what="more pods than before", seconds=60)
    figures["a quota of CPU: from its end to more pods"] = monotonic() - lifted
    until(lambda: running(db, load) > ROOM, what="more jobs at once", seconds=180)
    figures["a quota of CPU: from its end to more jobs at once"] = monotonic() - lifted
    for each in load:
        ended = each.await_end(seconds=300)
        assert (1, 0) == (ended.attempts, ended.losses)
    assert [] == record.terminated_while_ready()
    assert "FailedCreate" not in release.kubectl("get", "events")


def running(db: Connection[TupleRow], load: list[Jobs]) -> int:
    """Return how many jobs run at once, and add to those that wait.

    However long pods take to start, there is work for them when they have.
    """
    left = sum(len(each.ids) - each.ended().succeeded for each in load)
    if left < 60:
        load.append(jobs.inserted(db, 20, seconds=4))
    return sum(each.running() for each in load)


def pods_of(release: Release, pool: str) -> list[Object]:
    """Return a pool's pods, ending ones too."""
    return [
        each
        for each in release.pods("worker")
        if at(each, "metadata", "labels", "fairlead/pool") == pool
    ]


def test_a_pod_that_crashes_again_and_again_keeps_no_other(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """Its container comes back and ends; the pool shrinks to nothing all the same."""
    load = jobs.inserted(db, 20, seconds=4)
    load.await_running(2, seconds=120)
    (pod,) = db.execute(POD_OF_ANY).fetchone() or ("",)
    words = ("exec", str(pod), "--container=worker", "--", "python3", "-c", CRASH)
    release.kubectl(*words)
    until(lambda: crashed(release, str(pod)) >= 2, what="a container that crashes", seconds=120)

    ended = load.await_end(seconds=240)
    idle = monotonic()
    until(lambda: release.replicas() == 0, what="an empty pool", seconds=180)
    figures["a crashing pod: from the last job to an empty pool"] = monotonic() - idle
    assert (1, 0) == (ended.attempts, ended.losses)
    assert [] == record.terminated_while_ready()


def crashed(release: Release, pod: str) -> int:
    """Return how often a pod's container was started again; many where there is no such pod."""
    found = [
        each for each in pods_of(release, "default") if at(each, "metadata", "name") == pod
    ]
    if not found:
        return 100
    return cast("int", at(found[0], "status", "containerStatuses", 0, "restartCount") or 0)


@pytest.mark.long
def test_a_nightly_burst_finds_its_pods_where_there_were_none(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """Six schedules fire at one second: their jobs start within the objective."""
    named = f"{NAMED}-worker-night"
    # What a night's jobs take is known from the night before.
    jobs.inserted(db, 2, seconds=4, queue="night").await_end()
    until(lambda: release.replicas(named) == 0, what="an empty pool", seconds=120)
    (now, fires_at) = cast(
        "tuple[datetime, datetime]", db.execute(FIRES_AT, [AHEAD_SECONDS]).fetchone()
    )
    begun = monotonic()
    db.execute(NIGHTLY, [fires_at])

    fired = until(
        lambda: found if len(found := db.execute(FIRED).fetchall()) == 6 else None,
        what="six fires",
        seconds=AHEAD_SECONDS + 30,
    )
    Jobs(db, tuple(row[0] for row in fired)).await_end()
    (latest,) = db.execute(LATEST, [fires_at]).fetchone() or (0.0,)
    fire = begun + (fires_at - now).total_seconds()
    asked = next(when for when, count in record.scales(named) if count > 0 and when > begun)
    figures["a nightly burst: pods are asked for before it"] = fire - asked
    figures["a nightly burst: its longest wait"] = float(latest)
    assert asked < fire
    assert float(latest) <= NIGHT_OBJECTIVE_SECONDS


@pytest.mark.long
def test_a_rollout_of_a_pool_that_fills_its_node_cuts_no_job_short(
    release: Release, db: Connection[TupleRow], figures: dict[str, float]
) -> None:
    """Two GPUs, two pods, each with a job: a pod's place is free when its job has ended."""
    busy = jobs.inserted(db, 2, seconds=cluster.JOB_SECONDS / 2, queue="gpu")
    busy.await_running(2, seconds=120)
    later = jobs.inserted(db, 4, seconds=2, queue="gpu")
    pools = {**POOLS, "gpu": {**cast("Object", POOLS["gpu"]), "podAnnotations": {"new": "yes"}}}

    begun = monotonic()
    release.upgrade({**VALUES, "workerPools": cast("Object", pools), "extraObjects": [APP]})
    until(
        lambda: [each for each in pods_of(release, "gpu") if finds_no_node(each)],
        what="a new pod that waits for its place",
        seconds=60,
    )
    for each in (busy, later):
        ended = each.await_end(seconds=240)
        assert (1, 0) == (ended.attempts, ended.losses)
        assert {} == each.cut_short()
    figures["a full node's rollout: to the end of its jobs"] = monotonic() - begun
    # Two minutes of work for one pod: a new one is ready before an old one has done it all.
    last = jobs.inserted(db, 24, seconds=5, queue="gpu")
    until(
        lambda: last.pods() & new_pods(release, "gpu"),
        what="a job in a new pod",
        seconds=90,
    )


def new_pods(release: Release, pool: str) -> set[str]:
    """Return the uids of a pool's pods that the release which followed made."""
    return {
        str(at(each, "metadata", "uid"))
        for each in pods_of(release, pool)
        if at(each, "metadata", "annotations", "new") == "yes"
    }


def finds_no_node(pod: Object) -> bool:
    """Return whether the scheduler found no node with room for a pod."""
    listed = cast("list[Object]", at(pod, "status", "conditions") or [])
    return any(each.get("reason") == "Unschedulable" for each in listed)
